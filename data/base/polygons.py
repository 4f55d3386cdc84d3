"""Exact scan conversion of polygons whose vertices are whole 1/256ths of a pixel.

Graphics cards round vertices to such a grid before they fill, so integers decide every pixel
without a rounding error. A pixel is on when its centre is inside (even-odd rule). A centre on a
left or a bottom edge is inside, one on a right or a top edge is outside (y grows downwards).
"""

import numpy as np
from numpy.typing import NDArray

from data.base.compiled import compiled

SUBPIXELS = 256  # of a pixel, per axis
SIDE = 64  # one row of pixels is one 64-bit word, leftmost pixel in the highest bit

_HALF = SUBPIXELS // 2
_WHOLE_ROW = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


@compiled
def fill_grid(x: NDArray[np.int64], y: NDArray[np.int64], rows: NDArray[np.uint64]) -> None:
    """Draw one outline at every position of a grid.

    `x` (columns, vertices) and `y` (rows, vertices) are the outline's coordinates in 1/256 pixel
    at every place along one axis; `rows` (columns, rows, 64), zeroed, is filled.
    """
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            _fill(x[i], y[j], rows[i, j])


@compiled
def _fill(x: NDArray[np.int64], y: NDArray[np.int64], rows: NDArray[np.uint64]) -> None:
    before = x.size - 1
    for vertex in range(x.size):
        top, bottom = (before, vertex) if y[before] < y[vertex] else (vertex, before)
        before = vertex
        run, fall = x[bottom] - x[top], y[bottom] - y[top]
        # the rows whose centre c has y[top] < c <= y[bottom]
        first = max((y[top] - _HALF) // SUBPIXELS + 1, 0)
        last = min((y[bottom] - _HALF) // SUBPIXELS, SIDE - 1)
        for row in range(first, last + 1):
            centre = SUBPIXELS * row + _HALF
            crossing = (x[top] - _HALF) * fall + (centre - y[top]) * run
            pixel = -(-crossing // (SUBPIXELS * fall))  # the first centre at or right of the edge
            if pixel <= 0:
                rows[row] ^= _WHOLE_ROW
            elif pixel < SIDE:
                rows[row] ^= _WHOLE_ROW >> np.uint64(pixel)
