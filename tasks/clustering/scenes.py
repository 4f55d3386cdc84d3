"""The scenes with which episodes begin: four sprites to be clustered by hue, and exploration.

Numbers are those of Spriteworld's configurations for COBRA.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from data.look_alikes.sprites import (
    HUES,
    PLACES,
    SATURATIONS,
    SHAPES,
    VALUES,
    Range,
    Reals,
    Sprites,
)
from tasks.clustering.world import Episodes, begin

BLUE, GREEN, RED, YELLOW = (0.55, 0.65), (0.27, 0.37), (0.9, 1.0), (0.1, 0.2)
TRAIN_HUES: tuple[Range, ...] = (BLUE, GREEN)
TEST_HUES: tuple[Range, ...] = (RED, YELLOW)

PER_CLUSTER = 2
STEPS = 50
EXPLORATION_SPRITES = (1, 6)  # fewest and most
EXPLORATION_STEPS = 10


def clustering(
    rng: np.random.Generator, episodes: int, hues: Sequence[Range] = TRAIN_HUES
) -> Episodes:
    """New episodes with two sprites of each range of hues, in random order."""
    clusters = np.repeat(np.arange(len(hues)), PER_CLUSTER)
    order = rng.permuted(np.tile(clusters, (episodes, 1)), axis=1)
    low, high = np.array(hues)[order].transpose(2, 0, 1)
    drawn = low + (high - low) * rng.random(order.shape)
    return begin(_sprites(rng, drawn, np.ones(order.shape, np.bool_)), order, STEPS)


def exploration(rng: np.random.Generator, episodes: int) -> Episodes:
    """New episodes with one to six sprites of any hue, and no reward."""
    fewest, most = EXPLORATION_SPRITES
    counts = rng.integers(fewest, most, episodes, endpoint=True)
    present = np.arange(most) < counts[:, None]
    drawn = rng.uniform(*HUES, present.shape)
    return begin(_sprites(rng, drawn, present), None, EXPLORATION_STEPS)


def _sprites(rng: np.random.Generator, hues: Reals, present: NDArray[np.bool_]) -> Sprites:
    """Sprites of these hues; all other factors are uniform."""
    return Sprites(
        positions=rng.uniform(*PLACES, (*hues.shape, 2)),
        shapes=rng.integers(len(SHAPES), size=hues.shape),
        hues=hues,
        saturations=rng.uniform(*SATURATIONS, hues.shape),
        values=rng.uniform(*VALUES, hues.shape),
        present=present,
    )
