"""Pictures and the real values of their factors in one prepared file, which is whole or not there.

The file is an array of pictures (data.base.pixels). After the pictures follow the bytes of the
values, row by row, and zeros up to the end of a picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from data.base.pixels import SIDE, Pixels, Progress, prepared, seems_whole
from data.base.protocol import Targets

VALUE = np.dtype("<f8")


def shape(pictures: int, channels: int, factors: int) -> tuple[int, int, int, int]:
    """The array in the file."""
    size = pictures * factors * VALUE.itemsize
    return pictures + math.ceil(size / (channels * SIDE * SIDE)), channels, SIDE, SIDE


def blocks(pictures: Iterable[Pixels], values: Targets) -> Iterator[Pixels]:
    """All that is written: the pictures, then the values (pictures, factors)."""
    last: Pixels | None = None
    for last in pictures:
        yield last
    if last is not None:
        flat = np.frombuffer(np.ascontiguousarray(values, VALUE).tobytes(), np.uint8)
        picture = math.prod(last.shape[1:])
        padded = np.zeros(math.ceil(len(flat) / picture) * picture, np.uint8)
        padded[: len(flat)] = flat
        yield padded.reshape(-1, *last.shape[1:])


def split(stored: Pixels, pictures: int, factors: int) -> tuple[Pixels, Targets]:
    """The pictures, still mapped, and a copy of the values (pictures, factors)."""
    flat = np.array(stored[pictures:]).reshape(-1)[: pictures * factors * VALUE.itemsize]
    values: Targets = flat.view(VALUE).astype(np.float64).reshape(pictures, factors)
    return stored[:pictures], values


def drawn(
    whole: Path,
    first: Path,
    draw: Callable[[int], Iterator[Pixels]],
    *,
    shapes: Callable[[int], tuple[int, ...]],
    count: int,
    pictures: int | None,
    progress: Progress | None,
) -> tuple[Pixels, int]:
    """A file that has at least so many first `pictures` (None: all `count`), and how many it has.

    That is the `whole` file if it is there or all are wanted. Otherwise only the first pictures are
    drawn, into the file `first`; * in its name is how many.
    """
    file = whole
    if pictures and not seems_whole(whole, shapes(count)):  # all of them take long
        file, count = first.with_name(first.name.replace("*", str(pictures))), pictures
    return prepared(file, shapes(count), partial(draw, count), progress), count
