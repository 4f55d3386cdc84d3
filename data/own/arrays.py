"""Read a user's pictures from an array file: .npz, .npy, HDF5, or encoded pictures in Parquet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base import hdf5, npy, pictures
from data.base.pictures import Pictures
from data.base.pixels import SIDE, Pixels
from data.base.reading import printable, reading
from infra.errors import WrongInput

FIELD = "data.images"
READABLE = "a whole .npz, .npy, .h5, .hdf5 or .parquet file"
SHAPES = "(n, h, w), (n, h, w, 1 or 3) or (n, 1 or 3, h, w) with at least one picture"
NOT_IMAGES = {"factors", "factor_names"}  # other arrays that the file of the images may hold
BLOCK = 2**24  # bytes read at once
LARGEST_PICTURE = 2**28  # bytes

Array = NDArray[Any]
Rows = Callable[[int], Iterator[Array]]  # the array, that many rows at a time


def read(path: Path) -> Pictures:
    """The pictures: only headers are read now, and of Parquet also whether pictures are grey."""
    with reading(FIELD, path.name, READABLE):
        match path.suffix.lower():
            case ".npy":
                array = npy.stored(path)
                return _pictures(path, array.shape, array.dtype, array.blocks)
            case ".npz":
                array = npy.stored(path, _name_of_images(path, npy.arrays(path)))
                return _pictures(path, array.shape, array.dtype, array.blocks)
            case ".h5" | ".hdf5":
                return _from_hdf5(path)
            case ".parquet":
                from data.own import parquet

                return parquet.read(path)
    raise WrongInput(FIELD, printable(path.name), READABLE)


def _name_of_images(path: Path, names: list[str]) -> str:
    """The array that holds the images: `images`, or the only one that can be them."""
    candidates = [name for name in names if name not in NOT_IMAGES]
    if "images" in names or len(candidates) != 1:
        candidates = ["images"]
    if candidates[0] not in names:
        found = f"no images in {printable(path.name)} (it holds {', '.join(names) or 'nothing'})"
        raise WrongInput(FIELD, found, "an array named images, or a single one")
    return candidates[0]


def _from_hdf5(path: Path) -> Pictures:
    with hdf5.opened(path) as file:
        if (images := hdf5.stored(file, "images")) is None:
            held = ", ".join(hdf5.names(file)) or "nothing"
            found = f"no images in {printable(path.name)} (it holds {held})"
            raise WrongInput(FIELD, found, "a dataset named images")
        shape, dtype, chunk = images.shape, images.dtype, (images.chunks or (1,))[0]

    def blocks(rows: int) -> Iterator[Array]:
        if chunk <= 4 * rows:  # blocks of whole chunks: each chunk is unpacked once
            rows = max(rows // chunk, 1) * chunk
        with hdf5.opened(path) as file:
            yield from (file["images"][start : start + rows] for start in range(0, shape[0], rows))

    return _pictures(path, shape, dtype, blocks)


def _pictures(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], rows: Rows) -> Pictures:
    """The pictures of an array whose shape and type are checked here."""
    channels_last = len(shape) == 3 or (len(shape) == 4 and shape[3] in (1, 3))
    channels_first = len(shape) == 4 and shape[1] in (1, 3)
    if channels_last == channels_first or 0 in shape:
        raise WrongInput(FIELD, f"shape {shape} in {printable(path.name)}", SHAPES)
    if dtype != np.uint8 and dtype.kind not in "bf":
        accepted = "uint8, bool, or real numbers in [0, 1]"
        raise WrongInput(FIELD, f"{dtype} in {printable(path.name)}", accepted)
    size = dtype.itemsize * math.prod(shape[1:])
    if size > LARGEST_PICTURE:
        found = f"pictures of {size} bytes in {printable(path.name)}"
        raise WrongInput(FIELD, found, f"at most {LARGEST_PICTURE} bytes each")

    def blocks() -> Iterator[Pixels]:
        first, largest = 0, 0
        with reading(FIELD, path.name, READABLE):
            for block in rows(max(1, BLOCK // size)):
                bytes_ = _bytes(block, first)
                first, largest = first + len(block), max(largest, int(bytes_.max()))
                if block.ndim == 3:
                    bytes_ = bytes_[..., None]
                yield from _fitted(bytes_ if channels_first else np.moveaxis(bytes_, -1, 1))
        if dtype == np.uint8 and largest == 1:
            accepted = "numbers up to 255, or bool: (images > 0)"
            raise WrongInput(
                FIELD, f"uint8 numbers of at most 1 in {printable(path.name)}", accepted
            )

    channels = 1 if len(shape) == 3 else shape[1 if channels_first else 3]
    return Pictures(shape[0], channels, blocks)


def _bytes(block: Array, first: int) -> Pixels:
    """Numbers in [0, 1] as 0 to 255; `first` is the number of the block's first row."""
    if block.dtype == np.uint8:
        return np.asarray(block, np.uint8)
    if block.dtype.kind == "b":  # a file may hold other bytes than 0 and 1 for truth values
        return np.where(block.view(np.uint8) != 0, np.uint8(255), np.uint8(0))
    inside = (block >= 0) & (block <= 1)
    if not inside.all():
        row = int(np.argmin(inside.reshape(len(block), -1).all(axis=1)))
        value = block[row][~inside[row]][0]
        raise WrongInput(FIELD, f"{value} in row {first + row}", "real numbers in [0, 1]")
    bytes_: Pixels = np.rint(block.astype(np.float32) * np.float32(255)).astype(np.uint8)
    return bytes_


def _fitted(block: Pixels) -> Iterator[Pixels]:
    """Pictures (some, channels, h, w) as 64x64; unchanged if that is their size."""
    if block.shape[2:] == (SIDE, SIDE):
        yield np.ascontiguousarray(block)
        return
    from PIL import Image

    def draw(picture: Pixels) -> Pixels:
        colours = picture.transpose(1, 2, 0)
        colours = colours[..., 0] if len(picture) == 1 else colours
        image = Image.fromarray(np.ascontiguousarray(colours))
        return pictures.resized(pictures.middle_square(image))

    yield from pictures.in_blocks(block, draw)
