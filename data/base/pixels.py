"""The pictures of a data set in one file, which the processes of a machine map and share.

The file holds the bytes of an array of 8-bit numbers, whose first axis is pictures, then a checksum
of 8 bytes. A file of up to a gibibyte is checked whenever it is opened (tens of milliseconds); a
larger one is checked only by `tolstoy data check`, as reading all of it takes too long.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from data.base import cache as data_cache
from data.base.protocol import Images

Pixels = NDArray[np.uint8]
Progress = Callable[[float], None]  # called with the fraction that is done

SIDE = 64
BLOCK = 2**16  # bytes that are summed before their sum is weighted with the block's number
CHECKED_WHEN_OPENED = 2**30
_maps: WeakSet[mmap.mmap] = WeakSet()


def prepared(
    file: Path,
    shape: tuple[int, ...],
    blocks: Callable[[], Iterable[Pixels]],
    progress: Progress | None = None,
) -> Pixels:
    """The array in `file`, filled from `blocks()` first if the file is missing or damaged."""

    def write(opened: BinaryIO) -> None:
        _write(opened, shape, blocks(), progress)

    return mapped(data_cache.prepare(file, lambda path: seems_whole(path, shape), write), shape)


def mapped(file: Path, shape: tuple[int, ...]) -> Pixels:
    """The array in a whole file, which is held as long; nothing is read before it is used."""
    with file.open("rb") as opened:
        data_cache.hold(opened)
        opened_map = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    _maps.add(opened_map)
    return np.frombuffer(opened_map, np.uint8, math.prod(shape)).reshape(shape)


def forget_pages() -> None:
    """No page of a mapped file counts as this process's memory until it is read again."""
    with suppress(AttributeError, OSError):  # a system without this call
        for opened_map in _maps:
            opened_map.madvise(mmap.MADV_DONTNEED)


def seems_whole(file: Path, shape: tuple[int, ...]) -> bool:
    """Whether the size is right, and for small files the checksum."""
    size = math.prod(shape)
    if not file.is_file() or file.stat().st_size != size + 8:
        return False
    return size > CHECKED_WHEN_OPENED or is_whole(file)


def is_whole(file: Path) -> bool:
    """Whether the checksum is that of the content."""
    size = file.stat().st_size - 8
    if size <= 0:
        return False
    sum_ = _Sum()
    sum_.add(np.memmap(file, np.uint8, "r", shape=(size,)))
    with file.open("rb") as opened:
        opened.seek(size)
        return opened.read() == sum_.digest()


def checksum(file: Path) -> str:
    """The checksum that a whole file ends with, in 16 hexadecimal digits; little is read."""
    with file.open("rb") as opened:
        opened.seek(-8, os.SEEK_END)
        return opened.read().hex()


def _write(
    file: BinaryIO, shape: tuple[int, ...], blocks: Iterable[Pixels], progress: Progress | None
) -> None:
    sum_, size = _Sum(), math.prod(shape)
    for block in blocks:
        if block.dtype != np.uint8 or block.shape[1:] != shape[1:]:
            raise ValueError(f"block: found {block.dtype} {block.shape}; accepted: uint8 {shape}")
        flat = np.ascontiguousarray(block).reshape(-1)
        sum_.add(flat)
        file.write(flat.data)
        if progress:
            progress(sum_.bytes / size)
    if sum_.bytes != size:
        raise ValueError(f"blocks: found {sum_.bytes} bytes; accepted: {size}")
    file.write(sum_.digest())


class _Sum:
    """A checksum as fast as memory: weighted sums of 64-bit words, modulo 2**64."""

    def __init__(self) -> None:
        self.bytes = 0
        self._total = 0
        self._rest = np.empty(0, np.uint8)  # less than a block, not yet summed

    def add(self, flat: Pixels) -> None:
        self.bytes += flat.size
        if self._rest.size:
            missing = BLOCK - self._rest.size
            self._rest = np.concatenate([self._rest, flat[:missing]])
            flat = flat[missing:]
            if self._rest.size < BLOCK:
                return
            self._count(self._rest, self.bytes - flat.size - BLOCK)
        whole = flat.size // BLOCK * BLOCK
        self._count(flat[:whole], self.bytes - flat.size)
        self._rest = flat[whole:].copy()

    def digest(self) -> bytes:
        total = self._total
        if self._rest.size:
            padded = np.zeros(BLOCK, np.uint8)
            padded[: self._rest.size] = self._rest
            total += self._weighted(padded, self.bytes - self._rest.size)
        return (total % 2**64).to_bytes(8, "little")

    def _count(self, flat: Pixels, start: int) -> None:
        self._total += self._weighted(flat, start)

    @staticmethod
    def _weighted(flat: Pixels, start: int) -> int:
        words = np.ascontiguousarray(flat).view("<u8").reshape(-1, BLOCK // 8)
        numbers = np.arange(start // BLOCK, start // BLOCK + len(words), dtype=np.uint64)
        weights = 2 * numbers + np.uint64(1)  # odd, so that no bit of a sum is lost
        return int((words.sum(axis=1, dtype=np.uint64) * weights).sum(dtype=np.uint64))


def as_floats(pixels: Pixels, places: NDArray[np.intp]) -> Images:
    """The pictures at these places, from 0 to 1. `pixels` is (pictures, channels, 64, 64)."""
    from data.base.loops import gather  # compiling is slow, and only training needs it

    images = np.empty((len(places), *pixels.shape[1:]), np.float32)
    gather(pixels.reshape(len(pixels), -1), places, images.reshape(len(places), -1))
    return images
