"""What agents predict of scenes, how they choose actions, and how they play."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from data.look_alikes.sprites import Reals
from tasks.clustering import agent
from tasks.clustering.agent import Play, chosen, planned
from tasks.clustering.reward_predictor import RewardPredictor, learn_rewards, log_quality
from tasks.clustering.scenes import clustering
from tasks.clustering.transition import Transition
from tasks.clustering.world import quality, reward
from tests.tasks.clustering.made_codes import factors_as_codes
from tests.tasks.clustering.made_scenes import oracle


def test_rewards_become_the_logarithm_of_quality() -> None:
    reached = np.array([0.1, 1.0, 2.5, 40.0])
    rewards = torch.as_tensor(reward(reached))
    np.testing.assert_allclose(log_quality(rewards).numpy(), np.log(reached), atol=1e-12)
    assert torch.isfinite(log_quality(torch.tensor([-12.5, -13.0]))).all()


def test_the_order_of_sprites_does_not_matter_to_the_predictor() -> None:
    generator = torch.Generator().manual_seed(0)
    predictor = RewardPredictor(5, generator)
    scenes = torch.randn(20, 4, 5, generator=generator)
    with torch.inference_mode():
        values = predictor(scenes)
        for order in ([3, 1, 0, 2], [1, 0, 3, 2]):
            torch.testing.assert_close(predictor(scenes[:, order]), values)
        torch.testing.assert_close(predictor(scenes + 3.0), values, rtol=1e-4, atol=1e-5)
    assert values.std() > 0


def test_the_predictor_learns_the_order_of_scenes() -> None:
    """From 4,000 scenes whose codes are their factors it ranks new ones."""
    from scipy.stats import spearmanr

    scenes = clustering(np.random.default_rng(0), 5000)
    assert scenes.clusters is not None
    codes = factors_as_codes(scenes.sprites.factors())
    rewards = reward(quality(scenes.sprites.positions, scenes.clusters))
    inputs, targets = (torch.as_tensor(a, dtype=torch.float32) for a in (codes, rewards))
    learned = learn_rewards(inputs[:4000], targets[:4000], torch.Generator().manual_seed(0))
    with torch.inference_mode():
        predicted = learned(inputs[4000:]).numpy()
    assert spearmanr(predicted, rewards[4000:]).statistic > 0.9


class KnowsTheWorld(Transition):
    """Codes are factors: an action moves sprites whose middle is within 0.04 of its click."""

    def __init__(self) -> None:
        self.moving = 1e-6

    def changes(self, codes: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        hit = (codes[:, None, :2] - actions[:, :2]).abs().amax(-1) < 0.04
        changes = torch.zeros(len(codes), len(actions), codes.shape[1])
        changes[..., :2] = hit[..., None] * 0.25 * (actions[:, 2:] - 0.5)
        return changes


class FarRight(RewardPredictor):
    """The further to the right the sprites are, the better."""

    def __init__(self) -> None:
        torch.nn.Module.__init__(self)

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        return codes[:, :, 0].sum(dim=1)


def as_they_are(factors: Reals) -> Reals:
    return factors


def test_the_best_predicted_action_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a loop over scenes, candidates and sprites."""
    monkeypatch.setattr(agent, "CANDIDATES", 400)
    play = Play(clustering(np.random.default_rng(0), 12), as_they_are)
    actions = planned(play.codes, KnowsTheWorld(), FarRight(), np.random.default_rng(1))
    candidates = np.random.default_rng(1).random((400, 4)).astype(np.float32)
    for scene, action in zip(play.codes.numpy(), actions, strict=True):
        best, best_value = None, -np.inf
        for candidate in candidates:
            for sprite in scene:
                if np.abs(sprite[:2] - candidate[:2]).max() < 0.04:
                    value = scene[:, 0].sum() + 0.25 * (candidate[2] - 0.5)
                    if value > best_value:
                        best, best_value = candidate, value
        assert best is not None
        np.testing.assert_allclose(action, best, atol=1e-6)


def test_without_a_predictor_any_moving_action_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "CANDIDATES", 400)
    play = Play(clustering(np.random.default_rng(0), 200), as_they_are)
    rng = np.random.default_rng(1)
    one, other = (planned(play.codes, KnowsTheWorld(), None, rng) for _ in range(2))
    hits = np.abs(play.codes.numpy()[:, :, :2] - one[:, None, :2]).max(axis=2) < 0.04
    assert hits.any(axis=1).mean() > 0.95, "a few scenes have no candidate that moves a sprite"
    assert len(np.unique(one, axis=0)) > 50 and (one != other).any()


def test_exploring_replaces_a_share_of_the_best_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "CANDIDATES", 1000)
    play = Play(clustering(np.random.default_rng(0), 500), as_they_are)
    arguments = play.codes, KnowsTheWorld(), FarRight()
    best, some = (
        planned(*arguments, np.random.default_rng(1), exploring) for exploring in (0.0, 0.25)
    )
    assert (best != some).any(axis=1).mean() == pytest.approx(0.25, abs=0.07)


def test_codes_follow_the_sprites() -> None:
    """Only what moved is encoded again, and finished episodes are exchanged."""
    asked: list[int] = []

    def encode(factors: Reals) -> Reals:
        asked.append(len(factors))
        return factors_as_codes(factors)

    rng = np.random.default_rng(0)
    play = Play(clustering(rng, 30), encode)
    assert asked == [120]
    finished = 0
    for _ in range(60):
        asked.clear()
        taken = play.act(oracle(play.episodes), rng)
        moved = int((taken.moved >= 0).sum())
        assert asked == ([moved] if moved else [])
        finished += int(play.episodes.finished.sum())
        play.replace_finished(clustering(rng, 30))
        assert not play.episodes.finished.any()
        wanted = factors_as_codes(play.episodes.sprites.factors())
        np.testing.assert_allclose(play.codes.numpy(), wanted, atol=1e-6)
    assert finished > 30


def test_unfinished_episodes_stay() -> None:
    rng = np.random.default_rng(0)
    play = Play(clustering(rng, 30), as_they_are)
    while not play.episodes.finished.any():
        play.act(oracle(play.episodes), rng)
    going = np.flatnonzero(~play.episodes.finished)
    wanted = chosen(play.episodes, going)
    assert (play.keep_unfinished() == going).all() and 0 < len(going) < 30
    assert (play.episodes.sprites.positions == wanted.sprites.positions).all()
    np.testing.assert_allclose(play.codes.numpy(), wanted.sprites.factors(), atol=1e-6)
