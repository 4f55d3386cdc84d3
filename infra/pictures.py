"""PNG and GIF files of images with values from 0 to 1."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image

Floats = NDArray[np.float32]


GAP = 2  # white pixels between the pictures of a grid
LEVELS = 256


def grid_png(pictures: Floats, gap: int = GAP, levels: int = LEVELS) -> bytes:
    """PNG of (rows, columns, channels, height, width) pictures with values from 0 to 1.

    With fewer levels of brightness per channel the file is smaller.
    """
    file = io.BytesIO()
    _grid(pictures, gap, levels).save(file, "PNG", optimize=levels < LEVELS)
    return file.getvalue()


def grid_gif(frames: Floats, gap: int = GAP, milliseconds: int = 80) -> bytes:
    """An endless GIF of grids (frames, rows, columns, channels, height, width)."""
    first, *others = [_grid(pictures, gap) for pictures in frames]
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=milliseconds, loop=0)
    return file.getvalue()


def _grid(pictures: Floats, gap: int, levels: int = LEVELS) -> Image.Image:
    from PIL import Image

    rows, columns, channels, height, width = pictures.shape
    canvas = np.ones((channels, rows * (height + gap) - gap, columns * (width + gap) - gap))
    for r in range(rows):
        for c in range(columns):
            y, x = r * (height + gap), c * (width + gap)
            canvas[:, y : y + height, x : x + width] = pictures[r, c]
    brightest = levels - 1
    rounded = (canvas * brightest).round().clip(0, brightest) * (255 / brightest)
    pixels = rounded.round().astype(np.uint8)
    return Image.fromarray(pixels[0] if channels == 1 else pixels.transpose(1, 2, 0))
