"""Pictures from the share that each material has in every pixel."""

import numpy as np
from numpy.typing import NDArray

from data.base.compiled import compiled


@compiled
def mix(
    weights: NDArray[np.uint8],
    places: NDArray[np.int64],
    palette: NDArray[np.float32],
    pictures: NDArray[np.float32],
) -> None:
    """Fill `pictures` (n, 3, pixels) from `weights` (views, 4, pixels), which are in 1/255.

    `places` (n,) is the view of each picture, `palette` (n, 4, 3) its four colours.
    """
    for picture in range(len(places)):
        first, second, third, fourth = weights[places[picture]]
        for channel in range(3):
            a, b, c, d = palette[picture, :, channel]
            plane = pictures[picture, channel]
            for pixel in range(plane.size):
                total = (
                    np.float32(first[pixel]) * a
                    + np.float32(second[pixel]) * b
                    + np.float32(third[pixel]) * c
                    + np.float32(fourth[pixel]) * d
                )
                plane[pixel] = total / np.float32(255)  # a division, so that 255 becomes 1
