"""Parts of a score's variance, over all models of a data set: between methods, between cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.report import intervals
from tasks.report.intervals import Scores


def shares(tables: Scores, of_method: NDArray[np.int64], correct: bool = True) -> Scores:
    """(count, 2) of (count, cells, seeds): the parts between methods and between cells.

    Means of n seeds differ by the seeds' variance / n even where all cells are equal; `correct`
    takes that off. A part is never below 0.
    """
    there = np.isfinite(tables[0])
    n = there.sum(axis=1)
    filled = np.where(there, tables, 0.0)
    means = filled.sum(axis=2) / n
    residual = (np.where(there, tables - means[..., None], 0.0) ** 2).sum(axis=(1, 2))
    within = residual / max(int((n - 1).sum()), 1)
    weight = n / n.sum()
    methods = np.eye(of_method.max() + 1)[:, of_method] * weight  # (methods, cells)
    of_methods = methods.sum(axis=1)
    means_of_methods = means @ methods.T / of_methods
    grand = means @ weight
    between_methods = ((means_of_methods - grand[:, None]) ** 2) @ of_methods
    between_cells = ((means - grand[:, None]) ** 2) @ weight
    if correct:
        models = n.sum()
        between_methods = between_methods - within * (len(of_methods) - 1) / models
        between_cells = between_cells - within * (len(n) - 1) / models
    total = between_cells + within
    with np.errstate(invalid="ignore", divide="ignore"):
        both = np.stack([between_methods, between_cells], axis=1) / total[:, None]
    parts: Scores = np.clip(both, 0.0, 1.0)
    return parts


def moved(
    table: Scores,
    of_method: NDArray[np.int64],
    draws: np.random.Generator,
    count: int = intervals.DRAWS,
) -> Scores:
    """(count, 2): how far the parts move from what they are of, when seeds are drawn anew."""
    n = np.isfinite(table).sum(axis=1, keepdims=True)
    mean = np.nanmean(table, axis=1, keepdims=True)
    spread = np.sqrt(n / np.maximum(n - 1, 1))  # seeds drawn with replacement differ by less
    drawn = intervals.redrawn(mean + (table - mean) * spread, draws, count)
    distances: Scores = shares(drawn, of_method) - shares(table[None], of_method, correct=False)[0]
    return distances


def variance_explained(models: pd.DataFrame, score: str, by: Sequence[str]) -> float | None:
    """R² of least squares on the categories; None where there is nothing to explain."""
    values = models.dropna(subset=[score])
    total = float(((values[score] - values[score].mean()) ** 2).sum())
    categories = values.groupby(list(by))[score]
    if categories.ngroups < 2 or categories.ngroups == len(values) or total == 0:
        return None
    unexplained = float(((values[score] - categories.transform("mean")) ** 2).sum())
    return 1 - unexplained / total
