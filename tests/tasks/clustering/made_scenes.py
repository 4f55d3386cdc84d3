"""Scenes with planted positions, and a policy that knows them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from data.look_alikes.sprites import Reals, Sprites
from tasks.clustering.world import REACH, Episodes, topmost


def scene(*sprites: tuple[float, float, int]) -> Sprites:
    """One scene of sprites (x, y, shape), all bright red."""
    x, y, shapes = np.array(sprites).T
    ones = np.ones((1, len(sprites)))
    return Sprites(
        positions=np.stack([x, y], axis=-1)[None],
        shapes=shapes.astype(np.int64)[None],
        hues=0 * ones,
        saturations=ones,
        values=ones,
        present=ones.astype(np.bool_),
    )


OFFSETS = 0.05 * np.array([(0, 0), (1, -1), (-1, -1), (0, 1), (1, 0), (-1, 0), (0, -1)])


def oracle(episodes: Episodes) -> Reals:
    """Actions that bring sprites to the centre of their cluster, and two clusters apart.

    Clicks are on the sprite that is farthest from where it should be, in its middle or, where
    another sprite covers that, nearer to its edge.
    """
    assert episodes.clusters is not None
    positions = episodes.sprites.positions
    missing = _goals(positions, episodes.clusters) - positions
    distances = np.linalg.norm(missing, axis=2)
    clicks = positions.copy()
    for sprite in range(positions.shape[1]):
        places = positions[:, sprite] + OFFSETS[:, None]
        hits = np.array([topmost(episodes.sprites, at) == sprite for at in places])
        distances[~hits.any(axis=0), sprite] = -1
        clicks[:, sprite] = places[hits.argmax(axis=0), np.arange(len(positions))]
    farthest = distances.argmax(axis=1)
    rows = np.arange(len(positions))
    moves = (missing[rows, farthest] / REACH + 0.5).clip(0, 1)
    return np.concatenate([clicks[rows, farthest], moves], axis=1)


def _goals(positions: Reals, clusters: NDArray[np.int64]) -> Reals:
    """The centre of each sprite's cluster; if both are nearer than 0.4, they move to that."""
    of_second = clusters == 1
    weights = np.stack([~of_second, of_second], axis=1) / 2
    centres = weights @ positions
    between = centres[:, 1] - centres[:, 0]
    apart = np.linalg.norm(between, axis=1, keepdims=True)
    middle = centres.mean(axis=1).clip(0.25, 0.75)
    half = between / apart * np.maximum(apart, 0.4) / 2
    targets = np.stack([middle - half, middle + half], axis=1).clip(0.05, 0.95)
    return np.take_along_axis(targets, clusters[:, :, None], axis=1)
