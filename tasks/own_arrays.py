"""The arrays of a user's own .npz or HDF5 file by their names, if this machine has the memory."""

from __future__ import annotations

import math
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from data.base import hdf5, npy
from data.base.reading import printable, reading
from infra.errors import WrongInput
from infra.new_file import can_exist, is_file
from infra.runtime import free_memory_bytes
from tasks.words import size_text

Arrays = dict[str, Any]
FIELD = "FILE"
COPIES = 2  # what is read, and what a metric makes of it
NUMBERS_IN_TEXT = 2  # bytes for each byte of text, about
HDF5 = (".h5", ".hdf5")


def check_file(path: Path, endings: Sequence[str], accepted: str) -> None:
    """Raise unless the path has one of these endings and leads to a file."""
    if path.suffix.lower() not in endings:
        raise WrongInput(FIELD, str(path), accepted)
    if is_file(path):
        return
    if not can_exist(path):
        what = ", as no file can have this name"
    elif path.is_dir():
        what = " but a folder"
    elif path.is_symlink():
        what = f" but a link to {printable(path.readlink())}, where nothing is"
    elif path.exists():
        what = f" but a {'pipe' if stat.S_ISFIFO(path.stat().st_mode) else 'device or socket'}"
    else:
        what = f": there is no {printable(path.name)} in {printable(path.absolute().parent)}"
    raise WrongInput(FIELD, f"{printable(path)}, which is no file{what}", accepted)


@contextmanager
def in_memory(path: Path, names: Sequence[str], accepted: str, further: int = 0) -> Iterator[None]:
    """Arrays that do not fit into memory, inside or before, become one line with both sizes.
    `further` bytes are of what is read beside these arrays."""
    size = 0
    try:
        with reading(FIELD, path.name, accepted):
            size = _bytes(path, names) + further
        if COPIES * size > free_memory_bytes():
            raise MemoryError
        yield
    except MemoryError:
        found = f"{printable(path.name)}, whose arrays take {size_text(size)}"
        free = f"{size_text(free_memory_bytes())} of memory that are free"
        room = f"arrays for which there is room {COPIES} times in the {free}"
        raise WrongInput(FIELD, found, room) from None


def read(path: Path, names: Sequence[str], needed: Sequence[str], accepted: str) -> Arrays:
    """The arrays of these names that the file has; raise if one that is needed is not there."""
    with reading(FIELD, path.name, accepted):
        arrays, present = (_from_hdf5 if path.suffix.lower() in HDF5 else _from_npz)(path, names)
    for name in needed:
        check_present(path, name, name in arrays, present, accepted)
    return arrays


def check_present(
    path: Path, name: str, is_present: bool, present: Sequence[str], accepted: str
) -> None:
    """Raise unless the file has what is needed, naming what it has."""
    if not is_present:
        held = ", ".join(present[:20]) + (", ..." if len(present) > 20 else "")
        found = f"no {name} in {printable(path.name)}"
        raise WrongInput(FIELD, f"{found} (it holds {held})" if held else found, accepted)


def _bytes(path: Path, names: Sequence[str]) -> int:
    """What the arrays of these names, or all columns of a table, take in memory, about."""
    if path.suffix.lower() in HDF5:
        with hdf5.opened(path) as file:
            arrays = [array for name in names if (array := hdf5.stored(file, name)) is not None]
            sizes = [int(array.dtype.itemsize * math.prod(array.shape)) for array in arrays]
            return sum(sizes)
    if path.suffix.lower() == ".npz":
        headers = [npy.stored(path, name) for name in names if name in npy.arrays(path)]
        return sum(header.dtype.itemsize * math.prod(header.shape) for header in headers)
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as table:
            groups = [table.metadata.row_group(i) for i in range(table.metadata.num_row_groups)]
            stored = sum(int(group.total_byte_size) for group in groups)
            chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
            return max(stored, 8 * sum(int(chunk.num_values) for chunk in chunks))
    return NUMBERS_IN_TEXT * path.stat().st_size


def _from_npz(path: Path, names: Sequence[str]) -> tuple[Arrays, list[str]]:
    present = npy.arrays(path)
    return {name: npy.stored(path, name).whole() for name in names if name in present}, present


def _from_hdf5(path: Path, names: Sequence[str]) -> tuple[Arrays, list[str]]:
    """Names and kinds may also be attributes of the file."""
    with hdf5.opened(path) as file:
        stored = {name: hdf5.stored(file, name) for name in names}
        arrays = {name: array[()] for name, array in stored.items() if array is not None}
        attributes = {name: file.attrs[name] for name in names if name in file.attrs}
        return attributes | arrays, hdf5.names(file)
