"""Solids, scenes of solids, and cameras: the input of the ray caster.

A solid has its own frame, from which an affine map leads to the scene. In that frame it is simple:

- ball: x² + y² + z² ≤ 1
- rod: |z| ≤ 1 and x² + y² ≤ r², where r goes from 1 at z = -1 to `shape[0]` at z = 1
- block: |z| ≤ 1, |x| ≤ a, |y| ≤ b, where a and b go from 1 to `shape[0]` and `shape[1]`
- capsule: all points at most 1 away from the axis |z| ≤ `shape[0]`

Scenes have z upwards. A camera is a (4, 3) array: the eye, then the vectors `right`, `up` and
`forward`; the ray through (x, y) of the picture, both in [-1, 1], is forward + x right + y up.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

BALL, ROD, BLOCK, CAPSULE = range(4)  # if they change, edit caster.py too: its cache has them

Vector = tuple[float, float, float]
Array = NDArray[np.float64]


class Solid(NamedTuple):
    kind: int
    frame: Array  # (3, 4): the frame's three axes and its origin, as columns
    shape: tuple[float, float] = (1.0, 1.0)
    paint: int = 0  # the material, for shading


class Scene(NamedTuple):
    """Solids as arrays with one row each."""

    kinds: NDArray[np.int64]
    frames: Array  # (solids, 3, 4), own frame to scene
    inverses: Array  # (solids, 3, 3): scene to own frame, applied after the origin is subtracted
    corners: Array  # (solids, 8, 3) of boxes that hold them
    shapes: Array  # (solids, 2)
    paints: NDArray[np.int64]


def scene(solids: Sequence[Solid]) -> Scene:
    frames = np.stack([solid.frame for solid in solids])
    return Scene(
        np.array([solid.kind for solid in solids]),
        frames,
        np.linalg.inv(frames[:, :, :3]).astype(np.float64),
        np.stack([corners(solid) for solid in solids]),
        np.array([solid.shape for solid in solids], np.float64),
        np.array([solid.paint for solid in solids]),
    )


def ball(centre: Vector, radii: float | Vector, paint: int = 0, pitch: float = 0.0) -> Solid:
    """A ball, or an ellipsoid whose x axis is raised by `pitch` degrees."""
    angle = np.radians(pitch)
    cos, sin = np.cos(angle), np.sin(angle)
    raised = np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]])
    return Solid(BALL, _frame(raised * np.broadcast_to(radii, 3), centre), paint=paint)


def rod(
    start: Vector, end: Vector, radius: float, end_radius: float | None = None, paint: int = 0
) -> Solid:
    """A cylinder or a cone, cut off at both ends."""
    axes, _ = _around(start, end)
    axes[:, :2] *= radius
    taper = 1.0 if end_radius is None else end_radius / radius
    return Solid(ROD, _frame(axes, _middle(start, end)), (taper, 1.0), paint)


def capsule(start: Vector, end: Vector, radius: float, paint: int = 0) -> Solid:
    """All points within `radius` of a line."""
    axes, length = _around(start, end)
    axes[:, 2] *= 2 / length
    return Solid(
        CAPSULE, _frame(axes * radius, _middle(start, end)), (length / 2 / radius, 1.0), paint
    )


def block(
    start: Vector,
    end: Vector,
    size: tuple[float, float],
    end_size: tuple[float, float] | None = None,
    axis: int = 2,
    paint: int = 0,
) -> Solid:
    """What lies between two rectangles that are both perpendicular to one axis of the scene.

    `start` and `end` are the rectangles' centres, the sizes their widths along the two other
    axes in the order x, y, z. Where the centres differ in more than `axis`, the block leans.
    """
    others = [other for other in range(3) if other != axis]
    axes = np.zeros((3, 3))
    axes[others, [0, 1]] = np.array(size) / 2
    axes[:, 2] = (np.array(end) - np.array(start)) / 2
    wide, high = end_size or size
    return Solid(BLOCK, _frame(axes, _middle(start, end)), (wide / size[0], high / size[1]), paint)


def camera(
    target: ArrayLike, distance: float, azimuth: float, elevation: float, reach: float
) -> Array:
    """A camera that looks at `target` from a direction in degrees, azimuth 0 being +x.

    `reach` is half the width of the picture, measured at the target.
    """
    turn, rise = math.radians(azimuth), math.radians(elevation)
    backward = np.array(
        [math.cos(rise) * math.cos(turn), math.cos(rise) * math.sin(turn), math.sin(rise)]
    )
    right = np.array([-math.sin(turn), math.cos(turn), 0.0])
    up = np.array(
        [-math.sin(rise) * math.cos(turn), -math.sin(rise) * math.sin(turn), math.cos(rise)]
    )
    spread = reach / distance
    return np.stack(
        [np.asarray(target) + distance * backward, right * spread, up * spread, -backward]
    )


def corners(solid: Solid) -> Array:
    """The corners (8, 3) of a box that holds a solid."""
    wide, deep, high = 1.0, 1.0, 1.0
    if solid.kind == ROD:
        wide = deep = max(1.0, solid.shape[0])
    elif solid.kind == BLOCK:
        wide, deep = max(1.0, solid.shape[0]), max(1.0, solid.shape[1])
    elif solid.kind == CAPSULE:
        high += solid.shape[0]
    box = np.array([(x, y, z) for x in (-wide, wide) for y in (-deep, deep) for z in (-high, high)])
    return np.asarray(box @ solid.frame[:, :3].T + solid.frame[:, 3], dtype=np.float64)


def _frame(axes: Array, origin: ArrayLike) -> Array:
    return np.column_stack([axes, np.asarray(origin, np.float64)])


def _middle(start: Vector, end: Vector) -> Array:
    middle: Array = np.mean([start, end], axis=0)
    return middle


def _around(start: Vector, end: Vector) -> tuple[Array, float]:
    """Axes: two perpendicular ones of length 1, and half of the vector from start to end."""
    vector = np.array(end, np.float64) - np.array(start)
    length = float(np.linalg.norm(vector))
    along = vector / length
    other = np.eye(3)[np.argmin(np.abs(along))]
    first = np.cross(other, along)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(along, first), vector / 2]), length
