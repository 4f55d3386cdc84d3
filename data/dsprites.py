"""dSprites (Matthey et al., 2017, https://github.com/google-deepmind/dsprites-dataset), redrawn.

White squares, ellipses and hearts on black. The authors drew vector outlines with LÖVE, so the
same arithmetic gives the official pictures and nothing needs to be downloaded: in 46,080 official
images three pixels differ, each in another image. All 737,280 pictures are in the official order,
one bit per pixel, in one file that the processes of a machine share. A user who has the official
file can use that instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data.base import pixels
from data.base.pixels import SIDE, Progress
from data.base.protocol import Boxes, Factors, Finite, Grid, Images, Places, Source
from data.official import dsprites as official_dsprites
from data.official.published import Published

ORIENTATIONS, POSITIONS = 40, 32
SCALES = np.linspace(0.5, 1, 6).astype(np.float32)
CENTRES = (16 + 32 * np.linspace(0, 1, POSITIONS)).astype(np.float32)  # pixels, on both axes

Packed = NDArray[np.uint8]  # (pictures, 512): one bit per pixel

DESCRIPTION = Grid(
    name="dsprites",
    source="redrawn",
    channels=1,
    factor_names=("shape", "scale", "orientation", "position_x", "position_y"),
    factor_sizes=(3, len(SCALES), ORIENTATIONS, POSITIONS, POSITIONS),
    pictures=737_280,
    categorical=("shape",),
    periodic=("orientation",),
)
SOURCES: tuple[Source, ...] = ("redrawn", "official")
FILE = "dsprites-2.bits"  # raise the number when the pictures change
SHAPE = (737_280, SIDE * SIDE // 8)


@dataclass(frozen=True, eq=False)
class DSprites(Finite, Grid):
    """All pictures, bit-packed: `packed` is (737280, 512)."""

    packed: Packed

    def places(self, factors: Factors, stream: np.random.Generator) -> Places:
        """The factors determine the picture: the stream is not used."""
        return self.order(factors)

    def show(self, places: Places) -> Images:
        bits = np.unpackbits(self.packed[places], axis=1)
        return bits.astype(np.float32).reshape(-1, 1, SIDE, SIDE)

    def boxes(self, places: Places) -> Boxes:
        """From the bits, in a tenth of the time that it takes from the pictures."""
        rows = self.packed[places].view(np.uint64)  # a row of pixels is one number
        any_row = np.bitwise_or.reduce(rows, axis=1, keepdims=True)
        columns = np.unpackbits(any_row.view(np.uint8), axis=1).view(np.bool_)
        ends = []
        for lines in (rows != 0, columns):
            ends += [lines.argmax(1), SIDE - lines[:, ::-1].argmax(1)]
        return np.stack(ends, axis=1).astype(np.int32)


def load(cache: Path, source: Source = "redrawn", progress: Progress | None = None) -> DSprites:
    """Redrawn into the folder `cache` if it is missing (two seconds, once), or fetched before."""
    if source == "official":
        packed = PUBLISHED["official"].pixels(cache, DESCRIPTION.name)
    else:
        packed = pixels.prepared(cache / FILE, SHAPE, draw, progress)
    return DSprites(**vars(replace(DESCRIPTION, source=source)), packed=packed)


def draw() -> Iterator[Packed]:
    """The grid in the official order, in blocks of all positions: (1024, 512) each."""
    for outline in (_square(), _ellipse(), _heart()):
        for scale in SCALES:
            upright = _everywhere(outline, scale, 0)
            yield upright
            for orientation in range(1, ORIENTATIONS - 1):
                yield _everywhere(outline, scale, orientation)
            yield upright  # a full turn: the official file holds orientation 0 twice


PUBLISHED: dict[Source, Published] = {"official": official_dsprites.published(SHAPE[0], draw)}
FILES: dict[Source, str] = {"redrawn": FILE, "official": PUBLISHED["official"].ready}


def _everywhere(outline: NDArray[np.float32], scale: np.float32, orientation: int) -> Packed:
    """One outline at all positions: (1024, 512), position_y fastest."""
    from data.base.polygons import fill_grid  # compiling takes a second, needed on first use only

    rows = np.zeros((POSITIONS, POSITIONS, SIDE), np.uint64)
    fill_grid(*_vertices(outline, scale, orientation), rows)
    return rows.astype(">u8").view(np.uint8).reshape(-1, SHAPE[1])


def _vertices(
    outline: NDArray[np.float32], scale: np.float32, orientation: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The outline's x and its y at every position, in 1/256 pixel: (32, vertices) each.

    Order and precision repeat the original drawing, as other roundings move a few pixels: one
    float32 matrix maps pixels to the device's [-1, 1] with y upwards, the device scales that to
    its window, and vertices are rounded to 1/256 pixel there.
    """
    angle = float(np.float32(2 * np.pi * orientation / (ORIENTATIONS - 1)))
    cos = np.float32(np.cos(angle)) * scale / 32
    sin = np.float32(np.sin(angle)) * scale / 32
    x, y = outline
    x_device = (cos * x + sin * y) + (CENTRES / 32 - 1)[:, None]
    y_device = (sin * x - cos * y) + (1 - CENTRES / 32)[:, None]
    return _rounded(x_device), SIDE * 256 - _rounded(y_device)


def _rounded(device: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.rint((device * 32 + 32) * 256).astype(np.int64)


def _square() -> NDArray[np.float32]:
    return np.array([[-9.6, 9.6, 9.6, -9.6], [-9.6, -9.6, 9.6, 9.6]], np.float32)


def _ellipse() -> NDArray[np.float32]:
    t = 2 * np.pi * np.arange(100) / 100
    return np.stack([9.6 * 1.33 * np.cos(t), 9.6 / 1.33 * np.sin(t)]).astype(np.float32)


def _heart() -> NDArray[np.float32]:
    t = 2 * np.pi * np.arange(150) / 150
    lobes = (13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) / 29
    return np.stack([9.6 * np.sin(t) ** 3, -19.2 * (lobes + 0.075)]).astype(np.float32)
