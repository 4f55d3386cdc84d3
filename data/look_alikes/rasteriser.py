"""Triangles as a camera sees them: the nearest one at every sample, with a brightness that changes
linearly between its corners (Gouraud). Cameras are those of the ray caster (look_alikes.scenes)."""

import numba
import numpy as np
from numpy.typing import NDArray

from data.look_alikes.caster import project

Array = NDArray[np.float64]

NOTHING = -1.0  # the brightness where no triangle is


@numba.njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def rasterise(
    camera: Array,
    points: Array,
    brightness: Array,
    triangles: NDArray[np.int64],
    nearness: Array,
    shades: Array,
) -> None:
    """Overwrite `shades` (side, side) with the brightness of what is nearest, or NOTHING; row 0 is
    at the top. `nearness` (side, side) is overwritten with 1 / depth, or 0.

    Points must be in front of the camera. A sample on the common side of two triangles is given to
    both, so that there are no gaps; the nearer one stays.
    """
    side = shades.shape[0]
    nearness[:] = 0
    shades[:] = NOTHING
    seen = np.empty((len(points), 3))  # column, row, 1 / depth: all linear across a triangle
    for i in range(len(points)):
        x, y, depth = project(camera, points[i, 0], points[i, 1], points[i, 2])
        seen[i] = ((x + 1) * side - 1) / 2, ((1 - y) * side - 1) / 2, 1 / depth
    for i in range(len(triangles)):
        a, b, c = triangles[i]
        ax, ay, az = seen[a]
        bx, by, bz = seen[b]
        cx, cy, cz = seen[c]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0:
            continue
        top = max(int(np.ceil(min(ay, by, cy))), 0)
        end = min(int(np.floor(max(ay, by, cy))) + 1, side)
        left = max(int(np.ceil(min(ax, bx, cx))), 0)
        stop = min(int(np.floor(max(ax, bx, cx))) + 1, side)
        for row in range(top, end):
            for column in range(left, stop):
                v = ((column - ax) * (cy - ay) - (row - ay) * (cx - ax)) / area
                w = ((bx - ax) * (row - ay) - (by - ay) * (column - ax)) / area
                u = 1 - v - w
                if u < 0 or v < 0 or w < 0:
                    continue
                near = u * az + v * bz + w * cz
                if near > nearness[row, column]:
                    nearness[row, column] = near
                    shades[row, column] = u * brightness[a] + v * brightness[b] + w * brightness[c]


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def paint(shades: Array, colour: Array, picture: NDArray[np.uint8]) -> None:
    """One colour times the brightness, at most 1, on white: `picture` is (3, side, side), `shades`
    has a multiple of its side, and a pixel is the mean of its samples."""
    side = picture.shape[1]
    samples = shades.shape[0] // side
    total = np.empty(3)
    for row in range(side):
        for column in range(side):
            total[:] = 0
            for i in range(row * samples, (row + 1) * samples):
                for j in range(column * samples, (column + 1) * samples):
                    for channel in range(3):
                        shade = shades[i, j]
                        total[channel] += 1.0 if shade < 0 else min(shade * colour[channel], 1.0)
            for channel in range(3):
                picture[channel, row, column] = round(255 * total[channel] / samples**2)
