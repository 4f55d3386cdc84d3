"""Reads SmallNORB's files: Yann LeCun's matrices, gzipped or not, and the order of their rows.

A matrix is little-endian: an int32 that names the type, an int32 number of dimensions, at least
three int32 sizes (those beyond the number of dimensions mean nothing), then the numbers.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from data.base.npy import read_exactly
from data.base.pixels import SIDE, Pixels
from data.official.shrink import shrunk
from data.official.unpack import ROWS, reading
from infra.errors import WrongInput

Kind = Literal["uint8", "int32"]
MAGIC = {0x1E3D4C55: "uint8", 0x1E3D4C54: "int32"}
SIZE = {"uint8": 1, "int32": 4}

TRAINING = "smallnorb-5x46789x9x18x6x2x96x96-training-{}.mat"
TESTING = "smallnorb-5x01235x9x18x6x2x96x96-testing-{}.mat"
CAMERAS, CAMERA_SIDE = 2, 96
GRID = (5, 10, 9, 18, 6)  # category, instance, elevation, azimuth, lighting: our order


def read(
    files: Mapping[str, Path], grid: tuple[int, ...] = GRID, ending: str = ".gz"
) -> Iterator[Pixels]:
    """The first camera's pictures, 64 by 64 in the order of `grid`: (n, 1, 64, 64) each.

    Training and testing files hold half of the grid each, in the order of the rows of `cat` and
    `info`, so all pictures are kept in memory until the last one is read.
    """
    half = math.prod(grid) // 2
    parts = [
        {kind: files[part.format(kind) + ending] for kind in ("dat", "cat", "info")}
        for part in (TRAINING, TESTING)
    ]
    places = _places(np.concatenate([labels(part, half) for part in parts]), grid, parts[0]["info"])
    pictures = np.empty((2 * half, 1, SIDE, SIDE), np.uint8)
    row = 0
    for part in parts:
        for block in first_camera(part["dat"], half):
            pictures[places[row : row + len(block)]] = block
            row += len(block)
    for start in range(0, len(pictures), ROWS):
        yield pictures[start : start + ROWS]


def first_camera(path: Path, pictures: int) -> Iterator[Pixels]:
    """The first of the two cameras' pictures of a `dat` file, 64 by 64: (n, 1, 64, 64)."""
    for block in matrix(path, "uint8", (pictures, CAMERAS, CAMERA_SIDE, CAMERA_SIDE)):
        yield shrunk(block[:, 0])


def labels(part: Mapping[str, Path], pictures: int) -> NDArray[np.int64]:
    """Category, instance, elevation, azimuth and lighting of each picture, all from 0."""
    category = _numbers(part["cat"], (pictures,)).reshape(-1, 1)
    info = _numbers(part["info"], (pictures, 4)).astype(np.int64)
    if (info[:, 2] % 2).any():
        raise WrongInput(str(part["info"]), "an odd azimuth", "azimuths 0, 2, .. 34")
    info[:, 2] //= 2
    return np.concatenate([category, info], axis=1)


def _places(points: NDArray[np.int64], grid: Sequence[int], path: Path) -> NDArray[np.intp]:
    """The place of each row in the grid, every point of which must be there once."""
    if (points < 0).any() or (points >= grid).any():
        raise WrongInput(str(path), "a label outside the grid", f"labels below {tuple(grid)}")
    places: NDArray[np.intp] = np.ravel_multi_index(tuple(points.T), tuple(grid))
    different = len(np.unique(places))
    if different != math.prod(grid):
        raise WrongInput(
            str(path), f"{different} different pictures", f"each of {math.prod(grid)} once"
        )
    return places


def matrix(path: Path, kind: Kind, shape: tuple[int, ...], rows: int = ROWS) -> Iterator[Pixels]:
    """The bytes of a matrix of exactly this type and shape: (n, ..., last size in bytes)."""
    bytes_shape = (*shape[:-1], shape[-1] * SIZE[kind])
    with reading(path), _opened(path) as stream:
        header = _check_header(stream, path, kind, shape)
        if path.suffix != ".gz" and path.stat().st_size != header + math.prod(bytes_shape):
            expected = f"{header + math.prod(bytes_shape)} bytes, as its header says"
            raise WrongInput(str(path), f"{path.stat().st_size} bytes", expected)
        for start in range(0, bytes_shape[0], rows):
            block_shape = (min(rows, bytes_shape[0] - start), *bytes_shape[1:])
            content = read_exactly(stream, math.prod(block_shape))
            yield np.frombuffer(content, np.uint8).reshape(block_shape)
        if stream.read(1):
            raise WrongInput(str(path), "more bytes than announced", f"an array of {shape}")


def _check_header(stream: Any, path: Path, kind: Kind, shape: tuple[int, ...]) -> int:
    magic, dimensions = _integers(stream, 2)
    stored_kind = MAGIC.get(magic, f"magic number {magic:#x}")
    if stored_kind != kind or dimensions != len(shape):
        accepted = f"{kind} of {len(shape)} dimensions"
        raise WrongInput(str(path), f"{stored_kind} of {dimensions} dimensions", accepted)
    sizes = _integers(stream, max(3, dimensions))
    if sizes[:dimensions] != shape:
        raise WrongInput(str(path), f"a matrix of {sizes[:dimensions]}", f"a matrix of {shape}")
    return 4 * (2 + len(sizes))


def _integers(stream: Any, count: int) -> tuple[int, ...]:
    return tuple(np.frombuffer(stream.read(4 * count), "<i4", count).tolist())


def _numbers(path: Path, shape: tuple[int, ...]) -> NDArray[np.int32]:
    content = b"".join(block.tobytes() for block in matrix(path, "int32", shape))
    return np.frombuffer(content, "<i4").reshape(shape)


def _opened(path: Path) -> Any:  # the two kinds of streams share no type
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")
