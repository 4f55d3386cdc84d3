"""What a data set is: named discrete factors, and a function from their values to images."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Source = Literal["official", "redrawn", "look-alike", "user"]
Factors = NDArray[np.int64]  # (images, factors): the position of each value on its factor's scale
Images = NDArray[np.float32]  # (images, channels, 64, 64) in [0, 1], contiguous


@dataclass(frozen=True)
class Description:
    """What can be said of a data set without loading it."""

    name: str
    source: Source
    channels: int
    factor_names: tuple[str, ...]
    factor_sizes: tuple[int, ...]


class DataSet(Protocol):
    """A description that can also show images; all models, metrics and reports see only this."""

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

    def images(self, factors: Factors, stream: np.random.Generator) -> Images:
        """One image per row of `factors`; what the factors leave open is drawn from `stream`."""
        ...


def sample_factors(sizes: tuple[int, ...], count: int, stream: np.random.Generator) -> Factors:
    """`count` points of the full grid, independent and uniform: (count, factors).

    One draw per point, of its place in the flattened grid, is several times faster than one draw
    per factor and has the same distribution.
    """
    places = stream.integers(math.prod(sizes), size=count)
    return np.stack(np.unravel_index(places, sizes), axis=1).astype(np.int64, copy=False)
