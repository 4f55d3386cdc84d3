"""What holds for every method, and for one that somebody adds."""

import math
import sys

import pytest
import torch

import models
from infra.errors import WrongInput
from models import METHODS, Method, build_objective
from models.architecture import VAE
from models.recipe import Recipe
from models.training import TrainingModule, fit
from tasks.study.reading import parse_study

SEVENTH = '''
"""A penalty on the means' fourth power, with a weight that is trained and a count that is kept."""

import torch

from models.objective import Objective, Penalty


class Seventh(Objective):

    def __init__(self, strength, latents):
        super().__init__(strength, latents)
        self.scale = torch.nn.Linear(1, 1)
        self.register_buffer("seen", torch.zeros(()))

    def penalty(self, code, step, generator):
        self.seen += 1
        level = self.scale(code.mean.detach().square().mean().reshape(1)).sum()
        own = self.strength * code.mean.pow(4).mean() * (1 + 0.1 * self.seen)
        return Penalty(code.kl.sum() + own, (level - 1).square())

    def adversary_optimiser(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


OBJECTIVE = Seventh
'''


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def seeded(step: int, purpose: int) -> torch.Generator:
    return torch.Generator().manual_seed(1000 * step + purpose)


def training(method, strength, steps=20, latents=10, channels=1) -> TrainingModule:
    def batch(step: int) -> torch.Tensor:
        return (torch.rand(4, channels, 64, 64, generator=seeded(step, 1)) > 0.9).float()

    made = TrainingModule(
        VAE(channels, latents),
        build_objective(method, strength, latents),
        Recipe(steps=steps, learning_rate=1e-3),
        batch,
        lambda step: seeded(step, 2),
        log_every=1,
    )
    made.initialise(seeded(0, 3))
    return made


def state(made: TrainingModule) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone() for name, tensor in made.state_dict().items()}


@pytest.mark.parametrize("method", METHODS)
def test_at_its_strongest_a_method_trains_every_weight(method):
    made = training(method, max(METHODS[method].strengths), channels=3)
    before = state(made)
    fit(made)
    assert [point.step for point in made.curve] == list(range(1, 21))
    assert all(math.isfinite(value) for point in made.curve for value in point)
    assert made.curve[-1].reconstruction < made.curve[0].reconstruction
    assert not [name for name, old in before.items() if torch.equal(old, made.state_dict()[name])]


@pytest.fixture
def seventh(tmp_path, monkeypatch):
    """One file and one name, as CONTRIBUTING.md has it, in a folder of its own."""
    (tmp_path / "seventh.py").write_text(SEVENTH)
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(tmp_path)])
    monkeypatch.setattr(
        models,
        "METHODS",
        {**METHODS, "seventh": Method("Seventh", "ω", "kim-2018", strengths=(1, 2))},
    )
    yield "seventh"
    sys.modules.pop("models.seventh", None)
    vars(models).pop("seventh", None)


def test_a_seventh_method_is_one_file_and_one_name(seventh):
    whole = training(seventh, 2.0, steps=40, latents=3)
    before = state(whole)
    fit(whole)
    after = state(whole)
    assert float(whole.objective.seen) == 40
    assert not [name for name, old in before.items() if torch.equal(old, after[name])]
    assert whole.curve[-1].loss < whole.curve[0].loss

    half = training(seventh, 2.0, steps=20, latents=3)
    fit(half)
    resumed = training(seventh, 2.0, steps=40, latents=3)
    resumed.restore(half.checkpoint())
    fit(resumed)
    assert all(torch.equal(tensor, after[name]) for name, tensor in state(resumed).items())
    assert resumed.curve == whole.curve


STUDY = {"name": "own", "data": ["dsprites"], "methods": {"seventh": [1, 2]}, "seeds": 2}


def test_a_study_may_name_the_seventh_method(seventh):
    cells = parse_study(STUDY).cells()
    assert [model.method for cell in cells for model in cell.models] == ["seventh"] * 4


def test_without_its_name_the_seventh_method_is_unknown():
    with pytest.raises(WrongInput, match="seventh"):
        parse_study(STUDY)
