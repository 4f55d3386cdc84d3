"""What metrics read and what they return, checked in one place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.arrays import Codes, Factors, check, numbers, whole_numbers

Kind = TypeVar("Kind")

BINS = 20  # Locatello et al. 2019, appendix C


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
class Pairs:
    """Sets of pairs of points: both of a pair share the value of one factor, which `factor` tells.

    The value may differ from pair to pair.
    """

    first: Codes  # (sets, pairs, latents)
    second: Codes  # (sets, pairs, latents)
    factor: Factors  # (sets,)


@dataclass(frozen=True)
class Inputs:
    """All that metrics may read of one model. What no chosen metric needs may stay None.

    A metric's NEEDS names "table" (codes, factors), "test_table" (test_codes, test_factors),
    "groups" (train_groups, test_groups: points that share one factor's value), "pairs"
    (train_pairs, test_pairs) and "variations" (train_variations, test_variations: groups of points
    that share the values of all factors but the one that `factor` tells).
    """

    codes: Codes  # (points, latents)
    factors: Factors  # (points, factors)
    train_groups: Groups | None = None
    test_groups: Groups | None = None
    test_codes: Codes | None = None
    test_factors: Factors | None = None
    train_pairs: Pairs | None = None
    test_pairs: Pairs | None = None
    train_variations: Groups | None = None
    test_variations: Groups | None = None
    impossible: Mapping[str, str] = field(default_factory=dict)  # a kind of groups, and why

    def groups(self) -> tuple[Groups, Groups]:
        """The training and the test groups, for metrics that need "groups"."""
        return self._both("groups", self.train_groups, self.test_groups)

    def pairs(self) -> tuple[Pairs, Pairs]:
        """The training and the test pairs, for metrics that need "pairs"."""
        return self._both("pairs", self.train_pairs, self.test_pairs)

    def variations(self) -> tuple[Groups, Groups]:
        """The training and the test variations, for metrics that need "variations"."""
        return self._both("variations", self.train_variations, self.test_variations)

    def _both(self, kind: str, train: Kind | None, test: Kind | None) -> tuple[Kind, Kind]:
        if train is None or test is None:
            needed = f"inputs: train_{kind} or test_{kind} is None; both are accepted"
            raise ValueError(self.impossible.get(kind, needed))
        return train, test

    def test_table(self) -> tuple[Codes, Factors]:
        """The test rows, for metrics that need "test_table"."""
        if self.test_codes is None or self.test_factors is None:
            raise ValueError("inputs: test_codes or test_factors is None; two arrays are accepted")
        return self.test_codes, self.test_factors

    @cached_property
    def labels(self) -> Factors:
        """Every latent's bin of 20 equal ones over its range: computed once for all metrics."""
        from metrics.information import discretise  # scipy, which a list of metrics does not need

        codes, _ = check(self.codes, self.factors)
        return discretise(codes, BINS)

    @cached_property
    def information(self) -> NDArray[np.float64]:
        """Mutual information of every latent's bin with every factor: (latents, factors), nats."""
        from metrics.information import mutual_information

        return mutual_information(self.labels, check(self.codes, self.factors)[1])


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


def table_pairs(
    codes: ArrayLike, factors: ArrayLike, count: int, size: int, rng: np.random.Generator
) -> Pairs:
    """Draw sets of pairs from a table: a factor per set, a row per pair, and one that shares its
    value of that factor; all uniformly and with replacement."""
    codes, factors = check(codes, factors)
    factor = rng.integers(factors.shape[1], size=count)
    row = rng.integers(len(factors), size=(count, size))
    other = _equal_rows(factors, row, factor[:, None], 1, rng)[..., 0]
    return Pairs(codes[row], codes[other], factor)


def table_variations(
    codes: ArrayLike, factors: ArrayLike, count: int, size: int, rng: np.random.Generator
) -> Groups:
    """Draw groups in which one factor varies: a factor, a row, then rows that share its values of
    all other factors; all uniformly, among the rows to which there is one that differs in that
    factor alone. A factor for which there are none is an error, unless it has one value."""
    codes, factors = check(codes, factors)
    columns = factors.shape[1]
    others = np.stack(
        [
            np.unique(np.delete(factors, column, axis=1), axis=0, return_inverse=True)[1].ravel()
            for column in range(columns)
        ],
        axis=1,
    )
    factor = rng.integers(columns, size=count)
    row = np.empty(count, np.int64)
    for column in range(columns):
        here = factor == column
        row[here] = rng.choice(_varying(others[:, column], factors, column), size=here.sum())
    return Groups(codes[_equal_rows(others, row, factor, size, rng)], factor)


def _varying(others: Factors, factors: Factors, column: int) -> NDArray[np.intp]:
    """The rows that have the other factors in common with a row of another value."""
    values = np.unique(factors[:, column], return_inverse=True)[1]
    if values.max() == 0:
        return np.arange(len(factors))
    seen = np.unique(np.stack([others, values], axis=1), axis=0)
    rows = np.flatnonzero(np.bincount(seen[:, 0])[others] > 1)
    if not len(rows):
        raise ValueError(
            f"factors: no two rows differ in factor {column} alone; a table with such rows is "
            "accepted where one factor is to vary"
        )
    return rows


def table_groups(
    codes: ArrayLike, factors: ArrayLike, count: int, size: int, rng: np.random.Generator
) -> Groups:
    """Draw groups from a table: a factor, a row, then rows that share its value of that factor.

    All three are drawn uniformly and with replacement, so a value comes up as often as in the
    table, and a value that only one row has gives a group of equal points.
    """
    codes, factors = check(codes, factors)
    factor = rng.integers(factors.shape[1], size=count)
    row = rng.integers(len(factors), size=count)
    return Groups(codes[_equal_rows(factors, row, factor, size, rng)], factor)


def _equal_rows(
    values: Factors, row: Factors, column: Factors, size: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """For every row and column, `size` random rows with the same value in that column."""
    by_value = np.argsort(values, axis=0, kind="stable")  # rows with equal values stand together
    first, many = np.empty_like(values), np.empty_like(values)  # where a row's equals stand
    for place in range(values.shape[1]):
        _, value, rows = np.unique(values[:, place], return_inverse=True, return_counts=True)
        first[:, place] = (np.cumsum(rows) - rows)[value]
        many[:, place] = rows[value]
    row, column = np.broadcast_arrays(row, column)
    offset = rng.integers(many[row, column][..., None], size=(*row.shape, size))
    chosen: NDArray[np.intp] = by_value[first[row, column][..., None] + offset, column[..., None]]
    return chosen
