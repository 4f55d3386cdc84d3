"""dSprites (Matthey et al., 2017, https://github.com/google-deepmind/dsprites-dataset), redrawn.

White squares, ellipses and hearts on black. The authors drew vector outlines with LÖVE, so the
same arithmetic gives the official pictures again and nothing needs to be downloaded: on 46,080
official images three pixels differ, each in an image of its own. All 737,280 pictures stand in
the official order, one bit per pixel, in one file that the processes of a machine share.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from data import cache as data_cache
from data.protocol import Description, Factors, Images

SIDE = 64
ORIENTATIONS, POSITIONS = 40, 32
SCALES = np.linspace(0.5, 1, 6).astype(np.float32)
CENTRES = (16 + 32 * np.linspace(0, 1, POSITIONS)).astype(np.float32)  # pixels, on both axes

Packed = NDArray[np.uint8]  # (pictures, 512): one bit per pixel

DESCRIPTION = Description(
    name="dsprites",
    source="redrawn",
    channels=1,
    factor_names=("shape", "scale", "orientation", "position_x", "position_y"),
    factor_sizes=(3, len(SCALES), ORIENTATIONS, POSITIONS, POSITIONS),
)
FILE = "dsprites-1.bits"  # raise the number when the pictures change
IMAGES = 737_280
IMAGE_BYTES = SIDE * SIDE // 8


@dataclass(frozen=True, eq=False)
class DSprites(Description):
    """All pictures, bit-packed: `packed` is (737280, 512)."""

    packed: Packed

    def images(self, factors: Factors, stream: np.random.Generator) -> Images:
        """The pictures at these points of the grid; nothing is left to the stream."""
        places = np.ravel_multi_index(tuple(factors.T), self.factor_sizes)
        bits = np.unpackbits(self.packed[places], axis=1)
        return bits.astype(np.float32).reshape(-1, 1, SIDE, SIDE)


def load(cache: Path, progress: Callable[[float], None] | None = None) -> DSprites:
    """The data set, drawn into the folder `cache` if it is not there (two seconds, once).

    `progress` is told the fraction that is drawn.
    """
    file = data_cache.prepare(cache / FILE, _is_whole, lambda opened: _write(opened, progress))
    packed = np.asarray(np.memmap(file, np.uint8, "r", shape=(IMAGES, IMAGE_BYTES)))
    return DSprites(**vars(DESCRIPTION), packed=packed)


def _write(file: BinaryIO, progress: Callable[[float], None] | None) -> None:
    """All pictures, then the sum of their 64-bit words, by which a damaged file is known."""
    checksum, drawn = 0, 0
    for pictures in draw():
        file.write(pictures.tobytes())
        checksum += _sum(pictures.view("<u8"))
        drawn += len(pictures)
        if progress:
            progress(drawn / IMAGES)
    file.write((checksum % 2**64).to_bytes(8, "little"))


def _is_whole(file: Path) -> bool:
    if not file.is_file() or file.stat().st_size != IMAGES * IMAGE_BYTES + 8:
        return False
    words = np.memmap(file, "<u8", "r")
    return _sum(words[:-1]) == int(words[-1])


def _sum(words: NDArray[np.uint64]) -> int:
    return int(np.add.reduce(words, axis=None))  # modulo 2**64


def draw() -> Iterator[Packed]:
    """The grid in the official order, in blocks of all positions: (1024, 512) each."""
    for outline in (_square(), _ellipse(), _heart()):
        for scale in SCALES:
            upright = _everywhere(outline, scale, 0)
            yield upright
            for orientation in range(1, ORIENTATIONS - 1):
                yield _everywhere(outline, scale, orientation)
            yield upright  # a full turn: the official file holds orientation 0 twice


def _everywhere(outline: NDArray[np.float32], scale: np.float32, orientation: int) -> Packed:
    """One outline at all positions: (1024, 512), position_y fastest."""
    from data.polygons import fill_grid  # compiling takes a second that only a first use needs

    rows = np.zeros((POSITIONS, POSITIONS, SIDE), np.uint64)
    fill_grid(*_vertices(outline, scale, orientation), rows)
    return rows.astype(">u8").view(np.uint8).reshape(-1, IMAGE_BYTES)


def _vertices(
    outline: NDArray[np.float32], scale: np.float32, orientation: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The outline's x and its y at every position, in 1/256 pixel: (32, vertices) each.

    Order and precision repeat the original drawing, as other roundings move a few pixels: one
    float32 matrix takes pixels to the device's [-1, 1] with y upwards, the device scales that to
    its window, and vertices snap to 1/256 pixel there.
    """
    angle = float(np.float32(2 * np.pi * orientation / (ORIENTATIONS - 1)))
    cos = np.float32(np.cos(angle)) * scale / 32
    sin = np.float32(np.sin(angle)) * scale / 32
    x, y = outline
    x_device = (cos * x + sin * y) + (CENTRES / 32 - 1)[:, None]
    y_device = (sin * x - cos * y) + (1 - CENTRES / 32)[:, None]
    return _snapped(x_device), SIDE * 256 - _snapped(y_device)


def _snapped(device: NDArray[np.float32]) -> NDArray[np.int64]:
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
