"""Episodes from their beginning to their end: what is drawn, and who succeeds."""

from collections.abc import Callable

import numpy as np
import pytest

from data.look_alikes.sprites import Reals
from tasks.clustering.agent import chosen
from tasks.clustering.scenes import TEST_HUES, TRAIN_HUES, clustering, exploration
from tasks.clustering.world import Episodes, action_noise, quality, random_actions, step
from tests.tasks.clustering.made_scenes import oracle

Policy = Callable[[Episodes], Reals]


def played(episodes: Episodes, policy: Policy, rng: np.random.Generator) -> Episodes:
    """The episodes after their last step."""
    for _ in range(episodes.length):
        noise = action_noise(rng, len(episodes.steps))
        episodes = step(episodes, policy(episodes), noise).episodes
    return episodes


@pytest.mark.parametrize("hues", [TRAIN_HUES, TEST_HUES])
def test_clustering_scenes(hues: tuple[tuple[float, float], ...]) -> None:
    """Two sprites of each range of hues, in any order; all factors fill their ranges."""
    episodes = clustering(np.random.default_rng(0), 2000, hues)
    sprites, clusters = episodes.sprites, episodes.clusters
    assert clusters is not None and episodes.length == 50 and sprites.present.all()
    assert (np.sort(clusters, axis=1) == [0, 0, 1, 1]).all()
    assert len(np.unique(clusters, axis=0)) == 6, "all orders"
    for cluster, (low, high) in enumerate(hues):
        _fills(sprites.hues[clusters == cluster], low, high)
    _fills(sprites.positions, 0.1, 0.9)
    _fills(sprites.saturations, 0.3, 1)
    _fills(sprites.values, 0.9, 1)
    np.testing.assert_allclose(np.bincount(sprites.shapes.ravel()) / 8000, 1 / 3, atol=0.03)


def test_exploration_scenes() -> None:
    """One to six sprites of any hue; ten steps, without a reward."""
    rng = np.random.default_rng(0)
    episodes = exploration(rng, 2000)
    counts = np.bincount(episodes.sprites.present.sum(axis=1))
    np.testing.assert_allclose(counts / 2000, [0] + 6 * [1 / 6], atol=0.04)
    _fills(episodes.sprites.hues, 0, 1)
    result = step(episodes, random_actions(rng, 2000))
    assert not result.rewards.any()
    assert episodes.sprites.present[np.arange(2000), result.moved][result.moved >= 0].all()
    after = played(episodes, lambda now: random_actions(rng, len(now.steps)), rng)
    assert (after.steps == 10).all() and not after.succeeded.any()


def _fills(values: Reals, low: float, high: float) -> None:
    """Uniform: inside its range, near both ends, and with the right mean and deviation."""
    margin = 0.01 * (high - low)
    assert low <= values.min() < low + margin and high - margin < values.max() <= high
    assert values.mean() == pytest.approx((low + high) / 2, abs=2 * margin)
    assert values.std() == pytest.approx((high - low) / 12**0.5, rel=0.03)


def test_many_episodes_are_as_one_by_one() -> None:
    """With the same actions and noise, whatever else is played at the same time."""
    rng = np.random.default_rng(1)
    together = clustering(rng, 30)
    alone = [chosen(together, np.array([episode])) for episode in range(30)]
    moves = 0
    for number in range(50):
        # half of the clicks are aimed, so that sprites move and some episodes end early
        actions = random_actions(rng, 30) if number % 2 else oracle(together)
        noise = action_noise(rng, 30)
        result = step(together, actions, noise)
        for episode in range(30):
            one = slice(episode, episode + 1)
            apart = step(alone[episode], actions[one], noise[one])
            assert (result.rewards[one], result.moved[one]) == (apart.rewards, apart.moved)
            alone[episode] = apart.episodes
        moves += int((result.moved >= 0).sum())
        together = result.episodes
    for episode, last in enumerate(alone):
        same = chosen(together, np.array([episode]))
        assert (same.sprites.positions == last.sprites.positions).all()
        assert (same.steps, same.succeeded) == (last.steps, last.succeeded)
    assert moves > 100 and together.succeeded.sum() > 20 and len(set(together.steps.tolist())) > 5


def test_the_seed_decides_everything() -> None:
    def play(seed: int) -> Reals:
        rng = np.random.default_rng(seed)
        episodes = clustering(rng, 20)
        after = played(episodes, lambda now: random_actions(rng, len(now.steps)), rng)
        return after.sprites.factors()

    assert (play(3) == play(3)).all()
    assert (play(3) != play(4)).any()


def test_random_clicks_rarely_succeed() -> None:
    """3.3% of scenes are clustered as they are drawn (of 20,000), which counts after the first
    step; random clicks and noise bring that to 4.9%."""
    rng = np.random.default_rng(0)
    episodes = clustering(rng, 3000)
    assert episodes.clusters is not None
    already = quality(episodes.sprites.positions, episodes.clusters) >= 2.5
    after = played(episodes, lambda now: random_actions(rng, len(now.steps)), rng)
    assert 0.02 < already.mean() < after.succeeded.mean() < 0.08


@pytest.mark.parametrize("hues", [TRAIN_HUES, TEST_HUES])
def test_an_oracle_always_succeeds(hues: tuple[tuple[float, float], ...]) -> None:
    """In spite of noise, of which a third of its clicks miss."""
    rng = np.random.default_rng(0)
    after = played(clustering(rng, 500, hues), oracle, rng)
    assert after.succeeded.all()
    assert after.clusters is not None
    assert (quality(after.sprites.positions, after.clusters) >= 2.5).all()
    assert after.steps.mean() < 20
