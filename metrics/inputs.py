"""What metrics read and what they return, checked in one place."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes: TypeAlias = NDArray[np.floating[Any]]
Factors: TypeAlias = NDArray[np.int64]

LARGEST = 1e150  # squares of larger numbers overflow


@dataclass(frozen=True)
class Score:
    """One number of a metric; its headline has part "score" and no factor."""

    part: str
    value: float
    factor: int | None = None


@dataclass(frozen=True)
class Groups:
    """Groups of points that share the value of one factor; `factor` tells which."""

    codes: Codes  # (groups, size, latents)
    factor: Factors  # (groups,)


@dataclass(frozen=True)
class Inputs:
    """All that metrics may read of one model. What no chosen metric needs may stay None.

    A metric's NEEDS names "table" (codes, factors), "test_table" (test_codes, test_factors) and
    "groups" (train_groups, test_groups).
    """

    codes: Codes  # (points, latents)
    factors: Factors  # (points, factors)
    train_groups: Groups | None = None
    test_groups: Groups | None = None
    test_codes: Codes | None = None
    test_factors: Factors | None = None

    def groups(self) -> tuple[Groups, Groups]:
        """The training and the test groups, for metrics that need "groups"."""
        if self.train_groups is None or self.test_groups is None:
            raise ValueError("inputs: train_groups or test_groups is None; two Groups are accepted")
        return self.train_groups, self.test_groups

    def test_table(self) -> tuple[Codes, Factors]:
        """The test rows, for metrics that need "test_table"."""
        if self.test_codes is None or self.test_factors is None:
            raise ValueError("inputs: test_codes or test_factors is None; two arrays are accepted")
        return self.test_codes, self.test_factors


def numbers(name: str, array: ArrayLike, axes: tuple[str, ...]) -> Codes:
    """`array` as floats with one dimension per name in `axes`, none empty, all finite."""
    found = np.asarray(array)
    if found.ndim != len(axes) or 0 in found.shape:
        raise ValueError(f"{name}: found shape {found.shape}; {_shape(axes)} is accepted")
    if found.dtype.kind not in "fiub":
        raise ValueError(f"{name}: found {found.dtype}; real numbers are accepted")
    if found.dtype not in (np.float32, np.float64):
        found = found.astype(np.float64)
    if not float(np.abs(found).max()) < LARGEST:
        where = np.argwhere(~(np.abs(found.astype(np.float64)) < LARGEST))[0]
        place = ", ".join(f"{axis} {index}" for axis, index in zip(axes, where, strict=True))
        raise ValueError(
            f"{name}: {place} holds {found[tuple(where)]}; "
            f"finite numbers below {LARGEST:g} in size are accepted"
        )
    return found


def _shape(axes: tuple[str, ...]) -> str:
    return f"({', '.join(axis + 's' for axis in axes)}), none of them 0,"


def whole_numbers(name: str, array: ArrayLike, axes: tuple[str, ...]) -> Factors:
    """`array` as integers with one dimension per name in `axes`, none empty."""
    found = np.asarray(array)
    if found.ndim != len(axes) or 0 in found.shape:
        raise ValueError(f"{name}: found shape {found.shape}; {_shape(axes)} is accepted")
    if found.dtype.kind not in "iub":
        raise ValueError(
            f"{name}: found {found.dtype}; integers are accepted (number the values of a column "
            "with np.unique(column, return_inverse=True)[1], or bin them with np.digitize)"
        )
    return found.astype(np.int64)


def check(codes: ArrayLike, factors: ArrayLike) -> tuple[Codes, Factors]:
    """Codes and factors of the same points, or a ValueError that says what is wrong.

    float32 and float64 codes keep their type, other real numbers become float64.
    """
    codes = numbers("codes", codes, ("row", "column"))
    factors = whole_numbers("factors", factors, ("row", "factor"))
    if len(codes) != len(factors):
        raise ValueError(f"factors: found {len(factors)} rows; {len(codes)}, as codes, is accepted")
    return codes, factors


def check_groups(name: str, groups: Groups, latents: int) -> Groups:
    """Groups of at least two points in `latents` latents, or a ValueError."""
    codes = numbers(f"{name}.codes", groups.codes, ("group", "point", "latent"))
    factor = whole_numbers(f"{name}.factor", groups.factor, ("group",))
    if codes.shape[1] < 2 or codes.shape[2] != latents or len(codes) != len(factor):
        raise ValueError(
            f"{name}.codes: found shape {codes.shape}; "
            f"({len(factor)}, 2 or more, {latents}) is accepted"
        )
    if factor.min() < 0:
        raise ValueError(f"{name}.factor: found {factor.min()}; indices from 0 are accepted")
    return Groups(codes, factor)


def table_groups(
    codes: ArrayLike, factors: ArrayLike, count: int, size: int, rng: np.random.Generator
) -> Groups:
    """Draw groups from a table: a factor, a row, then rows that share its value of that factor.

    All three are drawn uniformly and with replacement, so a value comes up as often as in the
    table, and a value that only one row has gives a group of equal points.
    """
    codes, factors = check(codes, factors)
    points, columns = factors.shape
    by_value = np.argsort(factors, axis=0, kind="stable")  # rows with equal values stand together
    first, many = np.empty_like(factors), np.empty_like(factors)  # where a row's equals stand
    for column in range(columns):
        _, value, rows = np.unique(factors[:, column], return_inverse=True, return_counts=True)
        first[:, column] = (np.cumsum(rows) - rows)[value]
        many[:, column] = rows[value]
    factor = rng.integers(columns, size=count)
    row = rng.integers(points, size=count)
    offset = rng.integers(many[row, factor][:, None], size=(count, size))
    chosen = by_value[first[row, factor][:, None] + offset, factor[:, None]]
    return Groups(codes[chosen], factor)
