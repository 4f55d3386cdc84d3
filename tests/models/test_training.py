import io
import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from models import METHODS, build_objective
from models.architecture import VAE
from models.network import bernoulli_loss
from models.objective import Objective, Penalty
from models.recipe import CHUNK, Recipe
from models.training import Diverged, Feed, TrainingModule, fit

RECIPE = Recipe(steps=60, learning_rate=1e-3)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def seeded(*seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(sum(s * 1000**i for i, s in enumerate(seed)))


def batch(step: int) -> torch.Tensor:
    return (torch.rand(4, 1, 64, 64, generator=seeded(step, 1)) > 0.9).float()


def training(method="beta_vae", recipe=RECIPE, after_chunk=lambda _: None, batch=batch, **more):
    objective = more.get("objective") or build_objective(method, 4.0, 3)
    made = TrainingModule(
        VAE(1, 3, fast=more.get("fast", True)),
        objective,
        recipe,
        Feed(batch, lambda s: seeded(s, 2)),
        after_chunk,
        more.get("log_every", 25),
    )
    made.initialise(seeded(0, 3))
    return made


def weights(made: TrainingModule) -> list[torch.Tensor]:
    return [tensor.detach().clone() for tensor in made.state_dict().values()]


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@given(
    rows=st.integers(1, 3),
    shape=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)),
    seed=st.integers(0, 2**31),
)
@settings(deadline=None)
def test_bernoulli_loss_in_plain_python(rows, shape, seed):
    rng = np.random.default_rng(seed)
    logits, images = rng.normal(scale=4, size=(rows, *shape)), rng.random((rows, *shape))
    total = 0.0
    for logit, pixel in zip(logits.ravel(), images.ravel(), strict=True):
        chance = 1 / (1 + math.exp(-logit))
        total -= pixel * math.log(chance) + (1 - pixel) * math.log(1 - chance)
    found = bernoulli_loss(torch.from_numpy(logits), torch.from_numpy(images))
    assert float(found) == pytest.approx(total / rows, rel=1e-6)


def test_bernoulli_loss_survives_certainty():
    extreme = torch.tensor([[[[1000.0, -1000.0]]]])
    assert float(bernoulli_loss(extreme, torch.tensor([[[[1.0, 0.0]]]]))) == 0
    assert float(bernoulli_loss(extreme, torch.tensor([[[[0.0, 1.0]]]]))) == 2000


def loss_by_hand(vae: VAE, images: torch.Tensor, generator: torch.Generator, beta: float):
    mean, logvar = vae.encoder(images)
    noise = torch.randn(mean.shape, generator=generator)
    chance = torch.sigmoid(vae.decoder(mean + noise * torch.exp(logvar / 2)))
    log_likelihood = torch.log(torch.where(images == 1, chance, 1 - chance))
    kl = (mean**2 + torch.exp(logvar) - logvar - 1) / 2
    return -log_likelihood.sum((1, 2, 3)).mean() + beta * kl.sum(1).mean()


def test_two_steps_are_two_steps_of_adam_by_hand():
    made = training(recipe=Recipe(steps=2, learning_rate=0.01, beta1=0.8, beta2=0.95, epsilon=1e-3))
    copy = VAE(1, 3)
    copy.load_state_dict(made.vae.state_dict())
    first = [torch.zeros_like(p) for p in copy.parameters()]
    second = [torch.zeros_like(p) for p in copy.parameters()]
    before = weights(made)
    for step in (0, 1):
        made.optimise(step)
        loss = loss_by_hand(copy, batch(step), seeded(step, 2), 4.0)
        gradients = torch.autograd.grad(loss, list(copy.parameters()))
        with torch.no_grad():
            for p, g, m, v in zip(copy.parameters(), gradients, first, second, strict=True):
                m.copy_(0.8 * m + 0.2 * g)
                v.copy_(0.95 * v + 0.05 * g * g)
                unbiased_m, unbiased_v = m / (1 - 0.8 ** (step + 1)), v / (1 - 0.95 ** (step + 1))
                p -= 0.01 * unbiased_m / (unbiased_v.sqrt() + 1e-3)
    assert not same(before, weights(made))
    for found, expected in zip(made.vae.parameters(), copy.parameters(), strict=True):
        torch.testing.assert_close(found.detach(), expected.detach(), rtol=1e-3, atol=1e-5)


def test_reported_losses_are_those_before_the_step():
    made = training()
    with torch.no_grad():
        expected = float(loss_by_hand(made.vae, batch(0), seeded(0, 2), 4.0))
    loss, reconstruction, kl = (float(value) for value in made.optimise(0)[:3])
    assert loss == pytest.approx(expected, rel=1e-5)
    assert loss == pytest.approx(reconstruction + 4 * kl, rel=1e-5)


@pytest.mark.parametrize("still", ["vae", "discriminator"])
def test_each_loss_moves_its_own_weights_only(still):
    made, whole = training("factor_vae"), training("factor_vae")
    stopped = made.vae_optimiser if still == "vae" else made.adversary_optimiser
    stopped.lr = 0.0
    vae, discriminator = weights(made.vae), weights(made.objective)
    made.optimise(0)
    whole.optimise(0)
    moves = made.objective if still == "vae" else made.vae
    stands = made.vae if still == "vae" else made.objective
    assert same(weights(stands), vae if still == "vae" else discriminator)
    # ... and what moved moved exactly as when both do: no loss adds to the other's gradient.
    assert same(weights(moves), weights(whole.objective if still == "vae" else whole.vae))
    assert not same(weights(moves), discriminator if still == "vae" else vae)


def test_both_networks_follow_the_gradients_of_their_own_losses():
    made, fresh = training("factor_vae"), training("factor_vae")
    made.optimise(0)
    mean, logvar = fresh.vae.encoder(batch(0))
    generator = seeded(0, 2)
    z = mean + torch.randn(mean.shape, generator=generator) * (logvar / 2).exp()
    shuffled = z.detach().gather(0, torch.rand(z.shape, generator=generator).argsort(0))
    joint, apart = fresh.objective.discriminator(z), fresh.objective.discriminator(shuffled)
    surprise = -joint.log_softmax(1)[:, 0].mean() - apart.log_softmax(1)[:, 1].mean()
    own = list(fresh.objective.parameters())
    of_adversary = torch.autograd.grad(surprise / 2, own, retain_graph=True)
    loss = loss_by_hand(fresh.vae, batch(0), seeded(0, 2), 1.0)
    loss = loss + 4 * (joint[:, 0] - joint[:, 1]).mean()
    of_vae = torch.autograd.grad(loss, list(fresh.vae.parameters()))
    for network, gradients in ((made.objective, of_adversary), (made.vae, of_vae)):
        for parameter, expected in zip(network.parameters(), gradients, strict=True):
            scale = float(expected.abs().max())
            torch.testing.assert_close(parameter.grad, expected, rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize(
    ("steps", "log_every", "expected"),
    [
        (60, 25, [1, 25, 50, 60]),
        (40, 20, [1, 20, 40]),
        (7, 100, [1, 7]),
        (1, 1, [1]),
        (23, 10, [1, 10, 20, 23]),
    ],
)
def test_curve_has_the_first_the_last_and_every_nth_step(steps, log_every, expected):
    made = training(recipe=Recipe(steps=steps, learning_rate=1e-3), log_every=log_every)
    fit(made)
    assert [point.step for point in made.curve] == expected
    assert made.done == steps
    for point in made.curve:
        assert point.regulariser == pytest.approx(4 * point.kl, abs=0.01)
        assert point.loss == pytest.approx(point.reconstruction + point.regulariser, rel=1e-6)


def test_training_lowers_the_loss():
    made = training()
    fit(made)
    assert made.curve[-1].loss < 0.7 * made.curve[0].loss


@pytest.mark.parametrize("method", ["beta_vae", "factor_vae"])
def test_fast_layers_train_like_torchs_own(method):
    recipe = Recipe(steps=20, learning_rate=1e-3)
    quick, plain = training(method, recipe), training(method, recipe, fast=False)
    fit(quick)
    fit(plain)
    found, expected = (np.array(made.curve, dtype=float)[:, 1:3] for made in (quick, plain))
    np.testing.assert_allclose(found, expected, rtol=1e-2)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)


@pytest.mark.parametrize("fast", [True, False])
def test_bfloat16_rounds_in_the_networks_only(fast):
    exact, rounded = (
        training(fast=fast),
        training(fast=fast, recipe=RECIPE.model_copy(update={"precision": "bfloat16"})),
    )
    fit(exact)
    fit(rounded)
    first, last = rounded.curve[0], rounded.curve[-1]
    assert last.loss < 0.7 * first.loss
    assert first.kl != exact.curve[0].kl
    assert first.loss == pytest.approx(exact.curve[0].loss, rel=2e-3)
    assert last.loss == pytest.approx(exact.curve[-1].loss, rel=0.1)
    moments = [m for state in rounded.vae_optimiser.state.values() for m in state.values()]
    everything = [*rounded.vae.parameters(), *moments, *rounded.optimise(60)[:3]]
    assert {tensor.dtype for tensor in everything} == {torch.float32}
    seen = rounded.vae.encoder(batch(0))  # outside of training nothing rounds
    assert {part.dtype for part in seen} == {torch.float32}


def test_an_unknown_precision_is_refused():
    with pytest.raises(ValidationError, match="precision"):
        Recipe(precision="float8")


@pytest.mark.parametrize("before", [(False, False), (True, True)])
def test_only_deterministic_algorithms_while_it_trains(before):
    def switches() -> tuple[bool, bool]:
        return (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )

    seen = []
    torch.use_deterministic_algorithms(before[0], warn_only=before[1])
    try:
        recipe = Recipe(steps=1, learning_rate=1e-3)
        fit(training(recipe=recipe, after_chunk=lambda _: seen.append(switches())))
        assert seen == [(True, False)]
        assert switches() == before
        with pytest.raises(Diverged):
            fit(training(recipe=recipe, objective=Moves(0, math.nan)))
        assert switches() == before
    finally:
        torch.use_deterministic_algorithms(False)


class Interrupted(Exception):
    pass


@pytest.mark.parametrize(
    ("method", "chunks"),
    # 3 chunks are all of them: interrupted before the results are written
    [*((name, 1) for name in METHODS if METHODS[name].has_posterior), ("factor_vae", 3)],
)
def test_resuming_from_a_checkpoint_gives_the_same_bytes(method, chunks):
    whole = training(method)
    fit(whole)
    saved = []

    def interrupt(made: TrainingModule) -> None:
        if made.done == chunks * CHUNK:
            made.seconds = 12.5
            saved.append(made.checkpoint())
            raise Interrupted

    with pytest.raises(Interrupted):
        fit(training(method, after_chunk=interrupt))
    resumed = training(method)
    for parameter in resumed.parameters():
        parameter.data.fill_(0.5)  # nothing of a fresh start may show through
    resumed.restore(saved[0])
    assert resumed.done == chunks * CHUNK and resumed.seconds == 12.5
    fit(resumed)
    assert same(weights(whole), weights(resumed))
    assert whole.curve == resumed.curve
    assert resumed.done == 60


class Moves(Objective):
    """Adds to the loss what the test asks for."""

    def __init__(self, step: int, term: float) -> None:
        super().__init__(1.0, 3)
        self.at, self.term = step, term

    def penalty(self, code, step, generator):
        return Penalty(code.kl.sum() + (self.term if step == self.at else 0.0))


@pytest.mark.parametrize("value", [math.inf, math.nan, -math.inf])
def test_a_loss_that_is_not_finite_names_term_and_step(value):
    made = training(objective=Moves(24, value))
    with pytest.raises(Diverged, match=rf"^regulariser was {value} at step 25$"):
        fit(made)
    assert made.done == 20  # the chunk before stands
    assert [point.step for point in made.curve] == [1]


def test_a_broken_reconstruction_is_named():
    def torn(step: int) -> torch.Tensor:
        return batch(step) * (math.nan if step == 2 else 1.0)

    with pytest.raises(Diverged, match=r"at step 3$") as raised:
        fit(training(batch=torn))
    assert str(raised.value).startswith("reconstruction was nan")


class Bomb:
    def __reduce__(self):
        return (print, ("code in a checkpoint was run",))


def test_a_checkpoint_with_code_in_it_is_refused(capsys):
    made = training()
    file = io.BytesIO()
    torch.save({"done": 0, "vae": Bomb()}, file)
    for dangerous in (file.getvalue(), pickle.dumps(Bomb())):
        with pytest.raises(Exception, match=r"(?i)weights.only|unsupported|magic"):
            made.restore(dangerous)
    assert capsys.readouterr().out == ""


def test_initialising_covers_the_discriminator():
    made = training("factor_vae")
    drawn = weights(made.objective)
    assert same(drawn, weights(training("factor_vae").objective))
    assert all(not tensor.any() for tensor in drawn if tensor.dim() == 1)
