"""Colours of a picture of a car, from what the camera's rays hit."""

import numba
import numpy as np
from numpy.typing import NDArray

from data.look_alikes.cars import BODY, GLASS, PLATE, WHEEL
from data.look_alikes.caster import NOTHING, Hits, point_at, times
from data.look_alikes.scenes import Scene

Array = NDArray[np.float64]

RIM = PLATE + 1
CAR_AMBIENT, CAR_DIRECT = 0.4, 0.8


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def paint_car(
    scene: Scene,
    colours: Array,
    pillar: float,
    camera: Array,
    hits: Hits,
    picture: NDArray[np.uint8],
) -> None:
    """One car on white: `picture` is (3, side, side); `hits` has a multiple of its side.

    `colours` holds the RGB of every paint, and last that of the wheels' rims.
    """
    side = picture.shape[1]
    fine = hits.depths.shape[0]
    samples = fine // side
    right, up = camera[1], camera[2]
    right, up = right / np.sqrt(np.sum(right * right)), up / np.sqrt(np.sum(up * up))
    lamp = -0.75 * camera[3] + 0.6 * up - 0.3 * right  # above the camera, a little to the left
    lamp /= np.sqrt(np.sum(lamp * lamp))
    total = np.empty(3)
    for row in range(side):
        for column in range(side):
            total[:] = 0
            for i in range(row * samples, (row + 1) * samples):
                for j in range(column * samples, (column + 1) * samples):
                    solid = hits.solids[i, j]
                    if solid == NOTHING:
                        total += 255
                        continue
                    paint = scene.paints[solid]
                    if paint in (GLASS, WHEEL):
                        x, y = (2 * j + 1) / fine - 1, 1 - (2 * i + 1) / fine
                        spot = point_at(camera, x, y, hits.depths[i, j])
                        paint = _paint_at(paint, scene, solid, spot, pillar)
                    normal = hits.normals[i, j]
                    facing = max(
                        normal[0] * lamp[0] + normal[1] * lamp[1] + normal[2] * lamp[2], 0.0
                    )
                    light = CAR_AMBIENT + CAR_DIRECT * facing
                    for channel in range(3):
                        total[channel] += min(light * colours[paint, channel], 255)
            for channel in range(3):
                picture[channel, row, column] = round(total[channel] / samples**2)


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _paint_at(
    paint: int, scene: Scene, solid: int, spot: tuple[float, float, float], pillar: float
) -> int:
    """Pillars and edges of a cabin's windows have the body's colour; wheels have rims."""
    frame, shape = scene.frames[solid], scene.shapes[solid]
    away = (spot[0] - frame[0, 3], spot[1] - frame[1, 3], spot[2] - frame[2, 3])
    x, y, z = times(scene.inverses[solid], away)
    if paint == WHEEL:
        return RIM if x * x + y * y < 0.4 else WHEEL
    along = x / ((1 + shape[0]) / 2 + (shape[0] - 1) / 2 * z)  # from -1 at the rear window
    across = y / ((1 + shape[1]) / 2 + (shape[1] - 1) / 2 * z)
    if z > 0.84 or z < -0.9:
        return BODY
    if abs(along) > abs(across):
        return GLASS if abs(across) < 0.88 else BODY
    return GLASS if abs(along) < 0.9 and abs(along - 1 + 2 * pillar) > 0.045 else BODY
