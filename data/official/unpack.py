"""Published files, read a few pictures at a time by the readers that trust no file.

What a file holds is compared with what is expected before any picture is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from data.base import hdf5, npy
from data.base import reading as data_reading
from data.base.pixels import Pixels
from infra.errors import WrongInput

ROWS = 1024  # pictures per block


def reading(path: Path) -> AbstractContextManager[None]:
    """Every error inside is reported as a fault of this file, on one line."""
    return data_reading.reading(str(path), path.name, "the whole file, as it is published")


def npz_blocks(path: Path, key: str, shape: tuple[int, ...], rows: int = ROWS) -> Iterator[Pixels]:
    """The uint8 array `key` of an .npz file, which must have exactly this shape."""
    with reading(path):
        names = npy.arrays(path)
        if key not in names:
            raise WrongInput(str(path), f"the keys {', '.join(names)}", f"the key {key}")
        array = npy.stored(path, key)
        _check_array(path, array, shape)
        yield from array.blocks(rows)


def hdf5_blocks(path: Path, key: str, shape: tuple[int, ...], rows: int = ROWS) -> Iterator[Pixels]:
    """The uint8 dataset `key` of an HDF5 file, which must have exactly this shape."""
    with reading(path), hdf5.opened(path) as file:
        if (array := hdf5.stored(file, key)) is None:
            raise WrongInput(str(path), f"the keys {', '.join(file)}", f"a dataset {key}")
        _check_array(path, array, shape)
        for start in range(0, shape[0], rows):
            yield array[start : start + rows]


def _check_array(path: Path, array: Any, shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != np.uint8:
        raise WrongInput(str(path), f"an array {array.dtype} {array.shape}", f"uint8 {shape}")


def channels_first(blocks: Iterator[Pixels]) -> Iterator[Pixels]:
    """(pictures, rows, columns, channels) as (pictures, channels, rows, columns)."""
    for block in blocks:
        yield np.ascontiguousarray(block.transpose(0, 3, 1, 2))
