"""Kendall's τ-b: how often two scores order two models alike, more often than otherwise.

Over all pairs of models, the signs of the differences of one score times those of the other,
divided by the root of the numbers of pairs that differ in each: a cosine of two vectors of signs.
Pairs that are equal in one score count in the other's number only (τ-b). NaN: all values are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


def tau_matrix(scores: Scores) -> Scores:
    """Of every row (scores, models) with every row, over the models that have both numbers."""
    return tau_between(scores, scores)


def tau_between(some: Scores, others: Scores) -> Scores:
    """Of each row of some (a, models) with each row of others (b, models), as (a, b)."""
    signs, known = _signs(some)
    other_signs, other_known = _signs(others)
    agree = signs @ other_signs.T
    differ = (signs**2) @ other_known.T, known @ (other_signs**2).T
    length = np.sqrt(differ[0] * differ[1])
    tau: Scores = np.divide(agree, length, out=np.full_like(agree, np.nan), where=length > 0)
    return tau


def _signs(scores: Scores) -> tuple[Scores, Scores]:
    """For each pair of models the sign of their difference, and whether both have a number."""
    first, second = np.triu_indices(scores.shape[1], 1)
    with np.errstate(invalid="ignore"):
        difference = scores[:, first] - scores[:, second]
    known = np.isfinite(difference)
    return np.sign(np.where(known, difference, 0.0)), known.astype(float)
