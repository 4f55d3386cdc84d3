"""Noise on the labels of factors.

Holtz et al. 2022, section 4, "A failure mode of supervised methods": a factor is perturbed "either
uniformly if the factor is discrete (e.g. shape) or according to Gaussian noise with mean 0 (size,
orientation, position)". What p is, the paper does not say: here it is the probability that a
categorical factor's value is drawn anew, and the deviation of an ordered one in units of its range.

Conventions:
- A categorical factor has, with probability p, a value drawn uniformly from all its values, so
  that the old one may come again.
- An ordered factor moves by round(N(0, (p · (values - 1))²)) places and stays between its first and
  its last value.
- A periodic factor moves likewise and continues at the other end.
- A continuous factor moves by N(0, (p · range)²) within its range, and its bins by the same draws.
- How many draws are taken does not depend on p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FactorKind = Literal["categorical", "ordered", "periodic"]
Values: TypeAlias = NDArray[np.int64]
Reals: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """The noise of one factor: how many values it has, their kind, and p."""

    size: int
    kind: FactorKind
    p: float


def noisy_values(values: Values, noise: Noise, rng: np.random.Generator) -> Values:
    """Values of one factor, 0 to size - 1, in any shape, each with noise of its own."""
    if noise.kind == "categorical":
        is_new = rng.random(values.shape) < noise.p
        return np.where(is_new, rng.integers(noise.size, size=values.shape), values)
    deviation = noise.p * (noise.size - 1)
    steps = np.rint(deviation * rng.standard_normal(values.shape)).astype(np.int64)
    moved: Values = values + steps
    return moved % noise.size if noise.kind == "periodic" else moved.clip(0, noise.size - 1)


def noisy_reals(
    values: Reals, noise: Noise, low: float, high: float, rng: np.random.Generator
) -> Reals:
    """Values of a continuous factor between `low` and `high`, each with noise of its own; those of
    a periodic factor continue at the other end."""
    span = high - low
    moved: Reals = values + noise.p * span * rng.standard_normal(values.shape)
    if noise.kind == "periodic" and span:
        is_inside = (moved >= low) & (moved <= high)  # these stay as they are, to the last bit
        moved = np.where(is_inside, moved, low + (moved - low) % span)
    return moved.clip(low, high)
