"""A look-alike of SmallNORB (LeCun et al., 2004): grey toys photographed on a turntable.

Camera and lamps do not move while the toy turns; a lighting is a lamp's place, its brightness and
that of the ambient light.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.look_alikes.scenes import camera
from data.look_alikes.toys import toy

SIZES = (5, 10, 9, 18, 6)  # category, instance, elevation, azimuth, lighting
SIDE = 64
SAMPLES = 2  # per pixel and axis

# Toys have radius 1; camera and lamps point at their middle.
DISTANCE, REACH = 6.0, 1.16
LAMP_DISTANCE, LAMP_REACH, LAMP_SIDE = 9.0, 1.3, 72


class Lighting(NamedTuple):
    azimuth: float  # of the lamp, in degrees from the camera
    elevation: float
    direct: float
    ambient: float


LIGHTINGS = (
    Lighting(-50, 50, 0.70, 0.32),
    Lighting(60, 45, 0.80, 0.30),
    Lighting(-10, 68, 0.68, 0.34),
    Lighting(-125, 48, 0.76, 0.28),
    Lighting(130, 55, 0.50, 0.26),
    Lighting(25, 40, 0.42, 0.60),
)


def draw() -> Iterator[NDArray[np.uint8]]:
    """The grid in the order category, instance, elevation, azimuth, lighting.

    One block (972, 1, 64, 64) per toy.
    """
    for category in range(SIZES[0]):
        for instance in range(SIZES[1]):
            block = np.empty((*SIZES[2:], SIDE, SIDE), np.uint8)
            for azimuth in range(SIZES[3]):
                _photograph(
                    (category, instance),
                    azimuth,
                    range(SIZES[2]),
                    range(SIZES[4]),
                    block[:, azimuth],
                )
            yield block.reshape(-1, 1, SIDE, SIDE)


def views(factors: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The pictures (n, 1, 64, 64) of these rows of the five factors."""
    pictures = np.empty((len(factors), 1, 1, SIDE, SIDE), np.uint8)
    for picture, row in zip(pictures, factors.tolist(), strict=True):
        category, instance, elevation, azimuth, lighting = row
        _photograph((category, instance), azimuth, [elevation], [lighting], picture)
    return pictures[:, 0]


def _photograph(
    kind: tuple[int, int],
    azimuth: int,
    elevations: Sequence[int],
    lightings: Sequence[int],
    pictures: NDArray[np.uint8],
) -> None:
    """Fill `pictures` (elevations, lightings, 64, 64) with one side of a toy."""
    from data.look_alikes.caster import cast, no_hits  # compiling takes seconds
    from data.look_alikes.turntable import BLUR, Lamps, photograph, shadow

    scene, angle = toy(*kind), 360 / SIZES[3] * azimuth
    middle = (0.0, 0.0, scene.corners[:, :, 2].max() / 2)
    sky = Lighting(0, 90, 0, 0)
    lights = [*(LIGHTINGS[lighting] for lighting in lightings), sky]
    cameras = [
        camera(middle, LAMP_DISTANCE, angle + light.azimuth, light.elevation, LAMP_REACH)
        for light in lights
    ]
    maps = np.empty((2, len(lights), LAMP_SIDE, LAMP_SIDE), np.float32)
    lamps = Lamps(
        np.stack(cameras), np.array([(light.direct, light.ambient) for light in lights]), *maps
    )
    hits = no_hits(LAMP_SIDE)
    for light, place, depths, outline in zip(lights, cameras, *maps, strict=True):
        cast(scene, place, hits)
        depths[:] = hits.depths
        shadow(hits, 2 * BLUR if light is sky else BLUR, outline)
    hits = no_hits(SAMPLES * SIDE)
    for elevation, picture in zip(elevations, pictures, strict=True):
        eye = camera(middle, DISTANCE, angle, 30 + 5 * elevation, REACH)
        cast(scene, eye, hits)
        photograph(eye, hits, lamps, picture)
