"""Rank correlations and choices where units count as often as they were drawn.

Rows of `weights` (draws, units) are draws; `values` are (draws, units), or (1, units) if they are
the same in all draws. A unit of weight 0 is not there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Scores = NDArray[np.float64]


def weighted_ranks(values: Scores, weights: Scores) -> Scores:
    """(draws, units): mean ranks, as if each unit were repeated by its weight."""
    if len(values) > 1:  # of cells, all of which are there once
        ranked: Scores = rankdata(values, axis=1)
        return ranked
    _, place = np.unique(values[0], return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    of_values = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks: Scores = (of_values.cumsum(axis=1) - of_values / 2 + 0.5)[:, place]
    return ranks


def unit_ranks(values: Scores, weights: Scores) -> Scores:
    """Ranks whose weighted mean is 0 and whose weighted squares sum to 1; NaN: all are equal."""
    ranks = weighted_ranks(values, weights)
    total = weights.sum(axis=1, keepdims=True)
    ranks = ranks - (ranks * weights).sum(axis=1, keepdims=True) / total
    length = np.sqrt((ranks**2 * weights).sum(axis=1, keepdims=True))
    result: Scores = np.divide(
        ranks, length, out=np.full_like(ranks, np.nan), where=length > 1e-9 * total
    )
    return result


def choices(values: Scores, weights: Scores) -> Scores:
    """(draws, units): the share of each unit in the choice of the highest value. Units that share
    it are drawn from; NaN: all are equal, which is no choice."""
    there = weights > 0
    highest = np.where(there, values, -np.inf).max(axis=1, keepdims=True)
    lowest = np.where(there, values, np.inf).min(axis=1, keepdims=True)
    best = there & (values == highest)
    shares = best / best.sum(axis=1, keepdims=True)
    return np.where(highest > lowest, shares, np.nan)


def places(chosen: Scores, values: Scores, weights: Scores) -> Scores:
    """(draws,): where the value of a choice is between the worst, 0, and the best, 1."""
    there = weights > 0
    best = np.where(there, values, -np.inf).max(axis=1)
    worst = np.where(there, values, np.inf).min(axis=1)
    of_choice = (chosen * values).sum(axis=1)
    result: Scores = np.divide(
        of_choice - worst, best - worst, out=np.full(len(best), np.nan), where=best > worst
    )
    return result
