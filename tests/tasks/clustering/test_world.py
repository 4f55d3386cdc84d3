"""Stepping, by hand: what a click hits, how sprites move, rewards, and when an episode ends."""

import numpy as np
import pytest

from data.look_alikes.sprites import CIRCLE, HALF_SIDE, RADIUS, SQUARE, TRIANGLE
from tasks.clustering.world import (
    NOISE,
    action_noise,
    begin,
    quality,
    random_actions,
    reward,
    step,
    topmost,
)
from tests.tasks.clustering.made_scenes import scene

# Widths to two pairs at x = 0.2 and x = 0.8: spreads are half of them, the index is mean / 0.6.
PAIRS = np.array([[0, 0, 1, 1]])


@pytest.mark.parametrize(
    ("place", "hit"),
    [
        ((0.3, 0.3), 0),  # the middle of the square alone
        ((0.3 + 0.064, 0.3 + 0.064), 0),  # its corner is (0.365, 0.365)
        ((0.3 + 0.066, 0.3), -1),
        ((0.7, 0.7 + 0.11), 1),  # the triangle's top is 0.114 above its centre
        ((0.7, 0.7 + 0.12), -1),
        ((0.7, 0.7 - 0.056), 1),  # its lower edge is 0.057 below
        ((0.7, 0.7 - 0.058), -1),
        ((0.7 + 0.09, 0.7 - 0.055), 1),  # its lower right corner is 0.0988 to the right
        ((0.7 + 0.09, 0.7), -1),
        ((0.3 + 0.073, 0.8), 2),  # the circle's radius is 0.0733
        ((0.3 + 0.053, 0.8 + 0.053), -1),  # 0.075 from the centre
        ((0.5, 0.1), -1),
        ((1.3, -0.2), -1),  # noise may push a click out of the frame
    ],
)
def test_what_a_click_hits(place: tuple[float, float], hit: int) -> None:
    sprites = scene((0.3, 0.3, SQUARE), (0.7, 0.7, TRIANGLE), (0.3, 0.8, CIRCLE))
    assert topmost(sprites, np.array([place])) == hit


def test_the_topmost_of_overlapping_sprites_is_hit() -> None:
    """Three squares, each 0.05 to the right of the one below it."""
    sprites = scene((0.40, 0.5, SQUARE), (0.45, 0.5, SQUARE), (0.50, 0.5, SQUARE))
    hits = {x: int(topmost(sprites, np.array([[x, 0.5]]))[0]) for x in (0.34, 0.37, 0.39, 0.44)}
    assert hits == {0.34: 0, 0.37: 0, 0.39: 1, 0.44: 2}
    sprites.present[0, 2] = False
    assert topmost(sprites, np.array([[0.44, 0.5]])) == 1


def test_a_move_by_hand() -> None:
    """0.25 · (1 - 0.5) to the right and 0.25 · (0.3 - 0.5) up, which is down."""
    episodes = begin(scene((0.3, 0.3, SQUARE), (0.7, 0.7, CIRCLE)), None, length=10)
    result = step(episodes, np.array([[0.33, 0.28, 1.0, 0.3]]))
    np.testing.assert_allclose(
        result.episodes.sprites.positions, [[[0.425, 0.25], [0.7, 0.7]]], rtol=1e-12
    )
    assert (result.moved, result.rewards) == (0, 0)
    assert (episodes.sprites.positions[0, 0] == 0.3).all(), "the episodes before it stay"


def test_nothing_moves_without_a_hit() -> None:
    episodes = begin(scene((0.3, 0.3, SQUARE), (0.7, 0.7, CIRCLE)), None, length=10)
    result = step(episodes, np.array([[0.5, 0.5, 1.0, 1.0]]))
    assert (result.episodes.sprites.positions == episodes.sprites.positions).all()
    assert (result.moved, result.episodes.steps) == (-1, 1)


def test_noise_is_added_to_all_four_numbers() -> None:
    """The click (0.4, 0.3) misses; with its noise it hits, and the move is 0.25 · (0.1, -0.2)."""
    episodes = begin(scene((0.3, 0.3, SQUARE)), None, length=10)
    action, noise = np.array([[0.4, 0.3, 0.5, 0.5]]), np.array([[-0.06, 0.01, 0.1, -0.2]])
    assert step(episodes, action).moved == -1
    result = step(episodes, action, noise)
    assert result.moved == 0
    np.testing.assert_allclose(result.episodes.sprites.positions, [[[0.325, 0.25]]], rtol=1e-12)


def test_centres_stay_in_the_frame() -> None:
    sprites = scene((0.05, 0.95, SQUARE))
    result = step(begin(sprites, None, 10), np.array([[0.05, 0.95, 0.0, 1.0]]))
    assert result.episodes.sprites.positions.tolist() == [[[0.0, 1.0]]]
    result = step(result.episodes, np.array([[0.01, 0.99, 0.5, 0.1]]))
    np.testing.assert_allclose(result.episodes.sprites.positions, [[[0.0, 0.9]]], rtol=1e-12)


def _pairs(first: float, second: float) -> np.ndarray:
    """Positions of two vertical pairs of these widths, at x = 0.2 and x = 0.8."""
    return np.array(
        [
            (0.2, 0.5 - first / 2),
            (0.2, 0.5 + first / 2),
            (0.8, 0.5 - second / 2),
            (0.8, 0.5 + second / 2),
        ]
    )[None]


def test_quality_and_reward_by_hand() -> None:
    """Widths 0.2 and 0.4: index 0.3 / 0.6 = 0.5, quality 2, reward (2 - 2.5) · 5."""
    reached = quality(_pairs(0.2, 0.4), PAIRS)
    assert reached == pytest.approx(2)
    assert reward(reached) == pytest.approx(-2.5)
    assert quality(_pairs(0, 0), PAIRS) == 100, "an index below 0.01 counts as 0.01"
    assert quality(np.full((1, 4, 2), 0.5), PAIRS) == 0, "all in one place are not clustered"


def test_success_at_two_and_a_half_by_hand() -> None:
    """The upper sprite of the wider pair comes down until the mean width is 0.24 or less."""
    start = scene(*((x, y, SQUARE) for x, y in _pairs(0.2, 0.4)[0]))
    near, far = (step(begin(start, PAIRS, 50), _lowered(by)) for by in (0.124, 0.116))
    assert (near.moved, far.moved) == (3, 3)
    # the pair's spread falls to half of its width, and its mean by half of the move
    for result, by in ((near, 0.124), (far, 0.116)):
        index = (0.1 + (0.4 - by) / 2) / np.hypot(0.6, by / 2)
        assert result.rewards == pytest.approx((1 / index - 2.5) * 5)
        assert result.episodes.succeeded == (index <= 0.4) == (result.rewards >= 0)
    assert near.episodes.succeeded != far.episodes.succeeded


def _lowered(by: float) -> np.ndarray:
    return np.array([[0.8, 0.7, 0.5, 0.5 - by / 0.25]])


def test_a_finished_episode_stays_still() -> None:
    """After success, and after the last step: no move, no reward, no count."""
    start = scene(*((x, y, SQUARE) for x, y in _pairs(0.1, 0.1)[0]))
    success = step(begin(start, PAIRS, 50), np.array([[0, 0, 0, 0.0]]))
    assert success.episodes.succeeded and success.episodes.finished and success.rewards > 0
    over = step(begin(scene((0.3, 0.3, SQUARE)), None, 1), np.array([[0, 0, 0, 0.0]]))
    assert over.episodes.finished and not over.episodes.succeeded
    for before, click in ((success.episodes, (0.2, 0.45)), (over.episodes, (0.3, 0.3))):
        after = step(before, np.array([[*click, 1, 1]]))
        assert (after.episodes.sprites.positions == before.sprites.positions).all()
        assert (after.moved, after.rewards, after.episodes.steps) == (-1, 0, 1)


def test_random_numbers() -> None:
    noise = action_noise(np.random.default_rng(0), 20_000)
    assert noise.shape == (20_000, 4)
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=5 * NOISE / 20_000**0.5)
    np.testing.assert_allclose(noise.std(axis=0), 0.05, rtol=0.03)
    actions = random_actions(np.random.default_rng(0), 20_000)
    assert 0 <= actions.min() < 0.001 and 0.999 < actions.max() < 1
    np.testing.assert_allclose(actions.mean(axis=0), 0.5, atol=0.01)


def test_sizes_by_hand() -> None:
    """The square, the circle and the triangle have the area of a square of side 0.13."""
    assert HALF_SIDE == 0.065
    assert pytest.approx(0.0733, abs=5e-5) == RADIUS
