"""Arrays as metrics take them: what they may hold, and one line that says what is wrong."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes: TypeAlias = NDArray[np.floating[Any]]
Factors: TypeAlias = NDArray[np.int64]

LARGEST = 1e150  # squares of larger numbers overflow


class BadArray(ValueError):
    """An argument that a metric does not take: its name, what it holds, and what is accepted."""

    def __init__(self, field: str, found: str, accepted: str) -> None:
        super().__init__(field, found, accepted)  # by which errors travel between processes
        self.field, self.found, self.accepted = field, found, accepted

    def __str__(self) -> str:
        return f"{self.field}: found {self.found}; accepted: {self.accepted}"


def numbers(name: str, array: ArrayLike, axes: tuple[str, ...]) -> Codes:
    """`array` as floats with one dimension per name in `axes`, none empty, all finite."""
    checked = shaped(name, array, axes)
    if checked.dtype.kind not in "fiub":
        raise BadArray(name, str(checked.dtype), "real numbers")
    if checked.dtype not in (np.float32, np.float64):
        with np.errstate(all="ignore"):  # what is not finite then is refused below
            checked = checked.astype(np.float64)
    if not float(np.maximum(checked.max(), -checked.min())) < LARGEST:  # nan stays nan
        where = np.argwhere(~(np.abs(checked.astype(np.float64)) < LARGEST))[0]
        place = ", ".join(f"{axis} {index}" for axis, index in zip(axes, where, strict=True))
        accepted = f"finite numbers below {LARGEST:g} in size"
        raise BadArray(name, f"{checked[tuple(where)]} in {place}", accepted)
    return checked


def shaped(name: str, array: ArrayLike, axes: tuple[str, ...]) -> NDArray[Any]:
    """`array` as it is, if it has one dimension per name in `axes`, none empty."""
    checked = np.asarray(array)
    if checked.ndim != len(axes) or 0 in checked.shape:
        raise BadArray(name, f"shape {checked.shape}", _shape(axes))
    return checked


def _shape(axes: tuple[str, ...]) -> str:
    return f"({', '.join(axis + 's' for axis in axes)}), none of them 0"


def whole_numbers(name: str, array: ArrayLike, axes: tuple[str, ...]) -> Factors:
    """`array` as integers with one dimension per name in `axes`, none empty."""
    checked = shaped(name, array, axes)
    if checked.dtype.kind not in "iub":
        raise BadArray(
            name,
            str(checked.dtype),
            "integers (number the values of a column with np.unique(column, return_inverse=True)"
            "[1], or bin them with np.digitize)",
        )
    return checked.astype(np.int64)


def real_targets(name: str, targets: ArrayLike, rows: int) -> NDArray[np.float64]:
    """Factors as real numbers, for metrics that predict them: one row per row of the codes."""
    checked = numbers(name, targets, ("row", "factor")).astype(np.float64)
    if len(checked) != rows:
        raise BadArray(name, f"{len(checked)} row{'s' * (len(checked) != 1)}", f"{rows}, as codes")
    return checked


def check(codes: ArrayLike, factors: ArrayLike) -> tuple[Codes, Factors]:
    """Codes and factors of the same points, or a ValueError that says what is wrong.

    float32 and float64 codes keep their type, other real numbers become float64.
    """
    codes = numbers("codes", codes, ("row", "column"))
    factors = whole_numbers("factors", factors, ("row", "factor"))
    if len(codes) != len(factors):
        raise BadArray("factors", f"{len(factors)} rows", f"{len(codes)}, as codes")
    return codes, factors


def blocks(count: int, size: int = 256) -> Iterator[slice]:
    """So many rows, some at a time."""
    return (slice(first, first + size) for first in range(0, count, size))
