"""PNG and GIF files of images with values from 0 to 1."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image

Floats = NDArray[np.float32]


def grid_png(pictures: Floats, gap: int = 2) -> bytes:
    """PNG of (rows, columns, channels, height, width) pictures with values from 0 to 1."""
    file = io.BytesIO()
    _grid(pictures, gap).save(file, "PNG", optimize=False)
    return file.getvalue()


def grid_gif(frames: Floats, gap: int = 2, milliseconds: int = 80) -> bytes:
    """An endless GIF of grids (frames, rows, columns, channels, height, width)."""
    first, *others = [_grid(pictures, gap) for pictures in frames]
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=milliseconds, loop=0)
    return file.getvalue()


def _grid(pictures: Floats, gap: int) -> Image.Image:
    from PIL import Image

    rows, columns, channels, height, width = pictures.shape
    canvas = np.ones((channels, rows * (height + gap) - gap, columns * (width + gap) - gap))
    for r in range(rows):
        for c in range(columns):
            y, x = r * (height + gap), c * (width + gap)
            canvas[:, y : y + height, x : x + width] = pictures[r, c]
    levels = (canvas * 255).round().clip(0, 255).astype(np.uint8)
    return Image.fromarray(levels[0] if channels == 1 else levels.transpose(1, 2, 0))
