"""Pictures of sprites on black, 64x64, y upwards, with smooth edges.

A pixel's share of a sprite is the mean over 5x5 points in it. (Spriteworld draws at five times the
size, too, and shrinks with Lanczos, which sharpens edges.) Sprites are painted in their order, each
with its share.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from data.base.pixels import SIDE, Pixels
from data.look_alikes.sprites import REACH, Reals, Sprites, inside, rgb

SAMPLES = 5  # per pixel and axis
AROUND = math.ceil(REACH * SIDE)  # pixels that a sprite may reach beyond that of its centre
WINDOW = 2 * AROUND + 1
MARGIN = AROUND + 1  # around the picture, for sprites that reach out of it
BLOCK = 100  # pictures that are drawn at once


def draw(sprites: Sprites) -> Pixels:
    """The pictures of scenes: (scenes, 3, 64, 64)."""
    colours = rgb(sprites.hues, sprites.saturations, sprites.values)
    pictures = np.empty((len(colours), 3, SIDE, SIDE), np.uint8)
    for first in range(0, len(colours), BLOCK):
        some = slice(first, first + BLOCK)
        pictures[some] = _paint(
            sprites.positions[some], sprites.shapes[some], colours[some], sprites.present[some]
        )
    return pictures


def _paint(
    positions: Reals, shapes: NDArray[np.int64], colours: Reals, present: NDArray[np.bool_]
) -> Pixels:
    scenes, count = shapes.shape
    canvas = np.zeros((scenes, SIDE + 2 * MARGIN, SIDE + 2 * MARGIN, 3))
    for sprite in range(count):
        which = np.flatnonzero(present[:, sprite])
        rows, columns, share = _shares(positions[which, sprite], shapes[which, sprite])
        window = which[:, None, None], rows[:, :, None] + MARGIN, columns[:, None, :] + MARGIN
        behind = canvas[window]
        colour = colours[which, sprite][:, None, None, :]
        canvas[window] = behind + share[..., None] * (colour - behind)
    inner = canvas[:, MARGIN:-MARGIN, MARGIN:-MARGIN].transpose(0, 3, 1, 2)
    pictures: Pixels = np.rint(255 * inner).astype(np.uint8)
    return pictures


def _shares(
    positions: Reals, shapes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Reals]:
    """Rows and columns (sprites, window) of the pixels around each sprite, and how much of each
    pixel it covers (sprites, window, window)."""
    across, down = SIDE * positions[:, 0], SIDE * (1 - positions[:, 1])
    near = np.arange(-AROUND, AROUND + 1)
    columns = np.minimum(across.astype(np.int64), SIDE - 1)[:, None] + near
    rows = np.minimum(down.astype(np.int64), SIDE - 1)[:, None] + near
    x = (_points(columns) - across[:, None]) / SIDE
    y = (down[:, None] - _points(rows)) / SIDE
    covered = inside(shapes[:, None, None], x[:, None, :], y[:, :, None])
    per_pixel = covered.reshape(-1, WINDOW, SAMPLES, WINDOW, SAMPLES)
    return rows, columns, per_pixel.mean(axis=(2, 4))


def _points(pixels: NDArray[np.int64]) -> Reals:
    """Where the points of these pixels are, along one axis: (sprites, window · 5)."""
    within = (np.arange(SAMPLES) + 0.5) / SAMPLES
    return (pixels[:, :, None] + within).reshape(-1, WINDOW * SAMPLES)
