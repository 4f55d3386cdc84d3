"""Continuous factors: which columns are, and their bins for whatever needs classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infra.errors import WrongInput

CONTINUOUS, DISCRETE = KINDS = ("continuous", "discrete")
BINS = 10  # of equal width; Carbonneau et al. 2022, section 5.2
FEW = 20  # values: a column of at most so many is discrete


def is_continuous(column: NDArray[Any]) -> bool:
    """A guess: real numbers, not all whole, of which most rows have one of their own."""
    if column.dtype.kind != "f" or (column == np.rint(column)).all():
        return False
    values = len(np.unique(column))
    return values > FEW and 2 * values > len(column)


def are_continuous(
    field: str, columns: Sequence[NDArray[Any]], kinds: Sequence[str] | None
) -> list[bool]:
    """Whether each column is continuous: as the file's kinds say, else by a guess."""
    if kinds is None:
        return [is_continuous(column) for column in columns]
    if len(kinds) != len(columns):
        counts = f"{len(kinds)} kinds for {len(columns)} factors"
        raise WrongInput(field, counts, "one kind for each factor")
    for kind, column in zip(kinds, columns, strict=True):
        if kind not in KINDS:
            raise WrongInput(field, kind, " or ".join(KINDS))
        if kind == CONTINUOUS and column.dtype.kind not in "iuf":
            raise WrongInput(field, f"{kind} for a column of {column.dtype}", DISCRETE)
    return [kind == CONTINUOUS for kind in kinds]


def equal_bins(column: NDArray[Any], bins: int = BINS) -> NDArray[np.int64]:
    """Each row's bin, 0 to bins - 1, of equal width over the column's range; the last bin also
    holds the largest value."""
    edges = np.linspace(column.min(), column.max(), bins + 1)
    return np.asarray(np.searchsorted(edges[:-1], column, side="right") - 1, np.int64)
