"""Codes of sprites that are made from their factors, without a network."""

from __future__ import annotations

import numpy as np

from data.look_alikes.sprites import HUES, PLACES, SATURATIONS, SHAPES, VALUES, Reals

RANGES = np.array([PLACES, PLACES, (0, len(SHAPES) - 1), HUES, SATURATIONS, VALUES]).T


def factors_as_codes(factors: Reals) -> Reals:
    """Each factor is a latent, with mean 0 and variance 1 where it is uniform."""
    low, high = RANGES
    codes: Reals = (factors - (low + high) / 2) / ((high - low) / np.sqrt(12))
    return codes
