import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from models.architecture import initialise
from models.factor_vae import FactorVAE, shuffle_latents
from models.objective import Code, gaussian_kl


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn_code(rows: int, latents: int, seed: int) -> Code:
    mean = torch.randn(rows, latents, generator=seeded(seed))
    logvar = torch.randn(rows, latents, generator=seeded(seed + 1))
    sample = mean + torch.randn(rows, latents, generator=seeded(seed + 2))
    return Code(mean, logvar, sample, gaussian_kl(mean, logvar).mean(0))


def by_hand(objective: FactorVAE, z: np.ndarray) -> np.ndarray:
    """The discriminator of Table 4b in numpy, from its weights alone."""
    weights = [p.detach().double().numpy() for p in objective.discriminator.parameters()]
    for kernel, bias in zip(weights[0:-2:2], weights[1:-2:2], strict=True):
        z = z @ kernel.T + bias
        z = np.where(z > 0, z, 0.2 * z)
    return z @ weights[-2].T + weights[-1]


def test_discriminator_has_six_hidden_layers_of_1000():
    layers = [m for m in FactorVAE(10, 7).discriminator.modules() if isinstance(m, nn.Linear)]
    shapes = [(layer.in_features, layer.out_features) for layer in layers]
    assert shapes == [(7, 1000), *[(1000, 1000)] * 5, (1000, 2)]


def test_adversary_is_optimised_as_in_table_4c():
    optimiser = FactorVAE(10, 2).adversary_optimiser()
    assert (optimiser.lr, optimiser.betas, optimiser.eps) == (1e-4, (0.5, 0.9), 1e-8)


@pytest.mark.parametrize("strength", [0.0, 35.0])
def test_penalty_agrees_with_a_computation_in_numpy(strength):
    objective = FactorVAE(strength, 3)
    initialise(objective, seeded(0))
    for parameter in objective.parameters():  # biases that matter
        if parameter.dim() == 1:
            parameter.data += 0.05
    code = drawn_code(9, 3, 4)
    penalty = objective.penalty(code, 0, seeded(11))
    shuffled = shuffle_latents(code.sample, seeded(11)).double().numpy()
    joint = by_hand(objective, code.sample.double().numpy())
    factorised = by_hand(objective, shuffled)
    total_correlation = np.mean(joint[:, 0] - joint[:, 1])
    mean, logvar = code.mean.double().numpy(), code.logvar.double().numpy()
    kl = 0.5 * (mean**2 + np.exp(logvar) - logvar - 1).sum(1).mean()
    assert penalty.regulariser.item() == pytest.approx(kl + strength * total_correlation, rel=1e-4)

    def surprise(logits: np.ndarray, label: int) -> float:
        chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        return float(-np.log(chances[:, label]).mean())

    expected = 0.5 * surprise(joint, 0) + 0.5 * surprise(factorised, 1)
    assert penalty.adversary.item() == pytest.approx(expected, rel=1e-4)


def test_no_gradient_reaches_the_vae_through_the_shuffled_half():
    objective = FactorVAE(1.0, 2)
    initialise(objective, seeded(0))
    code = drawn_code(4, 2, 0)
    sample = code.sample.clone().requires_grad_()
    penalty = objective.penalty(Code(code.mean, code.logvar, sample, code.kl), 0, seeded(0))
    (found,) = torch.autograd.grad(penalty.regulariser, sample)
    alone = sample.detach().requires_grad_()
    logits = objective.discriminator(alone)
    (expected,) = torch.autograd.grad((logits[:, 0] - logits[:, 1]).mean(), alone)
    torch.testing.assert_close(found, expected)
    assert expected.abs().sum() > 0


@given(rows=st.integers(1, 40), latents=st.integers(1, 6), seed=st.integers(0, 2**31))
@settings(deadline=None)
def test_shuffling_keeps_every_latents_values(rows, latents, seed):
    z = torch.randn(rows, latents, generator=seeded(seed))
    shuffled = shuffle_latents(z, seeded(seed + 1))
    assert torch.equal(z.sort(0).values, shuffled.sort(0).values)


def test_shuffling_breaks_dependence_and_follows_its_generator():
    column = torch.randn(20_000, 1, generator=seeded(3))
    z = column.repeat(1, 3)
    shuffled = shuffle_latents(z, seeded(4))
    correlation = np.corrcoef(shuffled.numpy().T) - np.eye(3)
    assert np.abs(correlation).max() < 5 / np.sqrt(20_000)
    assert torch.equal(shuffled, shuffle_latents(z, seeded(4)))
    assert not torch.equal(shuffled, shuffle_latents(z, seeded(5)))


def test_shuffling_reaches_all_orders_equally_often():
    z = torch.arange(3.0)[:, None]
    generator = seeded(8)
    seen: dict[tuple[float, ...], int] = {}
    for _ in range(3000):
        order = tuple(shuffle_latents(z, generator)[:, 0].tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6
    assert all(abs(count - 500) < 5 * np.sqrt(500) for count in seen.values())


def test_discriminator_learns_to_tell_dependent_codes_from_shuffled_ones():
    objective = FactorVAE(1.0, 2)
    initialise(objective, seeded(0))
    optimiser, draws = objective.adversary_optimiser(), seeded(1)
    correlation = 0.95
    mixing = torch.linalg.cholesky(torch.tensor([[1.0, correlation], [correlation, 1.0]]))

    def dependent(rows: int) -> Code:
        z = torch.randn(rows, 2, generator=draws) @ mixing.T
        return Code(z, torch.zeros_like(z), z, torch.zeros(2))

    for step in range(100):
        optimiser.zero_grad()
        objective.penalty(dependent(64), step, draws).adversary.backward()
        optimiser.step()
    with torch.no_grad():
        penalty = objective.penalty(dependent(4000), 0, draws)
    # The kl of these codes is 0, so the regulariser is the estimate of the total correlation,
    # which for two Gaussians is -ln(1 - r²) / 2 = 1.16 nats.
    assert penalty.regulariser.item() == pytest.approx(-0.5 * np.log(1 - correlation**2), abs=0.45)
    assert penalty.adversary.item() < 0.55  # chance is ln 2 = 0.69
