"""The official file of dSprites, for users who want exactly its pixels and not the redrawn ones.

The published .npz is checked by its checksum. For the .hdf5 of the same authors none is known, so
its pictures are compared with the redrawn ones: a few pixels at edges may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from data.base.pixels import SIDE, Pixels
from data.official.published import OtherForm, Published, RemoteFile, files_named
from data.official.unpack import ROWS, hdf5_blocks, npz_blocks
from infra.errors import WrongInput

NAME = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"
NPZ = RemoteFile(
    f"{NAME}.npz",
    (f"https://github.com/deepmind/dsprites-dataset/raw/master/{NAME}.npz",),
    "md5:7da33b31b13a06f4b04a70402ce90c2e",
)
MOST_DIFFERING = 1000  # of three thousand million pixels

Draw = Callable[[], Iterator[Pixels]]  # yields bit-packed blocks of ROWS pictures


def published(pictures: int, draw: Draw) -> Published:
    """`draw` redraws the pictures that the official file is compared with."""

    def read(files: Mapping[str, Path]) -> Iterator[Pixels]:
        return packed(npz_blocks(files[NPZ.name], "imgs", (pictures, SIDE, SIDE)), files[NPZ.name])

    return Published(
        files=(NPZ,),
        ready="dsprites-official-1.bits",
        shape=(pictures, SIDE * SIDE // 8),
        read=read,
        other_forms=(
            OtherForm(f"{NAME}.hdf5", _find_hdf5, lambda path: read_hdf5(path, pictures, draw)),
        ),
        remark=lambda pixels: f"{differing(pixels, draw)} pixels differ from the redrawing",
    )


def packed(blocks: Iterator[Pixels], path: Path) -> Iterator[Pixels]:
    """Pictures of zeros and ones, one bit per pixel: (n, 512)."""
    for block in blocks:
        if block.max(initial=0) > 1:
            raise WrongInput(str(path), f"a pixel of {block.max()}", "pixels of 0 and 1")
        yield np.packbits(block.reshape(len(block), -1), axis=1)


def read_hdf5(path: Path, pictures: int, draw: Draw) -> Iterator[Pixels]:
    """The pictures of the .hdf5; refused as soon as too many pixels differ from the redrawing."""
    blocks = packed(hdf5_blocks(path, "imgs", (pictures, SIDE, SIDE)), path)
    different = 0
    for block, redrawn in zip(blocks, draw(), strict=True):
        different += _differing(block, redrawn)
        if different > MOST_DIFFERING:
            raise WrongInput(
                str(path),
                f"at least {different} pixels that differ from the redrawing",
                f"at most {MOST_DIFFERING}",
            )
        yield block


def differing(pixels: Pixels, draw: Draw) -> int:
    """The number of pixels in which these bit-packed pictures differ from the redrawn ones."""
    starts = range(0, len(pixels), ROWS)
    blocks = (pixels[start : start + ROWS] for start in starts)
    return sum(_differing(*pair) for pair in zip(blocks, draw(), strict=True))


def _differing(block: Pixels, redrawn: Pixels) -> int:
    return int(np.bitwise_count(block ^ redrawn).sum())


def _find_hdf5(path: Path) -> Path | None:
    if path.is_file():
        return path if path.suffix in (".hdf5", ".h5") else None
    return next(iter(files_named(path, f"{NAME}.hdf5")), None)
