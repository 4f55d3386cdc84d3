"""Compiled loops over pixels: copy pictures out of an array, and put sprites on backgrounds."""

import numpy as np
from numpy.typing import NDArray

from data.base.compiled import compiled

Floats = NDArray[np.float32]


@compiled
def invert_patches(
    picture: Floats,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    colours: Floats,
    sprites: Floats,
    images: Floats,
) -> None:
    """images[i] = the patch of `picture` at (rows[i], columns[i]), averaged with colours[i], and
    inverted where sprites[i] is 1. `sprites` is (n, side, side), `images` (n, 3, side, side).
    """
    side = sprites.shape[1]
    half = np.float32(0.5)
    for i in range(len(images)):
        for channel in range(3):
            colour = colours[i, channel]
            for y in range(side):
                patch = picture[channel, rows[i] + y, columns[i] : columns[i] + side]
                sprite, image = sprites[i, y], images[i, channel, y]
                for x in range(side):
                    mixed = (patch[x] + colour) * half
                    # mixed where the sprite is 0, 1 - mixed where it is 1, without a branch
                    image[x] = mixed + sprite[x] * (np.float32(1) - mixed - mixed)


@compiled
def gather(
    pixels: NDArray[np.uint8], places: NDArray[np.intp], images: NDArray[np.float32]
) -> None:
    """images[i] = pixels[places[i]] / 255; all in float32, which fills whole registers.

    The caller must check the places: nothing is checked here.
    """
    for i in range(places.size):
        picture, image = pixels[places[i]], images[i]
        for j in range(picture.size):
            image[j] = np.float32(picture[j]) / np.float32(255)
