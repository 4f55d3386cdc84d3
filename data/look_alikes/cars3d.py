"""A look-alike of Cars3D (Reed et al., 2015): 183 cars, 24 azimuths, 4 elevations, on white.

As in the real pictures every car has the same length, the camera is so far away that there is no
perspective, the light comes from beside the camera, and there is no ground.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.look_alikes import cars
from data.look_alikes.scenes import Scene, camera, scene

ELEVATIONS = (0.0, 6.0, 12.0, 18.0)  # degrees
AZIMUTHS = 24
CARS = 183
SIDE = 64
SAMPLES = 2  # per pixel and axis

DISTANCE = 60.0  # of the camera, in lengths of a car: rays are nearly parallel
REACH = 0.568  # half the picture's width: a car takes 56 pixels
MIDDLE = (0.0, 0.0, 0.15)  # of the picture

# The number of cars of each kind, and their colours.
KINDS = {
    "saloon": 42, "hatchback": 30, "estate": 14, "van": 6, "people carrier": 14, "off-roader": 22,
    "pick-up": 6, "sports car": 24, "racer": 9, "roadster": 8, "limousine": 4, "beetle": 4,
}  # fmt: skip
COLOURS = np.array([
    (128, 128, 130), (168, 170, 172), (90, 92, 96), (225, 226, 228), (30, 30, 33), (50, 54, 66),
    (170, 22, 26), (125, 12, 20), (22, 84, 170), (86, 170, 220), (200, 168, 20), (214, 106, 22),
    (34, 110, 40), (84, 92, 60), (150, 146, 100), (196, 160, 84), (120, 40, 190), (226, 124, 124),
])  # fmt: skip
COLOUR_WEIGHTS = np.array([14, 14, 9, 11, 9, 6, 9, 5, 6, 4, 4, 3, 4, 3, 3, 2, 1, 1])


def draw() -> Iterator[NDArray[np.uint8]]:
    """The grid in the order elevation, azimuth, car; one block (183, 3, 64, 64) per view."""
    fleet = np.arange(CARS)
    for elevation in range(len(ELEVATIONS)):
        for azimuth in range(AZIMUTHS):
            yield views(np.stack(np.broadcast_arrays(elevation, azimuth, fleet), axis=1))


def views(factors: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The pictures (n, 3, 64, 64) of these rows of elevation, azimuth and car."""
    from data.look_alikes.caster import cast, no_hits  # compiling takes seconds
    from data.look_alikes.shading import paint_car

    pictures = np.empty((len(factors), 3, SIDE, SIDE), np.uint8)
    hits = no_hits(SAMPLES * SIDE)
    for picture, (elevation, azimuth, number) in zip(pictures, factors.tolist(), strict=True):
        eye = camera(MIDDLE, DISTANCE, 360 / AZIMUTHS * azimuth, ELEVATIONS[elevation], REACH)
        car = _car(number)
        cast(car.scene, eye, hits)
        paint_car(*car, eye, hits, picture)
    return pictures


class Car(NamedTuple):
    scene: Scene
    colours: NDArray[np.float64]  # RGB of every paint, and of the rims at the end
    pillar: float


@cache
def _car(number: int) -> Car:
    stream = np.random.default_rng([CARS, number])
    kinds = np.repeat(list(KINDS), list(KINDS.values()))
    # 50 and 183 have no common factor: every kind gets its number of cars, in mixed order
    form = cars.varied(cars.KINDS[kinds[50 * number % CARS]], stream)
    body = COLOURS[stream.choice(len(COLOURS), p=COLOUR_WEIGHTS / COLOUR_WEIGHTS.sum())]
    body = body + stream.uniform(-16, 16) + stream.uniform(-5, 5, 3)
    pale_glass = stream.random() < 0.25
    glass = stream.uniform((140, 175, 185), (180, 205, 215)) if pale_glass else [28, 30, 34]
    rim = 3 * [stream.choice([235, 210, 170, 90])]
    tyre, lamp, tail, trim, plate = [24] * 3, [235, 235, 215], [190, 20, 15], [30] * 3, [200] * 3
    colours = np.array([body, glass, tyre, lamp, tail, trim, plate, rim])
    return Car(scene(cars.car(form)), np.clip(colours, 0, 255).astype(np.float64), form.pillar)
