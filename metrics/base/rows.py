"""Groups, pairs, variations and interventions drawn from a table: no model, no pictures."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import Codes, Factors, check
from metrics.base.inputs import Groups, Pairs


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
    others = np.stack([_others(factors, column) for column in range(columns)], axis=1)
    factor = rng.integers(columns, size=count)
    row = np.empty(count, np.int64)
    for column in range(columns):
        here = factor == column
        values = _numbered(factors[:, column])
        rows = _rows_reaching(others[:, column], values, least=min(2, values.max() + 1))
        if not len(rows):
            raise ValueError(
                f"factors: no two rows differ in factor {column} alone; a table with such rows is "
                "accepted where one factor is to vary"
            )
        row[here] = rng.choice(rows, size=here.sum())
    return Groups(codes[_equal_rows(others, row, factor, size, rng)], factor)


def table_interventions(
    codes: ArrayLike, factors: ArrayLike, points: int, rng: np.random.Generator
) -> tuple[Codes, ...]:
    """For every factor draw `points` rows, and give each under every value of that factor, in
    ascending order: a row that has the value and shares those of all other factors.

    All uniformly and with replacement, among the rows for which there is one of every value that
    occurs in the table. A factor for which there are none is an error.
    """
    codes, factors = check(codes, factors)
    drawn = []
    for column in range(factors.shape[1]):
        others, values = _others(factors, column), _numbered(factors[:, column])
        size = int(values.max()) + 1
        rows = _rows_reaching(others, values, least=size)
        if not len(rows):
            raise ValueError(
                f"factors: no row has, for each of the {size} values of factor {column}, one that "
                "differs in that factor alone; a table with such rows is accepted where a factor "
                "is to be set"
            )
        combinations = others * size + values
        known, example = np.unique(combinations, return_index=True)
        wanted = others[rng.choice(rows, size=points)] * size + np.arange(size)[:, None]
        row = example[np.searchsorted(known, wanted)]
        alone = np.zeros_like(row)  # there is one column of combinations
        drawn.append(codes[_equal_rows(combinations[:, None], row, alone, 1, rng)[..., 0]])
    return tuple(drawn)


def _numbered(values: Factors) -> Factors:
    """The values in ascending order as 0, 1, 2 ..."""
    return np.unique(values, return_inverse=True)[1]


def _others(factors: Factors, column: int) -> Factors:
    """A number for every row, equal where all factors but one are."""
    others = np.delete(factors, column, axis=1)
    return np.unique(others, axis=0, return_inverse=True)[1].ravel()


def _rows_reaching(others: Factors, values: Factors, least: int) -> NDArray[np.intp]:
    """The rows whose other factors come with at least so many values."""
    size = values.max() + 1
    met = np.bincount(np.unique(others * size + values) // size)
    return np.flatnonzero(met[others] >= least)


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
