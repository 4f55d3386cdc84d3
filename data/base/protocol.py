"""What a data set is: named discrete factors, and a function from their values to images."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

Source = Literal["redrawn", "official", "look-alike", "user"]
SOURCES: tuple[Source, ...] = get_args(Source)
Factors = NDArray[np.int64]  # (images, factors): positions among the sorted values of a factor
Targets = NDArray[np.float64]  # (images, factors): real values of continuous factors, positions
Places = NDArray[np.intp]  # (images,): numbers of pictures
Boxes = NDArray[np.int32]  # (images, 4): first row, row after the last, columns likewise
Images = NDArray[np.float32]  # (images, channels, 64, 64) in [0, 1], contiguous


@dataclass(frozen=True)
class Description:
    """What is known of a data set without loading it.

    `content` is a hash of pictures that name and source do not determine, such as a user's own;
    `pictures` is how many there are, or None if every image is new. A continuous factor has bins of
    equal width for values wherever classes are needed: in factor_sizes and in all samples.

    The values of a categorical factor have no order; those of a periodic one are evenly spaced on a
    circle, so that the last is next to the first. All other factors are ordered.

    A data set that `has_splits` is a HasSplits.
    """

    name: str
    source: Source
    channels: int
    factor_names: tuple[str, ...]
    factor_sizes: tuple[int, ...]
    content: str = field(default="", kw_only=True)
    pictures: int | None = field(default=None, kw_only=True)
    continuous: tuple[int, ...] = field(default=(), kw_only=True)  # factors that are real numbers
    categorical: tuple[str, ...] = field(default=(), kw_only=True)  # names of factors
    periodic: tuple[str, ...] = field(default=(), kw_only=True)  # names of factors
    has_splits: bool = field(default=False, kw_only=True)


class DataSet(Protocol):
    """A description that can also give images; models, metrics and reports use only this."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> Source: ...
    @property
    def channels(self) -> int: ...
    @property
    def factor_names(self) -> tuple[str, ...]: ...
    @property
    def factor_sizes(self) -> tuple[int, ...]: ...
    @property
    def pictures(self) -> int | None: ...
    @property
    def continuous(self) -> tuple[int, ...]: ...
    @property
    def categorical(self) -> tuple[str, ...]: ...
    @property
    def periodic(self) -> tuple[str, ...]: ...

    def sample(self, count: int, stream: np.random.Generator) -> Factors:
        """`count` points, independent and identically distributed: (count, factors)."""
        ...

    def sample_groups(
        self, count: int, size: int, stream: np.random.Generator
    ) -> tuple[Factors, Factors]:
        """Points (count, size, factors) in groups that share one factor's value; that factor.

        The factor, (count,), is uniform, its value as frequent as in `sample`, and the other
        factors are drawn given both.
        """
        ...

    def sample_pairs(
        self, count: int, size: int, stream: np.random.Generator
    ) -> tuple[Factors, Factors, Factors]:
        """Two points per pair, (count, size, factors) each, that share one factor's value.

        The factor, (count,), is uniform and the same for a whole set; the value is new for each
        pair. The third array is the factor.
        """
        ...

    def sample_variations(
        self, count: int, size: int, stream: np.random.Generator
    ) -> tuple[Factors, Factors]:
        """Points (count, size, factors) in groups that differ in one factor only; that factor.

        The shared values are as frequent as in `sample`, the factor is uniform.
        """
        ...

    def sample_interventions(self, count: int, stream: np.random.Generator) -> list[Factors]:
        """Per factor, `count` points with each of its values: (values, count, factors).

        The points differ in that factor only. They are as frequent as in `sample` among those
        that exist with every value of it.
        """
        ...

    def images(self, factors: Factors, stream: np.random.Generator) -> Images:
        """One image per row of `factors`; what they do not determine is drawn from `stream`."""
        ...


class Finite(ABC):
    """A data set with a limited number of pictures, so that each is encoded only once."""

    @abstractmethod
    def places(self, factors: Factors, stream: np.random.Generator) -> Places:
        """The number of a picture per row of `factors`; if there are several, a random one."""

    @abstractmethod
    def show(self, places: Places) -> Images:
        """The pictures of these numbers, from 0 to `pictures` - 1."""

    def boxes(self, places: Places) -> Boxes | None:
        """Of each of these pictures the box outside of which it is 0, or all of it if it is 0
        everywhere. None where that is not known without looking at the pictures."""
        return None

    def images(self, factors: Factors, stream: np.random.Generator) -> Images:
        """One image per row of `factors`."""
        return self.show(self.places(factors, stream))


class Fresh(ABC):
    """A data set whose pictures are new each time, of which a part can be drawn alone."""

    @abstractmethod
    def in_parts(self, factors: Factors, stream: np.random.Generator) -> Callable[[slice], Images]:
        """What draws the images of some rows of `factors`. All of them together are those of
        `images`, which would leave the stream in the same state."""


class HasTargets(Finite):
    """A data set of pictures whose factors may be continuous."""

    @abstractmethod
    def targets(self, places: Places) -> Targets:
        """The factors of these pictures as real numbers: (places, factors)."""

    @abstractmethod
    def positions(self, places: Places) -> Factors:
        """The factors of these pictures as `sample` gives them: of continuous ones the bins."""


@dataclass(frozen=True)
class Splits:
    """Numbers of pictures, in rising order. Each picture is in one of the four."""

    train: Places
    validation: Places
    test: Places
    zero_shot: Places  # combinations of factors of which the others have none


class HasSplits(HasTargets):
    """A data set whose authors say which pictures are for training and which for what else."""

    @abstractmethod
    def splits(self) -> Splits: ...

    @cached_property
    def training_rows(self) -> Places:
        """The numbers of the pictures that models are trained on, computed once."""
        return self.splits().train


@dataclass(frozen=True)
class Grid(Description):
    """A data set that holds every combination of its factors' values, all equally likely."""

    def sample(self, count: int, stream: np.random.Generator) -> Factors:
        return sample_factors(self.factor_sizes, count, stream)

    def sample_groups(
        self, count: int, size: int, stream: np.random.Generator
    ) -> tuple[Factors, Factors]:
        fixed = stream.integers(len(self.factor_sizes), size=count)
        groups = self.sample(count * size, stream).reshape(count, size, -1)
        rows = np.arange(count)
        groups[rows, :, fixed] = groups[rows, 0, fixed][:, None]
        return groups, fixed

    def sample_pairs(
        self, count: int, size: int, stream: np.random.Generator
    ) -> tuple[Factors, Factors, Factors]:
        fixed = stream.integers(len(self.factor_sizes), size=count)
        first, second = self.sample(2 * count * size, stream).reshape(2, count, size, -1)
        rows = np.arange(count)
        second[rows, :, fixed] = first[rows, :, fixed]
        return first, second, fixed

    def sample_variations(
        self, count: int, size: int, stream: np.random.Generator
    ) -> tuple[Factors, Factors]:
        varied = stream.integers(len(self.factor_sizes), size=count)
        groups = np.repeat(self.sample(count, stream)[:, None], size, axis=1)
        values = self.sample(count * size, stream).reshape(count, size, -1)
        rows = np.arange(count)
        groups[rows, :, varied] = values[rows, :, varied]
        return groups, varied

    def sample_interventions(self, count: int, stream: np.random.Generator) -> list[Factors]:
        return [
            set_to_each(self.sample(count, stream), factor, size)
            for factor, size in enumerate(self.factor_sizes)
        ]

    def order(self, factors: Factors) -> Places:
        """The places of these points in the grid's order, last factor fastest."""
        places: Places = np.ravel_multi_index(tuple(factors.T), self.factor_sizes)
        return places


def sample_factors(sizes: tuple[int, ...], count: int, stream: np.random.Generator) -> Factors:
    """`count` points of the full grid, independent and uniform: (count, factors).

    One draw per point, of its place in the flattened grid, is several times faster than one draw
    per factor and has the same distribution.
    """
    places = stream.integers(math.prod(sizes), size=count)
    points = np.empty((count, len(sizes)), np.int64)
    for column in reversed(range(len(sizes))):  # one by one: metrics draw a million points
        np.divmod(places, sizes[column], out=(places, points[:, column]))
    return points


def set_to_each(points: Factors, factor: int, size: int) -> Factors:
    """The points with one factor at each of its values, nothing else changed: (size, ...points)."""
    repeated = np.repeat(points[None], size, axis=0)
    repeated[..., factor] = np.arange(size)[:, None]
    return repeated
