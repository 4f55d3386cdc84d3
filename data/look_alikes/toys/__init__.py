"""Fifty toys of simple solids: ten animals, people, aeroplanes, trucks and cars each.

A row of numbers defines one toy. x points to the front, z upwards from the ground. Each toy has
its own units: `toy` scales all to the same size.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from data.look_alikes import cars
from data.look_alikes.scenes import Scene, corners, scene
from data.look_alikes.toys.aeroplanes import AEROPLANES, aeroplane
from data.look_alikes.toys.animals import ANIMALS, animal
from data.look_alikes.toys.people import PEOPLE, person
from data.look_alikes.toys.trucks import TRUCKS, truck


@cache
def toy(category: int, instance: int) -> Scene:
    """A toy on the middle of the ground that just fits into a ball of radius 1."""
    make, rows = TOYS[category]
    solids = list(make(*rows[instance]))
    points = np.concatenate([corners(solid) for solid in solids])
    low, high = points.min(0), points.max(0)
    middle = (low + high) / 2
    size = np.linalg.norm(points - middle, axis=1).max()
    ground = np.array([middle[0], middle[1], low[2]])
    frames = [np.column_stack([s.frame[:, :3], s.frame[:, 3] - ground]) / size for s in solids]
    return scene([s._replace(frame=frame) for s, frame in zip(solids, frames, strict=True)])


KINDS = cars.KINDS
CARS = (
    (KINDS["saloon"],),
    (KINDS["hatchback"],),
    (KINDS["van"],),
    (KINDS["off-roader"],),
    (KINDS["pick-up"],),
    (KINDS["racer"],),
    (KINDS["roadster"],),
    (KINDS["beetle"],),
    (replace(KINDS["estate"], height=0.30, width=0.36),),
    (replace(KINDS["sports car"], wing=0.07, width=0.46),),
)

TOYS = (
    (animal, ANIMALS),
    (person, PEOPLE),
    (aeroplane, AEROPLANES),
    (truck, TRUCKS),
    (cars.car, CARS),
)
