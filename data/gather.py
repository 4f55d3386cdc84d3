"""Pictures picked from a memory map and turned into floats in one pass."""

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def gather(
    pixels: NDArray[np.uint8], places: NDArray[np.intp], images: NDArray[np.float32]
) -> None:
    """images[i] = pixels[places[i]] / 255, in float32 throughout, so that it fills whole registers.

    The caller has made sure of the places: nothing is checked here.
    """
    for i in range(places.size):
        picture, image = pixels[places[i]], images[i]
        for j in range(picture.size):
            image[j] = np.float32(picture[j]) / np.float32(255)
