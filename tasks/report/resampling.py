"""Medians over resampled comparisons, for all models at once.

Duan et al. 2020, appendix A.5: sets of P partners without replacement. Partners are drawn for each
model by itself; a larger P adds partners to those of a smaller one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from infra.store import Store
from tasks.compare import put_pairs
from tasks.study.pair_parts import CUT, SEPARATOR, cells_of

Scores = NDArray[np.float64]


def pair_matrix(
    store: Store,
    models: pd.DataFrame,
    similarity: str,
    is_needed: Callable[[tuple[str, ...]], bool] = lambda cells: True,
) -> Scores:
    """UDR of (regressor, target), at the models' places; NaN where not compared.

    Only parts are read that are needed, by the cells that their names have.
    """
    place = {str(model_id): index for index, model_id in enumerate(models["model_id"])}
    both = np.full((2, len(place), len(place)), np.nan)
    prefix = f"{similarity}{SEPARATOR}{models['data'].iloc[0]}-"
    columns = ["model_id", "regressor_id", "udr", "udr_eq2"]
    for part in store.parts("pairs"):
        cells = cells_of(part)
        if part.startswith(prefix[:CUT]) and (cells is None or is_needed(cells)):
            put_pairs(store.read("pairs", columns, [part]), place, both)
    udr: Scores = both[0]
    return udr


def packed(compared: Scores) -> Scores:
    """The numbers of each row, in their order, then NaN: as wide as the row with the most.

    A pool compares a model with few of its data set, and what follows costs by the width.
    """
    there = np.isfinite(compared)
    width = max(1, int(there.sum(axis=1).max(initial=0)))
    first = np.argsort(~there, axis=1, kind="stable")[:, :width]
    numbers: Scores = np.take_along_axis(compared, first, axis=1)
    return numbers


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
    of_rows: Scores = np.take_along_axis(ordered, middle, axis=1).mean(axis=1)
    return np.where(dead, 0.0, of_rows)
