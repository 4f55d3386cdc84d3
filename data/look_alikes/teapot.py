"""The teapot that Martin Newell measured in 1975: 32 Bézier patches as triangles.

The numbers are his control points, as in freeglut (src/fg_teapot_data.h) and three.js
(examples/jsm/geometries/TeapotGeometry.js), with z upwards. Both list every point. Here a part is a
curve and a rule, because Newell drew each part so: round parts are a profile that is turned, and
handle and spout are a row of loops that are symmetric in y.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SUBDIVISIONS = 10  # of a patch's sides

Array = NDArray[np.float64]


class Mesh(NamedTuple):
    """A surface of triangles, whose normals point outwards."""

    points: Array  # (points, 3)
    normals: Array  # (points, 3), of length 1
    triangles: NDArray[np.int64]  # (triangles, 3): numbers of points


# Profiles as (radius, height): four points make a curve, and the last is the next curve's first.
RIM = ((1.4, 2.4), (1.3375, 2.53125), (1.4375, 2.53125), (1.5, 2.4))
BODY = (
    (1.5, 2.4), (1.75, 1.875), (2, 1.35), (2, 0.9), (2, 0.45), (1.5, 0.225), (1.5, 0.15),
)  # fmt: skip
LID = (
    (0, 3.15), (0.8, 3.15), (0, 2.85), (0.2, 2.7), (0.4, 2.55), (1.3, 2.55), (1.3, 2.4),
)  # fmt: skip
BOTTOM = ((1.5, 0.15), (1.5, 0.075), (1.425, 0), (0, 0))
PROFILES = (RIM, BODY, LID, BOTTOM)

# A quarter of a circle of radius 1; on the knob of the lid its middle points differ a little.
ROUND, KNOB_RADIUS, KNOB_ROUND = 0.56, 0.8, 0.45 / 0.8

# Loops as (inner x, inner z, outer x, outer z, half the width): four make a tube.
HANDLE = (
    (-1.6, 2.025, -1.5, 2.25, 0.3), (-2.3, 2.025, -2.5, 2.25, 0.3), (-2.7, 2.025, -3, 2.25, 0.3),
    (-2.7, 1.8, -3, 1.8, 0.3), (-2.7, 1.575, -3, 1.35, 0.3), (-2.5, 1.125, -2.65, 0.9375, 0.3),
    (-2, 0.9, -1.9, 0.6, 0.3),
)  # fmt: skip
SPOUT = (
    (1.7, 1.425, 1.7, 0.6, 0.66), (2.6, 1.425, 3.1, 0.825, 0.66), (2.3, 2.1, 2.4, 2.025, 0.25),
    (2.7, 2.4, 3.3, 2.4, 0.25), (2.8, 2.475, 3.525, 2.49375, 0.25),
    (2.9, 2.475, 3.45, 2.5125, 0.15), (2.8, 2.4, 3.2, 2.4, 0.15),
)  # fmt: skip
TUBES = (HANDLE, SPOUT)


def patches() -> Array:
    """The control points: (32, 4, 4, 3)."""
    rows = [_turned(profile) for profile in PROFILES] + [_tube(loops) for loops in TUBES]
    # rows of four points, (rows, sides, 4, 3): every third row begins a patch
    return np.concatenate(
        [
            part[first : first + 4].swapaxes(0, 1)
            for part in rows
            for first in range(0, len(part) - 1, 3)
        ]
    )


def mesh(subdivisions: int = SUBDIVISIONS) -> Mesh:
    """The surface; what has no area, at the poles, is left out."""
    steps = np.linspace(0, 1, subdivisions + 1)
    weights = np.stack(
        [(1 - steps) ** 3, 3 * steps * (1 - steps) ** 2, 3 * steps**2 * (1 - steps), steps**3],
        axis=1,
    )
    grids = np.einsum("ui,vj,pijx->puvx", weights, weights, patches())
    points, places = np.unique(grids.reshape(-1, 3).round(9), axis=0, return_inverse=True)
    numbers = places.reshape(grids.shape[:3])
    here, right, below = numbers[:, :-1, :-1], numbers[:, :-1, 1:], numbers[:, 1:, :-1]
    corner = numbers[:, 1:, 1:]
    halves = np.stack([[here, right, below], [right, corner, below]])
    triangles = np.moveaxis(halves, 1, -1).reshape(-1, 3)
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    return Mesh(points, _normals(points, triangles), triangles)


def _normals(points: Array, triangles: NDArray[np.int64]) -> Array:
    """At every point the mean of its triangles' normals, weighted by their areas."""
    a, b, c = points[triangles.T]
    sums = np.zeros_like(points)
    for corner in triangles.T:
        np.add.at(sums, corner, np.cross(b - a, c - a))
    normals: Array = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return normals


def _turned(profile: tuple[tuple[float, float], ...]) -> Array:
    """Quarters of circles: (points of the profile, 4 quarters, 4, 3)."""
    rows = np.empty((len(profile), 4, 4, 3))
    for row, (radius, height) in zip(rows, profile, strict=True):
        middle = KNOB_ROUND if radius == KNOB_RADIUS else ROUND
        x, y = radius * np.array([(1, 0), (1, -middle), (middle, -1), (0, -1)]).T
        for quarter in row:
            quarter[:] = np.stack([x, y, np.full(4, height)], axis=1)
            x, y = y, -x
    return rows


def _tube(loops: tuple[tuple[float, ...], ...]) -> Array:
    """Halves of loops: (loops, 2 halves, 4, 3)."""
    rows = np.empty((len(loops), 2, 4, 3))
    for row, (inner_x, inner_z, outer_x, outer_z, width) in zip(rows, loops, strict=True):
        inner, outer = (inner_x, 0, inner_z), (outer_x, 0, outer_z)
        row[0] = [inner, (inner_x, -width, inner_z), (outer_x, -width, outer_z), outer]
        row[1] = [outer, (outer_x, width, outer_z), (inner_x, width, inner_z), inner]
    return rows
