"""Spearman's rank correlation, and when there are too few models to speak of one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.words import number

ENOUGH = 5  # with fewer models a rank correlation is chance


@dataclass(frozen=True)
class Agreement:
    """The rank correlation of two scores over n models; None where it has no meaning."""

    rho: float | None
    n: int

    def __str__(self) -> str:
        if self.n < ENOUGH:
            return f"n = {self.n}: too few for a rank correlation"
        if self.rho is None:
            return f"no rank correlation: all values are equal (n = {self.n:,})"
        return f"ρ = {number(self.rho, 2)}, n = {self.n:,}"


def spearman(one: pd.Series[float], other: pd.Series[float]) -> Agreement:
    """Over the models that have both scores; ties share their mean rank."""
    both = one.notna() & other.notna()
    n = int(both.sum())
    if n < ENOUGH:
        return Agreement(None, n)
    first, second = (values[both].rank().to_numpy(dtype=float) for values in (one, other))
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return Agreement(None, n)
    return Agreement(float(np.corrcoef(first, second)[0, 1]), n)
