"""Episodes in which an agent moves sprites by clicks, many at once.

An action is four numbers in [0, 1]: where to click, and how far to move. The topmost sprite that
contains the place moves by a quarter of (number - 0.5) on each axis; its centre stays in the frame.
If no sprite is there, nothing moves. Noise is added to the four numbers first.

An episode ends with success, when its sprites are well clustered after a step, or after its last
step. Later steps leave it as it is, and have reward 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from data.look_alikes.sprites import Reals, Sprites, inside
from tasks.clustering.davies_bouldin import davies_bouldin

ACTION = 4  # numbers
REACH = 0.25  # of a move: at most half of that on each axis, without noise
NOISE = 0.05  # standard deviation
WELL_CLUSTERED = 2.5  # 1 / Davies-Bouldin
SMALLEST_INDEX = 0.01  # an index below that counts as that
REWARD_RANGE = 10


@dataclass(frozen=True, eq=False)
class Episodes:
    """Episodes at some step: arrays are (episodes,) or (episodes, sprites)."""

    sprites: Sprites
    clusters: NDArray[np.int64] | None  # of each sprite; None without a reward and without success
    length: int  # steps after which an episode ends
    steps: NDArray[np.int64]  # that were taken
    succeeded: NDArray[np.bool_]

    @property
    def finished(self) -> NDArray[np.bool_]:
        return np.asarray(self.succeeded | (self.steps >= self.length), np.bool_)


@dataclass(frozen=True, eq=False)
class Step:
    episodes: Episodes  # after it
    rewards: Reals
    moved: NDArray[np.int64]  # which sprite was hit, or -1


def begin(sprites: Sprites, clusters: NDArray[np.int64] | None, length: int) -> Episodes:
    """Episodes before their first step, one per scene."""
    count = len(sprites.shapes)
    return Episodes(sprites, clusters, length, np.zeros(count, np.int64), np.zeros(count, np.bool_))


def random_actions(rng: np.random.Generator, episodes: int) -> Reals:
    """Clicks and moves that do not look at the scene."""
    return rng.random((episodes, ACTION))


def action_noise(rng: np.random.Generator, episodes: int) -> Reals:
    """What is added to the actions of a step: drawn for finished episodes, too, so that the others
    do not depend on them."""
    return rng.normal(0, NOISE, (episodes, ACTION))


def step(episodes: Episodes, actions: Reals, noise: Reals | float = 0.0) -> Step:
    """All unfinished episodes, one step later. `actions` and `noise` are (episodes, 4)."""
    running = ~episodes.finished
    noisy = actions + noise
    moved = np.where(running, topmost(episodes.sprites, noisy[:, :2]), -1)
    which = np.flatnonzero(moved >= 0)
    positions = episodes.sprites.positions.copy()
    target = positions[which, moved[which]] + REACH * (noisy[which, 2:] - 0.5)
    positions[which, moved[which]] = target.clip(0, 1)
    rewards, succeeded = np.zeros(len(running)), episodes.succeeded
    if episodes.clusters is not None:
        reached = quality(positions, episodes.clusters)
        rewards = np.where(running, reward(reached), 0.0)
        succeeded = succeeded | (reached >= WELL_CLUSTERED)
    after = replace(
        episodes,
        sprites=replace(episodes.sprites, positions=positions),
        steps=episodes.steps + running,
        succeeded=succeeded,
    )
    return Step(after, rewards, moved)


def topmost(sprites: Sprites, places: Reals) -> NDArray[np.int64]:
    """The last sprite of each scene that contains its place (scenes, 2), or -1."""
    x, y = np.moveaxis(places[:, None] - sprites.positions, -1, 0)
    hit = inside(sprites.shapes, x, y) & sprites.present
    last = hit.shape[1] - 1 - hit[:, ::-1].argmax(axis=1)
    return np.where(hit.any(axis=1), last, -1)


def quality(positions: Reals, clusters: NDArray[np.int64]) -> Reals:
    """How well each scene is clustered: 1 / Davies-Bouldin, at most 100."""
    index: Reals = 1 / np.maximum(SMALLEST_INDEX, davies_bouldin(positions, clusters))
    return index


def reward(reached: Reals) -> Reals:
    """Of a step that reached this quality: 0 or more is success."""
    return (reached - WELL_CLUSTERED) * REWARD_RANGE / 2
