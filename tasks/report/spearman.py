"""Spearman's rank correlation, and when there are too few models for one.

Conventions: ties share their mean rank; a model without one of the two numbers is left out; where
all values are equal there is no correlation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from tasks.words import number

ENOUGH = 5  # with fewer models a rank correlation is chance
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Agreement:
    """The rank correlation of two scores over n models; None where it has no meaning."""

    rho: float | None
    n: int

    @property
    def reason(self) -> str:
        """Why there is no correlation."""
        if self.n < ENOUGH:
            return f"n = {self.n}: too few for a rank correlation"
        return f"no rank correlation: all values are equal (n = {self.n:,})"

    def __str__(self) -> str:
        return self.reason if self.rho is None else f"ρ = {number(self.rho, 2)}, n = {self.n:,}"


def spearman(one: pd.Series[float], other: pd.Series[float]) -> Agreement:
    """Over the models that have both scores."""
    n = int((one.notna() & other.notna()).sum())
    rho = rank_correlations(_rows([one]), _rows([other]))[0, 0]
    return Agreement(float(rho) if np.isfinite(rho) else None, n)


def correlation_matrix(scores: pd.DataFrame) -> tuple[Scores, NDArray[np.int64]]:
    """Of every column with every column: correlations, and the models that have both."""
    rows = _rows([scores[name] for name in scores])
    rho = np.full((len(rows), len(rows)), np.nan)
    for place in range(len(rows)):
        rho[place] = rank_correlations(rows[place : place + 1], rows)
    there = np.isfinite(rows).astype(np.int64)
    return rho, there @ there.T


def rank_correlations(some: Scores, others: Scores) -> Scores:
    """Of each row of some (a, models) with each row of others (b, models), as (a, b).

    A model without a number in any row of `some` is left out of all. NaN is no correlation.
    """
    complete: NDArray[np.bool_] = np.all(np.isfinite(some), axis=0)
    there: NDArray[np.bool_] = np.isfinite(others) & complete
    rho = np.full((len(some), len(others)), np.nan)
    rows_of: dict[bytes, list[int]] = {}  # rows that share their models are done together
    for place, models in enumerate(np.packbits(there, axis=1)):
        rows_of.setdefault(models.tobytes(), []).append(place)
    for same in rows_of.values():
        models = there[same[0]]
        if models.sum() >= ENOUGH:
            rho[:, same] = _unit_ranks(some[:, models]) @ _unit_ranks(others[same][:, models]).T
    return rho


def row_correlations(some: Scores, others: Scores) -> Scores:
    """Of each row of some with the same row of others, all of them numbers. NaN: all are equal."""
    rho: Scores = (_unit_ranks(some) * _unit_ranks(others)).sum(axis=1)
    return rho


def _unit_ranks(rows: Scores) -> Scores:
    """Mean ranks of each row, centred, of length 1; NaN where all are equal."""
    ranks = rankdata(rows, axis=1) - (rows.shape[1] + 1) / 2
    length = np.sqrt((ranks**2).sum(axis=1, keepdims=True))
    unit: Scores = np.divide(ranks, length, out=np.full_like(ranks, np.nan), where=length > 0)
    return unit


def _rows(columns: Sequence[pd.Series[float]]) -> Scores:
    rows: Scores = np.stack([column.to_numpy(dtype=float) for column in columns])
    return rows
