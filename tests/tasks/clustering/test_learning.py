"""How many steps agents need with codes of which the right order is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from data.look_alikes.sprites import Reals
from metrics.base.inputs import Learned
from models.building import build_network
from tasks.clustering import learning, reward_predictor, transition
from tasks.clustering.agent import Encode, Play
from tasks.clustering.learning import Settings, learn_clustering, learn_task
from tasks.clustering.scenes import TEST_HUES
from tests.tasks.clustering.made_codes import factors_as_codes

QUICK = Settings(agents=2, explored=300, together=5, first=10, growth=2, budget=40, tested=12)


@pytest.fixture
def few_gradient_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transition, "STEPS", 20)
    monkeypatch.setattr(reward_predictor, "STEPS", 20)


def same(one: Learned, other: Learned) -> bool:
    return all(
        np.array_equal(vars(one)[name], vars(other)[name], equal_nan=True) for name in vars(one)
    )


def test_the_stream_decides_everything(few_gradient_steps: None) -> None:
    one, repeated, other = (
        learn_task(factors_as_codes, np.random.default_rng(seed), QUICK) for seed in (1, 1, 2)
    )
    assert same(one, repeated) and not same(one, other)
    assert one.steps.shape == one.success.shape == one.other_hues.shape == (2,)
    assert one.budget == 40


def test_an_agent_does_not_depend_on_how_many_there_are(few_gradient_steps: None) -> None:
    two, one = (
        learn_task(factors_as_codes, np.random.default_rng(1), Settings(**vars(QUICK) | changes))
        for changes in ({}, {"agents": 1})
    )
    assert (two.success[0], two.other_hues[0]) == (one.success[0], one.other_hues[0])


def test_tests_come_ever_more_rarely_until_the_budget() -> None:
    settings = Settings(first=100, growth=1.5, budget=1000, together=10)
    numbers = list(learning._numbers_of_steps(settings))
    assert numbers == [100, 150, 220, 340, 510, 760, 1000]


def test_an_agent_that_passes_the_first_test_needs_the_first_steps(
    few_gradient_steps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "_succeeded", lambda *arguments: 0.9)
    learned = learn_task(factors_as_codes, np.random.default_rng(0), QUICK)
    assert learned.steps.tolist() == [10, 10] and learned.success.tolist() == [0.9, 0.9]
    monkeypatch.setattr(learning, "_succeeded", lambda *arguments: 0.89)
    assert np.isnan(learn_task(factors_as_codes, np.random.default_rng(0), QUICK).steps).all()


def test_agents_learn_and_are_tested_with_the_hues_of_training_and_then_with_others(
    few_gradient_steps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each test's scenes are TRAIN_HUES; once, at an agent's end, TEST_HUES."""
    asked: list[bool] = []

    def with_hues(play: Play, *_: object) -> float:
        hues = play.episodes.sprites.hues
        low, high = np.array(TEST_HUES).T
        asked.append(bool(((hues[..., None] >= low) & (hues[..., None] <= high)).any(-1).all()))
        return 0.0

    monkeypatch.setattr(learning, "_succeeded", with_hues)
    learn_task(factors_as_codes, np.random.default_rng(0), QUICK)
    assert asked == 2 * [False, False, False, True], "two agents, tests at 10, 20 and 40 steps"


def test_a_network_sees_each_sprite_alone(
    few_gradient_steps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the same, and other weights give other numbers."""
    monkeypatch.setattr(learning, "Settings", lambda: QUICK)
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        network = build_network("beta_vae", 3, 4, "paper")
        for weights in network.parameters():
            torch.nn.init.normal_(weights, std=0.1)
        found.append(learn_clustering(network, np.random.default_rng(0)))
    assert same(found[0], found[1])
    assert np.isfinite(found[0].success).all()


def test_a_collapsed_model_is_learned_from_without_an_error(few_gradient_steps: None) -> None:
    learned = learn_task(lambda rows: np.zeros((len(rows), 3)), np.random.default_rng(0), QUICK)
    assert np.isfinite(learned.success).all()


ONE = Settings(agents=1, budget=15_000)
ROTATION, _ = np.linalg.qr(np.random.default_rng(7).normal(size=(6, 6)))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_known_answers() -> None:
    """Codes that are the factors need few steps; turned and with noise they need more; codes that
    say nothing never suffice."""
    noise = np.random.default_rng(8)

    def turned(factors: Reals) -> Reals:
        codes: Reals = factors_as_codes(factors) @ ROTATION
        return codes + 0.1 * noise.normal(size=codes.shape)

    def random(factors: Reals) -> Reals:
        return noise.normal(size=(len(factors), 6))

    def steps(encode: Encode) -> float:
        return float(learn_task(encode, np.random.default_rng(0), ONE).steps[0])

    factors = steps(factors_as_codes)
    assert factors < 8000
    assert not steps(turned) <= 1.5 * factors, "nan, never, is more, too"
    assert np.isnan(steps(random))
