"""Readers of published files that trust nothing in them.

What a file holds is compared with what is expected before anything of size is read, blocks of
pictures are all that is ever held, and nothing is unpickled or extracted.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

import numpy as np

from data.base import reading as data_reading
from data.base.pixels import Pixels
from infra.errors import WrongInput

ROWS = 1024  # pictures per block
LARGEST_CHUNK = 2**28  # bytes of a chunk in an HDF5 file, which HDF5 holds as a whole


def reading(path: Path) -> AbstractContextManager[None]:
    """Whatever goes wrong meanwhile is told as a fault of this file, on one line."""
    return data_reading.reading(str(path), path.name, "the whole file, as it is published")


def npz_blocks(path: Path, key: str, shape: tuple[int, ...], rows: int = ROWS) -> Iterator[Pixels]:
    """The uint8 array `key` of an .npz file, which must have exactly this shape."""
    with reading(path), zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        if key not in names:
            raise WrongInput(str(path), f"the keys {', '.join(names)}", f"the key {key}")
        with archive.open(f"{key}.npy") as member:
            _check_header(member, shape, path)
            yield from raw_blocks(member, shape, rows, path)


def _check_header(member: IO[bytes], shape: tuple[int, ...], path: Path) -> None:
    """Only version 1.0 is read: its headers have at most 64 KiB, those of others 4 GiB."""
    version = np.lib.format.read_magic(member)
    if version != (1, 0):
        raise WrongInput(str(path), f"an array header of version {version}", "version (1, 0)")
    found, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
    _check_array(path, found, dtype, shape)
    if by_columns:
        raise WrongInput(str(path), "an array in Fortran order", "an array in C order")


def _check_array(path: Path, found: tuple[int, ...], dtype: Any, shape: tuple[int, ...]) -> None:
    if found != shape or dtype != np.uint8:
        raise WrongInput(str(path), f"an array {dtype} {found}", f"an array uint8 {shape}")


def raw_blocks(stream: Any, shape: tuple[int, ...], rows: int, path: Path) -> Iterator[Pixels]:
    """All that is left of a stream, which must be exactly an array of this shape."""
    for start in range(0, shape[0], rows):
        yield _exactly(stream, (min(rows, shape[0] - start), *shape[1:]), path)
    if stream.read(1):
        raise WrongInput(str(path), "more bytes than announced", f"an array of {shape}")


def _exactly(stream: Any, shape: tuple[int, ...], path: Path) -> Pixels:
    block = np.empty(shape, np.uint8)
    left = block.reshape(-1).data
    while left:
        count = stream.readinto(left)
        if not count:
            raise WrongInput(str(path), "an early end of the file", "the whole file")
        left = left[count:]
    return block


def hdf5_blocks(path: Path, key: str, shape: tuple[int, ...], rows: int = ROWS) -> Iterator[Pixels]:
    """The uint8 data set `key` of an HDF5 file, which must have exactly this shape."""
    import h5py

    # chunks that reach over the end of a block stay for the next one
    held = {"rdcc_nbytes": LARGEST_CHUNK, "rdcc_nslots": 100_003}
    with reading(path), h5py.File(path, "r", **held) as file:
        # a link of another kind can lead to another file of this machine
        is_inside = isinstance(file.get(key, getlink=True), h5py.HardLink)
        array = file[key] if is_inside else None
        if not isinstance(array, h5py.Dataset):
            raise WrongInput(str(path), f"the keys {', '.join(file)}", f"a data set {key}")
        _check_array(path, array.shape, array.dtype, shape)
        if array.external or array.is_virtual:
            raise WrongInput(str(path), f"{key} outside the file", f"{key} in the file itself")
        if array.chunks and np.prod(array.chunks, dtype=object) > LARGEST_CHUNK:
            raise WrongInput(str(path), f"chunks of {array.chunks}", f"{LARGEST_CHUNK} bytes each")
        for start in range(0, shape[0], rows):
            yield array[start : start + rows]


def channels_first(blocks: Iterator[Pixels]) -> Iterator[Pixels]:
    """(pictures, rows, columns, channels) as (pictures, channels, rows, columns)."""
    for block in blocks:
        yield np.ascontiguousarray(block.transpose(0, 3, 1, 2))
