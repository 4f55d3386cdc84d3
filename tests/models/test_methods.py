"""What holds for every method, and for a new one."""

import math

import pytest
import torch

from models import METHODS, build_objective
from models.architecture import VAE
from models.objective import Code, Objective, Penalty
from models.recipe import Recipe
from models.training import Feed, TrainingModule, fit


class Seventh(Objective):
    """A penalty on the means' fourth power, with a trained weight and a stored count of steps."""

    def __init__(self, strength: float, latents: int) -> None:
        super().__init__(strength, latents)
        self.scale = torch.nn.Linear(1, 1)
        self.register_buffer("steps", torch.zeros(()))

    def penalty(self, code: Code, step: int, generator: torch.Generator) -> Penalty:
        self.steps += 1
        level = self.scale(code.mean.detach().square().mean().reshape(1)).sum()
        own = self.strength * code.mean.pow(4).mean() * (1 + 0.1 * self.steps)
        return Penalty(code.kl.sum() + own, (level - 1).square())

    def adversary_optimiser(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def seeded(step: int, purpose: int) -> torch.Generator:
    return torch.Generator().manual_seed(1000 * step + purpose)


def training(objective: Objective, steps: int = 20, channels: int = 1) -> TrainingModule:
    def batch(step: int) -> torch.Tensor:
        return (torch.rand(4, channels, 64, 64, generator=seeded(step, 1)) > 0.9).float()

    made = TrainingModule(
        VAE(channels, objective.latents),
        objective,
        Recipe(steps=steps, learning_rate=1e-3),
        Feed(batch, lambda step: seeded(step, 2)),
        log_every=1,
    )
    made.initialise(seeded(0, 3))
    return made


def state(made: TrainingModule) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone() for name, tensor in made.state_dict().items()}


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].has_posterior])
def test_at_its_strongest_a_method_trains_every_weight(method):
    objective = build_objective(method, max(METHODS[method].strengths), latents=10)
    made = training(objective, channels=3)
    before = state(made)
    fit(made)
    assert [point.step for point in made.curve] == list(range(1, 21))
    assert all(math.isfinite(value) for point in made.curve for value in point)
    assert made.curve[-1].reconstruction < made.curve[0].reconstruction
    assert not [name for name, old in before.items() if torch.equal(old, made.state_dict()[name])]


def test_a_method_with_weights_and_state_of_its_own_trains_and_resumes():
    whole = training(Seventh(2.0, 3), steps=40)
    before = state(whole)
    fit(whole)
    after = state(whole)
    assert float(whole.objective.steps) == 40
    assert not [name for name, old in before.items() if torch.equal(old, after[name])]
    assert whole.curve[-1].loss < whole.curve[0].loss

    half = training(Seventh(2.0, 3), steps=20)
    fit(half)
    resumed = training(Seventh(2.0, 3), steps=40)
    resumed.restore(half.checkpoint())
    fit(resumed)
    assert all(torch.equal(tensor, after[name]) for name, tensor in state(resumed).items())
    assert resumed.curve == whole.curve
