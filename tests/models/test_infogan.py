"""InfoGAN's losses against slow computations, and its training."""

import math

import numpy as np
import pytest
import torch

from models.architecture import initialise
from models.building import build_network, build_training
from models.infogan import (
    CRITIC_STEPS,
    GRADIENT_PENALTY,
    InfoGAN,
    InfoGANTraining,
    code_loss,
    critic_loss,
    generator_loss,
    gradient_penalty,
    uniform_codes,
)
from models.recipe import CHUNK, Recipe
from models.training import Diverged, Feed

LATENTS, BATCH = 3, 2


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def seeded(*names: int) -> torch.Generator:
    return torch.Generator().manual_seed(sum(n * 1000**i for i, n in enumerate(names)))


def network() -> InfoGAN:
    made = InfoGAN(1, LATENTS, "resnet_small")
    initialise(made, seeded(5))
    return made


def pictures(number: int) -> torch.Tensor:
    return torch.rand(BATCH, 1, 64, 64, generator=seeded(number, 1))


def training(steps: int = 20, after_chunk=lambda _: None, batch=pictures) -> InfoGANTraining:
    made = build_training(
        "infogan",
        6.0,
        build_network("infogan", 1, LATENTS, "resnet_small"),
        Recipe(steps=steps, learning_rate=1e-3, beta1=0.0, beta2=0.9),
        Feed(batch, lambda step: seeded(step, 2)),
        after_chunk,
        log_every=1,
    )
    made.initialise(seeded(0, 3))
    return made


class Linear(InfoGAN):
    """A critic whose gradient is known: its weights."""

    def criticise(self, pictures: torch.Tensor) -> torch.Tensor:
        return pictures.flatten(1) @ self.slope

    def __init__(self, slope: torch.Tensor) -> None:
        super().__init__(1, LATENTS, "resnet_small")
        self.slope = slope


@pytest.mark.parametrize("length", [0.0, 1.0, 3.0])
def test_the_gradient_penalty_of_a_linear_critic(length):
    slope = torch.randn(64 * 64, generator=seeded(1))
    slope = length * slope / slope.norm()
    place = torch.rand(4, generator=seeded(2))
    real, made = torch.rand(2, 4, 1, 64, 64, generator=seeded(3))
    found = gradient_penalty(Linear(slope), real, made, place)
    assert float(found) == pytest.approx((length - 1) ** 2, abs=1e-5)


def test_the_gradient_penalty_against_differences():
    """Along the gradient's own direction the critic rises by its length; a hundred other directions
    and differences of the critic's values confirm the gradient itself."""
    critic = network().double()
    real, made = torch.rand(2, BATCH, 1, 64, 64, generator=seeded(4)).double() * 2 - 1
    place = torch.tensor([0.3, 0.9]).double()
    between = (1 - place)[:, None, None, None] * real + place[:, None, None, None] * made
    lengths, width = [], 1e-7
    for picture in between:
        point = picture[None].clone().requires_grad_()
        (gradient,) = torch.autograd.grad(critic.criticise(point).sum(), point)
        for seed in range(3):
            way = torch.randn(1, 1, 64, 64, generator=seeded(seed, 9)).double()
            with torch.no_grad():
                ahead, behind = (critic.criticise(point + s * width * way) for s in (1, -1))
            slope = float(ahead - behind) / (2 * width)
            assert float((gradient * way).sum()) == pytest.approx(slope, rel=1e-3, abs=1e-3)
        lengths.append(math.sqrt(float(gradient.square().sum())))
    expected = np.mean([(length - 1) ** 2 for length in lengths])
    assert float(gradient_penalty(critic, real, made, place)) == pytest.approx(expected, rel=1e-6)


def test_the_mutual_information_term_is_the_log_density_of_a_gaussian():
    codes, predicted = torch.randn(2, 5, LATENTS, generator=seeded(6))
    total = 0.0
    for row in range(5):
        for latent in range(LATENTS):
            distance = float(codes[row, latent] - predicted[row, latent])
            density = math.exp(-(distance**2) / 2) / math.sqrt(2 * math.pi)
            total -= math.log(density) - math.log(1 / math.sqrt(2 * math.pi))
    assert float(code_loss(codes, predicted)) == pytest.approx(total / 5, rel=1e-5)


def test_the_losses_are_those_of_the_docstring():
    gan = network()
    real = 2 * pictures(1) - 1
    found, regulariser = critic_loss(gan, real, 6.0, seeded(7))
    again = network()  # its generator's batch norm has seen nothing yet
    noise = seeded(7)
    codes = uniform_codes(again, BATCH, noise)
    made = again.generator(codes).detach()
    place = torch.rand(BATCH, generator=noise)
    mutual = 6.0 * code_loss(codes, again.code((made + 1) / 2)[0])
    expected = (
        again.criticise(made).mean()
        - again.criticise(real).mean()
        + GRADIENT_PENALTY * gradient_penalty(again, real, made, place)
        + mutual
    )
    assert float(found) == pytest.approx(float(expected), rel=1e-4)
    assert float(regulariser) == pytest.approx(float(mutual), rel=1e-4)

    found = generator_loss(network(), BATCH, 6.0, seeded(8))
    again = network()
    codes = uniform_codes(again, BATCH, seeded(8))
    made = again.generator(codes)
    mutual = 6.0 * code_loss(codes, again.code((made + 1) / 2)[0])
    assert float(found) == pytest.approx(float(mutual - again.criticise(made).mean()), rel=1e-4)


def test_codes_are_uniform_from_minus_one_to_one():
    codes = uniform_codes(network(), 20_000, seeded(1)).numpy()
    assert -1 <= codes.min() < -0.999 < 0.999 < codes.max() <= 1
    np.testing.assert_allclose(codes.var(0), 1 / 3, atol=0.01)


def test_a_step_is_five_of_the_critic_with_batches_of_their_own_and_one_of_the_generator():
    read: list[int] = []

    def batch(number: int) -> torch.Tensor:
        read.append(number)
        return pictures(number)

    made, moves = training(batch=batch), []
    for name in ("critic_optimiser", "generator_optimiser"):
        optimiser = getattr(made, name)
        step = optimiser.step
        optimiser.step = lambda name=name, step=step: (moves.append(name), step())
    made.optimise(2)
    assert read == [10, 11, 12, 13, 14]
    assert moves == ["critic_optimiser"] * CRITIC_STEPS + ["generator_optimiser"]


def test_each_optimiser_moves_its_own_weights_and_together_all_of_them():
    made = training()
    names = {id(p): name for name, p in made.network.named_parameters()}
    groups = [
        {names[id(p)] for p in optimiser.parameters}
        for optimiser in (made.generator_optimiser, made.critic_optimiser)
    ]
    assert groups[0] | groups[1] == set(names.values()) and not groups[0] & groups[1]
    assert all(name.startswith("generator.") for name in groups[0])
    before = {name: value.detach().clone() for name, value in made.network.named_parameters()}
    made.run()
    after = dict(made.network.named_parameters())
    still = [name for name, value in before.items() if torch.equal(value, after[name])]
    assert still == ["critic.bias"], "it cancels between the real and the made pictures"
    assert [point.step for point in made.curve] == list(range(1, 21))
    for point in made.curve:
        assert point.reconstruction is None and point.kl is None
        assert math.isfinite(point.loss) and point.regulariser > 0


class Interrupted(Exception):
    pass


def test_it_resumes_to_the_same_bytes():
    whole = training(22)
    whole.run()
    saved = []

    def interrupt(made: InfoGANTraining) -> None:
        saved.append(made.checkpoint())
        raise Interrupted

    with pytest.raises(Interrupted):
        training(22, interrupt).run()
    resumed = training(22)
    for parameter in resumed.parameters():
        parameter.data.fill_(0.5)
    resumed.restore(saved[0])
    assert resumed.done == CHUNK
    resumed.run()
    known = whole.network.state_dict()
    assert all(torch.equal(v, known[name]) for name, v in resumed.network.state_dict().items())
    assert resumed.curve == whole.curve


def test_a_loss_that_is_not_finite_ends_it():
    made = training(steps=1, batch=lambda number: pictures(number) * math.nan)
    with pytest.raises(Diverged, match=r"at step 1$"):
        made.run()
