"""Pictures with a table of their factors, in which combinations may be missing or repeated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from data.base.pixels import Pixels, as_floats
from data.base.protocol import Description, Factors, Finite, Images, Places, set_to_each
from infra.errors import WrongInput

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Table(Finite, Description):
    """A user's pictures, (rows, channels, 64, 64), and `factors`, (rows, factors).

    Rows are equally likely. Unlabelled pictures have no factors: any row fits any request.
    """

    pixels: Pixels
    factors: Factors

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
        places = self._values.draw(self._numbers[rows, fixed], size, stream)
        return self.factors[places // len(self.factor_names)], fixed

    def sample_pairs(
        self, count: int, size: int, stream: np.random.Generator
    ) -> tuple[Factors, Factors, Factors]:
        """A factor per set, a row per pair, and a row that shares its value of that factor."""
        fixed = stream.integers(len(self.factor_names), size=count)
        rows = stream.integers(len(self.factors), size=(count, size))
        numbers = self._numbers[rows, fixed[:, None]].reshape(-1)
        others = self._values.draw(numbers, 1, stream).reshape(count, size)
        return self.factors[rows], self.factors[others // len(self.factor_names)], fixed

    def sample_variations(
        self, count: int, size: int, stream: np.random.Generator
    ) -> tuple[Factors, Factors]:
        """A factor, a row, then rows that share its values of all other factors, all uniform.

        Rows are those to which there is one that differs in that factor alone.
        """
        varied = stream.integers(len(self.factor_names), size=count)
        groups = np.empty((count, size, len(self.factor_names)), np.int64)
        for column in np.unique(varied).tolist():
            here = varied == column
            numbers = self._others(column)
            rows = self._reaching(numbers, column, min(2, self.factor_sizes[column]))
            if not len(rows):
                found = f"no two rows that differ in {self.factor_names[column]} alone"
                accepted = "a table with such rows, if one factor varies"
                raise WrongInput("data.factors", found, accepted)
            rows = stream.choice(rows, size=here.sum())
            groups[here] = self.factors[Equals(numbers).draw(numbers[rows], size, stream)]
        return groups, varied

    def sample_interventions(self, count: int, stream: np.random.Generator) -> list[Factors]:
        """Rows, uniform, with each value of a factor in place of their own.

        Rows are those for which the table has all of these combinations.
        """
        drawn = []
        for column, (name, size) in enumerate(
            zip(self.factor_names, self.factor_sizes, strict=True)
        ):
            rows = self._reaching(self._others(column), column, size)
            if not len(rows):
                found = f"no row that is there with each of the {size} values of {name}"
                accepted = "a table with such rows, if a factor is set to each of its values"
                raise WrongInput("data.factors", found, accepted)
            points = self.factors[stream.choice(rows, size=count)]
            drawn.append(set_to_each(points, column, size))
        return drawn

    def _others(self, column: int) -> Numbers:
        """A number for every row, equal where all factors but one are."""
        others = np.delete(self.factors, column, axis=1)
        sizes = self.factor_sizes[:column] + self.factor_sizes[column + 1 :]
        return Ranks(others, sizes).of(others)

    def _reaching(self, others: Numbers, column: int, least: int) -> Numbers:
        """The rows whose other factors, here numbered, come with so many values of a factor."""
        size = self.factor_sizes[column]
        met = np.bincount(np.unique(others * size + self.factors[:, column]) // size)
        return np.flatnonzero(met[others] >= least)

    def places(self, factors: Factors, stream: np.random.Generator) -> Places:
        """For each row of `factors` one of the pictures with exactly these values."""
        if not self.factor_names:
            return stream.integers(len(self.pixels), size=len(factors))
        rows = self._combinations.draw(self._ranks.of(factors), 1, stream)[:, 0]
        if not np.array_equal(self.factors[rows], factors):
            self._refuse(factors[(self.factors[rows] != factors).any(axis=1)][0])
        return rows

    def show(self, places: Places) -> Images:
        return as_floats(self.pixels, places)

    def _refuse(self, point: Numbers) -> NoReturn:
        named = zip(self.factor_names, point.tolist(), strict=True)
        raise WrongInput(
            "factor combination",
            ", ".join(f"{name} {value}" for name, value in named),
            "combinations that some picture of the table has",
        )

    @cached_property
    def _ranks(self) -> Ranks:
        return Ranks(self.factors, self.factor_sizes)

    @cached_property
    def _combinations(self) -> Equals:
        return Equals(self._ranks.of(self.factors))

    @cached_property
    def _numbers(self) -> Numbers:
        """The factors, numbered so that no two columns have a value in common."""
        numbers: Numbers = self.factors + np.cumsum([0, *self.factor_sizes[:-1]])
        return numbers

    @cached_property
    def _values(self) -> Equals:
        return Equals(self._numbers.reshape(-1))


class Ranks:
    """The combinations of a table, numbered in their order without gaps.

    A combination is the digits of one number, as long as that fits 63 bits: columns are taken
    in runs, and after each the numbers that occur are replaced by their ranks.
    """

    def __init__(self, factors: Factors, sizes: tuple[int, ...]) -> None:
        self._runs: list[tuple[slice, Numbers, int, Numbers]] = []
        ranks = np.zeros(len(factors), np.int64)
        for columns in _runs(sizes, 2**62 // len(factors)):
            digits = sizes[columns]
            weights = np.array([math.prod(digits[i + 1 :]) for i in range(len(digits))], np.int64)
            numbers = ranks * math.prod(digits) + factors[:, columns] @ weights
            known = np.unique(numbers)
            ranks = np.searchsorted(known, numbers)
            self._runs.append((columns, weights, math.prod(digits), known))

    def of(self, factors: Factors) -> Numbers:
        """The ranks of combinations that occur; others get the rank of one that does."""
        ranks = np.zeros(len(factors), np.int64)
        for columns, weights, span, known in self._runs:
            numbers = ranks * span + factors[:, columns] @ weights
            ranks = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        return ranks


def _runs(sizes: tuple[int, ...], most: int) -> Iterator[slice]:
    """Neighbouring columns, together while they have at most `most` combinations."""
    start = 0
    for end in range(1, len(sizes) + 1):
        if end == len(sizes) or math.prod(sizes[start : end + 1]) > most:
            yield slice(start, end)
            start = end


class Equals:
    """Places of an array by the number that stands there, 0 to k - 1, each at least once."""

    def __init__(self, numbers: Numbers) -> None:
        # One plain sort of number and place is several times faster than a stable argsort.
        self._places = np.sort(numbers * len(numbers) + np.arange(len(numbers))) % len(numbers)
        self._many = np.bincount(numbers)
        self._first = np.cumsum(self._many) - self._many

    def draw(self, numbers: Numbers, size: int, stream: np.random.Generator) -> Numbers:
        """For each of `numbers`, `size` of its places, uniform, with replacement."""
        numbers = numbers[:, None]
        offset = stream.integers(self._many[numbers], size=(len(numbers), size))
        places: Numbers = self._places[self._first[numbers] + offset]
        return places
