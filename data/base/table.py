"""Pictures with a table of factors: combinations of factors may be missing or repeated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from data.base.pixels import Pixels, as_floats
from data.base.protocol import (
    Description,
    Factors,
    HasTargets,
    Images,
    Places,
    Targets,
    set_to_each,
)
from infra.errors import WrongInput

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Table(HasTargets, Description):
    """`pixels` is (rows, channels, 64, 64), `factors` is (rows, factors).

    Rows are equally likely. Unlabelled pictures have no factors: any row fits any request. Columns
    of continuous factors hold bins; `real` has their values, (rows, continuous factors).
    """

    pixels: Pixels
    factors: Factors
    real: Targets = field(default_factory=lambda: np.empty((0, 0)))

    def sample(self, count: int, stream: np.random.Generator) -> Factors:
        """The factors of rows drawn uniformly, with replacement."""
        return self.factors[stream.integers(len(self.factors), size=count)]

    def sample_groups(
        self, count: int, size: int, stream: np.random.Generator
    ) -> tuple[Factors, Factors]:
        """A factor, a row, then rows that share its value of that factor, all uniform."""
        if not self.factor_names:
            raise WrongInput("data.factors", "none", "a table, as groups share a factor's value")
        fixed = stream.integers(len(self.factor_names), size=count)
        rows = stream.integers(len(self.factors), size=count)
        places = self._places_by_value.draw(self._value_numbers[rows, fixed], size, stream)
        return self.factors[places // len(self.factor_names)], fixed

    def sample_pairs(
        self, count: int, size: int, stream: np.random.Generator
    ) -> tuple[Factors, Factors, Factors]:
        """A factor per set, a row per pair, and a row that shares its value of that factor."""
        fixed = stream.integers(len(self.factor_names), size=count)
        rows = stream.integers(len(self.factors), size=(count, size))
        numbers = self._value_numbers[rows, fixed[:, None]].reshape(-1)
        places = self._places_by_value.draw(numbers, 1, stream).reshape(count, size)
        return self.factors[rows], self.factors[places // len(self.factor_names)], fixed

    def sample_variations(
        self, count: int, size: int, stream: np.random.Generator
    ) -> tuple[Factors, Factors]:
        """A factor, a row, then rows that share its values of all other factors, all uniform.

        Only rows are drawn for which another row differs in that factor alone.
        """
        varied = stream.integers(len(self.factor_names), size=count)
        groups = np.empty((count, size, len(self.factor_names)), np.int64)
        for column in np.unique(varied).tolist():
            is_here = varied == column
            numbers = self._numbers_without(column)
            # those that occur: bins of a continuous factor may be empty
            values = len(np.unique(self.factors[:, column]))
            rows = self._rows_with_values(numbers, column, min(2, values))
            if not len(rows):
                found = f"no two rows that differ in {self.factor_names[column]} alone"
                accepted = "a table with such rows, as each group varies in one factor"
                raise WrongInput("data.factors", found, accepted)
            rows = stream.choice(rows, size=is_here.sum())
            places = PlacesByNumber(numbers).draw(numbers[rows], size, stream)
            groups[is_here] = self.factors[places]
        return groups, varied

    def sample_interventions(self, count: int, stream: np.random.Generator) -> list[Factors]:
        """Uniform rows, with each value of a factor in place of the row's own value.

        Only rows are drawn for which the table has all of these combinations.
        """
        drawn = []
        for column, (name, size) in enumerate(
            zip(self.factor_names, self.factor_sizes, strict=True)
        ):
            rows = self._rows_with_values(self._numbers_without(column), column, size)
            if not len(rows):
                found = f"no row that is there with each of the {size} values of {name}"
                accepted = "a table with such rows, if a factor is set to each of its values"
                raise WrongInput("data.factors", found, accepted)
            points = self.factors[stream.choice(rows, size=count)]
            drawn.append(set_to_each(points, column, size))
        return drawn

    def _numbers_without(self, column: int) -> Numbers:
        """A number for every row; rows with the same values in all other columns share it."""
        others = np.delete(self.factors, column, axis=1)
        sizes = self.factor_sizes[:column] + self.factor_sizes[column + 1 :]
        return CombinationNumbers(others, sizes).of(others)

    def _rows_with_values(self, numbers: Numbers, column: int, least: int) -> Numbers:
        """The rows whose number occurs with at least `least` different values of a column."""
        size = self.factor_sizes[column]
        values = np.bincount(np.unique(numbers * size + self.factors[:, column]) // size)
        return np.flatnonzero(values[numbers] >= least)

    def places(self, factors: Factors, stream: np.random.Generator) -> Places:
        """For each row of `factors` one of the pictures with exactly these values."""
        if not self.factor_names:
            return stream.integers(len(self.pixels), size=len(factors))
        numbers = self._combination_numbers.of(factors)
        rows = self._rows_by_combination.draw(numbers, 1, stream)[:, 0]
        if not np.array_equal(self.factors[rows], factors):
            self._refuse(factors[(self.factors[rows] != factors).any(axis=1)][0])
        return rows

    def show(self, places: Places) -> Images:
        return as_floats(self.pixels, places)

    def targets(self, places: Places) -> Targets:
        targets = self.factors[places].astype(np.float64)
        targets[:, list(self.continuous)] = self.real[places]
        return targets

    def positions(self, places: Places) -> Factors:
        return self.factors[places]

    def _refuse(self, point: Numbers) -> NoReturn:
        values = zip(self.factor_names, point.tolist(), strict=True)
        raise WrongInput(
            "factor combination",
            ", ".join(f"{name} {value}" for name, value in values),
            "combinations that some picture of the table has",
        )

    @cached_property
    def _combination_numbers(self) -> CombinationNumbers:
        return CombinationNumbers(self.factors, self.factor_sizes)

    @cached_property
    def _rows_by_combination(self) -> PlacesByNumber:
        return PlacesByNumber(self._combination_numbers.of(self.factors))

    @cached_property
    def _value_numbers(self) -> Numbers:
        """The factors, numbered so that no two columns have a value in common."""
        numbers: Numbers = self.factors + np.cumsum([0, *self.factor_sizes[:-1]])
        return numbers

    @cached_property
    def _places_by_value(self) -> PlacesByNumber:
        """Places in the flattened table, row by row."""
        return PlacesByNumber(self._value_numbers.reshape(-1))


class CombinationNumbers:
    """Numbers from 0, without gaps, for the combinations of factors that occur in a table.

    A combination is the digits of one number, as long as that fits 63 bits: columns are taken
    in runs, and after each run the numbers that occur are replaced by their ranks.
    """

    def __init__(self, factors: Factors, sizes: tuple[int, ...]) -> None:
        self._runs: list[tuple[slice, Numbers, int, Numbers]] = []
        ranks = np.zeros(len(factors), np.int64)
        for columns in column_runs(sizes, 2**62 // len(factors)):
            digits = sizes[columns]
            weights = np.array([math.prod(digits[i + 1 :]) for i in range(len(digits))], np.int64)
            numbers = ranks * math.prod(digits) + factors[:, columns] @ weights
            known = np.unique(numbers)
            ranks = np.searchsorted(known, numbers)
            self._runs.append((columns, weights, math.prod(digits), known))

    def of(self, factors: Factors) -> Numbers:
        """The numbers of these combinations; one that does not occur gets that of another."""
        ranks = np.zeros(len(factors), np.int64)
        for columns, weights, span, known in self._runs:
            numbers = ranks * span + factors[:, columns] @ weights
            ranks = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        return ranks


def column_runs(sizes: tuple[int, ...], most: int) -> Iterator[slice]:
    """Neighbouring columns, together while they have at most `most` combinations."""
    start = 0
    for end in range(1, len(sizes) + 1):
        if end == len(sizes) or math.prod(sizes[start : end + 1]) > most:
            yield slice(start, end)
            start = end


class PlacesByNumber:
    """The places of an array at which each number stands: 0 to k - 1, each at least once."""

    def __init__(self, numbers: Numbers) -> None:
        # One plain sort of number and place is several times faster than a stable argsort.
        self._places = np.sort(numbers * len(numbers) + np.arange(len(numbers))) % len(numbers)
        self._counts = np.bincount(numbers)
        self._first = np.cumsum(self._counts) - self._counts

    def draw(self, numbers: Numbers, size: int, stream: np.random.Generator) -> Numbers:
        """For each of `numbers`, `size` of its places, uniform, with replacement."""
        numbers = numbers[:, None]
        offset = stream.integers(self._counts[numbers], size=(len(numbers), size))
        places: Numbers = self._places[self._first[numbers] + offset]
        return places
