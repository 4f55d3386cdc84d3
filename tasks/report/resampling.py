"""Medians over resampled comparisons, and their rank correlations, for all models at once.

Duan et al. 2020, appendix A.5: sets of P partners without replacement. Partners are drawn for each
model by itself; a larger P adds partners to those of a smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.report.agreement import ENOUGH

Scores = NDArray[np.float64]


def fewer(
    compared: Scores, dead: NDArray[np.bool_], p: Sequence[int], draws: np.random.Generator
) -> Scores:
    """(P, models): every model's median over its first P partners in a random order of them.

    A model with fewer partners takes all of them, as in a ranking.
    """
    order = draws.random(compared.shape)
    order[np.isnan(compared)] = np.inf
    most = min(max(p), compared.shape[1])
    first = np.argpartition(order, most - 1, axis=1)[:, :most]
    in_order = np.argsort(np.take_along_axis(order, first, axis=1), axis=1)
    first = np.take_along_axis(first, in_order, axis=1)
    drawn = np.take_along_axis(compared, first, axis=1)
    return np.stack([medians(drawn[:, :count], dead) for count in p])


def medians(values: Scores, dead: NDArray[np.bool_]) -> Scores:
    """Over the numbers of each row; 0 for a collapsed model, NaN where there is no number."""
    ordered = np.sort(values, axis=1)  # NaN last
    count = np.isfinite(values).sum(axis=1)
    middle = np.stack([np.maximum(count - 1, 0) // 2, count // 2], axis=1)
    middle = np.minimum(middle, values.shape[1] - 1)
    found: Scores = np.take_along_axis(ordered, middle, axis=1).mean(axis=1)
    return np.where(dead, 0.0, found)


def rank_correlations(one: Scores, other: Scores) -> Scores:
    """Spearman's, (rankings, metrics), of one (rankings, models) with the other (models, metrics).

    A model without a number in a metric, or in any ranking, is left out there; NaN with too few
    models or where all values are equal.
    """
    ranked: NDArray[np.bool_] = np.all(np.isfinite(one), axis=0)
    found = np.full((len(one), other.shape[1]), np.nan)
    there: NDArray[np.bool_] = np.isfinite(np.where(ranked[:, None], other, np.nan))
    for kept in np.unique(there.T, axis=0):  # metrics that share their models are done together
        if kept.sum() >= ENOUGH:
            same = np.flatnonzero((there == kept[:, None]).all(axis=0))
            found[:, same] = _unit_ranks(one[:, kept]) @ _unit_ranks(other[kept][:, same].T).T
    return found


def _unit_ranks(rows: Scores) -> Scores:
    """Mean ranks of each row, centred, of length 1; NaN where all are equal."""
    ranks = pd.DataFrame(rows.T).rank().to_numpy().T  # by column, where pandas is quick
    ranks = ranks - (rows.shape[1] + 1) / 2
    length = np.sqrt((ranks**2).sum(axis=1, keepdims=True))
    unit: Scores = np.divide(ranks, length, out=np.full_like(ranks, np.nan), where=length > 0)
    return unit
