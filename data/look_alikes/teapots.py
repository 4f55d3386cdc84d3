"""A look-alike of the teapots of Eastwood and Williams (2018): one teapot on white, in any colour.

Known of the original: OpenDR drew it from the mean of a family of teapots, centred, turned by -90°
about z and scaled by 0.09; the object turns by the azimuth; the lens has 35 mm; the light of a
point is 0.9 max(n · l, 0) + 0.5, and a colour times light is cut off at 1; multisampling.

Not known, so chosen here: the camera's distance, at which the teapot almost fills the picture from
all sides; the sensor's width; the direction of the light, 45° above the camera of elevation 0. The
original's teapot is another, and its pixels may not be square (docs/choices.md).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from data.base.pixels import SIDE
from data.look_alikes.scenes import camera
from data.look_alikes.teapot import Mesh, mesh

SCALE = 0.09
SENSOR, LENS = 32.0, 35.0  # mm; 32 is the width that Blender and its users assume
DISTANCE = 0.84
LIGHT = (0.0, -math.sqrt(0.5), math.sqrt(0.5))  # from the camera's side, 45° high
DIRECT, AMBIENT = 0.9, 0.5
SAMPLES = 3  # per pixel and axis: nine, where the original has eight

STREAM = "factors of the teapots' look-alike"
BLOCK = 250  # pictures drawn between two reports of progress

Array = NDArray[np.float64]


def factors(count: int, largest: Sequence[float]) -> Array:
    """Independent and uniform from 0 to `largest`: (count, factors). The first rows are the same
    for any number of rows."""
    seed = int.from_bytes(hashlib.sha256(STREAM.encode()).digest(), "big")
    values: Array = np.random.default_rng(seed).random((count, len(largest))) * largest
    return values


def draw(points: Array) -> Iterator[NDArray[np.uint8]]:
    """The pictures of these factors, (some, 3, 64, 64) at a time."""
    for first in range(0, len(points), BLOCK):
        yield views(points[first : first + BLOCK])


def views(points: Array) -> NDArray[np.uint8]:
    """The pictures (n, 3, 64, 64) of rows of azimuth, elevation, red, green, blue.

    The light does not depend on the colour, so brightness is computed once for all channels.
    """
    from data.look_alikes.rasteriser import paint, rasterise  # compiling takes seconds

    pictures = np.empty((len(points), 3, SIDE, SIDE), np.uint8)
    nearness, shades = np.empty((2, SAMPLES * SIDE, SAMPLES * SIDE))
    teapot = _teapot()
    for picture, (azimuth, elevation, *colour) in zip(pictures, points.tolist(), strict=True):
        turned = _about_z(azimuth)
        facing = np.maximum(teapot.normals @ (turned.T @ LIGHT), 0)
        eye = camera(
            (0, 0, 0), DISTANCE, -90, math.degrees(elevation), DISTANCE * SENSOR / LENS / 2
        )
        surface = teapot.points @ turned.T, DIRECT * facing + AMBIENT, teapot.triangles
        rasterise(eye, *surface, nearness, shades)
        paint(shades, np.array(colour), picture)
    return pictures


@cache
def _teapot() -> Mesh:
    """At azimuth 0 the spout points to the camera, which is at -y."""
    points, normals, triangles = mesh()
    turn = _about_z(-math.pi / 2)
    return Mesh((points - points.mean(axis=0)) @ turn.T * SCALE, normals @ turn.T, triangles)


def _about_z(angle: float) -> Array:
    """The matrix that turns by this angle, from x to y."""
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([(cos, -sin, 0.0), (sin, cos, 0.0), (0.0, 0.0, 1.0)])
