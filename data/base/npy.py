"""Arrays in .npy and .npz files, read a few rows at a time; nothing in a file is ever executed.

numpy's own reader takes a whole array of an .npz file into memory, of the size that its header
claims. Here an array is read only if the file holds exactly as many bytes as its header claims.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class StoredArray:
    """One array: where it is, and what its header says."""

    file: Path
    member: str | None  # of an .npz file
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    column_major: bool
    start: int  # where the values begin, in bytes

    def blocks(self, rows: int) -> Iterator[Array]:
        """The array, that many rows at a time; zipfile checks its sum before it gives the last."""
        if self.column_major:
            # A row is spread over the whole file, so rows can be read only from a plain file.
            if self.member is not None:
                raise ValueError("column-major (Fortran) order; save np.ascontiguousarray(images)")
            mapped = np.memmap(self.file, self.dtype, "r", self.start, self.shape, "F")
            yield from (mapped[start : start + rows] for start in range(0, len(mapped), rows))
            return
        row_size = self.dtype.itemsize * math.prod(self.shape[1:])
        with _opened(self.file, self.member) as file:
            read_exactly(file, self.start)  # after a seek, zipfile no longer checks the sum
            for start in range(0, self.shape[0], rows):
                count = min(rows, self.shape[0] - start)
                flat = np.frombuffer(read_exactly(file, count * row_size), self.dtype)
                yield flat.reshape(count, *self.shape[1:])

    def whole(self) -> Array:
        """All of a small array."""
        with _opened(self.file, self.member) as file:
            read_exactly(file, self.start)  # after a seek, zipfile no longer checks the sum
            content = read_exactly(file, self.dtype.itemsize * math.prod(self.shape))
        flat = np.frombuffer(content, self.dtype)
        return flat.reshape(self.shape, order="F" if self.column_major else "C")


def arrays(file: Path) -> list[str]:
    """The names of the arrays in an .npz file."""
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    return [name.removesuffix(".npy") for name in names if name.endswith(".npy")]


def stored(file: Path, name: str | None = None) -> StoredArray:
    """The array of an .npy file, or the one of that name in an .npz file."""
    member = None if name is None else f"{name}.npy"
    with _opened(file, member) as opened:
        # Later versions are for records of many fields, and their headers may take 4 GiB.
        if (version := npy_format.read_magic(opened)) != (1, 0):
            raise ValueError(f"version {version} of the npy format")
        shape, column_major, dtype = npy_format.read_array_header_1_0(opened)
        start = opened.tell()
    if dtype.hasobject:
        raise ValueError("Python objects, which are code that is never executed here")
    if member is None:
        size = file.stat().st_size - start
    else:
        with zipfile.ZipFile(file) as archive:
            size = archive.getinfo(member).file_size - start
    claimed = dtype.itemsize * math.prod(shape)
    if claimed != size or min(shape, default=0) < 0:
        raise ValueError(f"{size} bytes for {shape} {dtype}, which takes {claimed}")
    return StoredArray(file, member, dtype, shape, column_major, start)


def read_exactly(file: IO[bytes], size: int) -> bytes:
    """That many bytes; raises if the file has fewer."""
    content = file.read(size)
    if len(content) != size:
        raise EOFError("the file ends too early")
    return content


@contextmanager
def _opened(file: Path, member: str | None) -> Iterator[IO[bytes]]:
    if member is None:
        with file.open("rb") as opened:
            yield opened
    else:
        with zipfile.ZipFile(file) as archive, archive.open(member) as opened:
            yield opened
