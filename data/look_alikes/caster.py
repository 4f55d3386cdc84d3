"""A small ray caster: for each sample of a picture the solid that it shows, depth and normal.

For each solid, rays are cast only through the rectangle of the picture that it can cover, and the
nearest hit is kept. A lamp is treated as a camera: what it does not see is in shadow.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.base.compiled import compiled
from data.look_alikes.scenes import BALL, BLOCK, ROD, Scene

Array = NDArray[np.float64]
XYZ = tuple[float, float, float]
Entry = tuple[float, float, float, float]  # a depth, infinite for none, and a normal

NOTHING = -1
MISS = math.inf


class Hits(NamedTuple):
    """What every ray of a square picture meets first; row 0 is at the top."""

    depths: Array  # (side, side): distance along the camera's `forward`, infinite for nothing
    solids: NDArray[np.int32]  # (side, side): the solid's place in the scene, or NOTHING
    normals: NDArray[np.float32]  # (side, side, 3): of length 1, in the scene


def no_hits(side: int) -> Hits:
    """Memory for the hits of a picture, which can be used again for the next one."""
    square = (side, side)
    return Hits(
        np.full(square, MISS),
        np.full(square, NOTHING, np.int32),
        np.zeros((*square, 3), np.float32),
    )


@compiled
def cast(scene: Scene, camera: Array, hits: Hits) -> None:
    """Overwrite `hits` with what a camera sees of a scene."""
    depths, solids, normals = hits
    side = depths.shape[0]
    depths[:] = MISS
    solids[:] = NOTHING
    for solid in range(scene.kinds.size):
        kind, inverse = scene.kinds[solid], scene.inverses[solid]
        first, second = scene.shapes[solid, 0], scene.shapes[solid, 1]
        # the camera in the solid's frame: one multiplication here instead of one per ray
        eye = times(inverse, camera[0] - scene.frames[solid, :, 3])
        right = times(inverse, camera[1])
        up = times(inverse, camera[2])
        forward = times(inverse, camera[3])
        top, bottom, left, end = _rectangle(scene, solid, camera, side)
        for row in range(top, bottom):
            y = 1 - (2 * row + 1) / side
            for column in range(left, end):
                x = (2 * column + 1) / side - 1
                dx = forward[0] + x * right[0] + y * up[0]
                dy = forward[1] + x * right[1] + y * up[1]
                dz = forward[2] + x * right[2] + y * up[2]
                depth, nx, ny, nz = _enter(kind, first, second, eye[0], eye[1], eye[2], dx, dy, dz)
                if depth < depths[row, column]:
                    depths[row, column] = depth
                    solids[row, column] = solid
                    # normals are transformed to the scene by the transposed inverse
                    sx = nx * inverse[0, 0] + ny * inverse[1, 0] + nz * inverse[2, 0]
                    sy = nx * inverse[0, 1] + ny * inverse[1, 1] + nz * inverse[2, 1]
                    sz = nx * inverse[0, 2] + ny * inverse[1, 2] + nz * inverse[2, 2]
                    scale = 1 / math.sqrt(sx * sx + sy * sy + sz * sz)
                    normals[row, column, 0] = sx * scale
                    normals[row, column, 1] = sy * scale
                    normals[row, column, 2] = sz * scale


@compiled
def project(camera: Array, px: float, py: float, pz: float) -> XYZ:
    """Where a camera sees a point: x and y of the picture in [-1, 1], and the depth."""
    eye, right, up, forward = camera
    qx, qy, qz = px - eye[0], py - eye[1], pz - eye[2]
    depth = qx * forward[0] + qy * forward[1] + qz * forward[2]
    x = (qx * right[0] + qy * right[1] + qz * right[2]) / (
        depth * (right[0] * right[0] + right[1] * right[1] + right[2] * right[2])
    )
    y = (qx * up[0] + qy * up[1] + qz * up[2]) / (
        depth * (up[0] * up[0] + up[1] * up[1] + up[2] * up[2])
    )
    return x, y, depth


@compiled
def point_at(camera: Array, x: float, y: float, depth: float) -> XYZ:
    """The point that a camera sees at (x, y) of the picture: the reverse of `project`."""
    eye, right, up, forward = camera
    return (
        eye[0] + depth * (forward[0] + x * right[0] + y * up[0]),
        eye[1] + depth * (forward[1] + x * right[1] + y * up[1]),
        eye[2] + depth * (forward[2] + x * right[2] + y * up[2]),
    )


@compiled
def times(matrix: Array, vector: Array | XYZ) -> XYZ:
    x, y, z = vector
    return (
        matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2] * z,
        matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2] * z,
        matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2] * z,
    )


@compiled
def _rectangle(scene: Scene, solid: int, camera: Array, side: int) -> tuple[int, int, int, int]:
    """The rows and columns that hold the corners of the box around a solid."""
    left, right, low, high = np.inf, -np.inf, np.inf, -np.inf
    for px, py, pz in scene.corners[solid]:
        x, y, _ = project(camera, px, py, pz)
        left, right = min(left, x), max(right, x)
        low, high = min(low, y), max(high, y)
    half = side / 2
    return (
        max(int(np.floor((1 - high) * half)), 0),
        min(int(np.ceil((1 - low) * half)), side),
        max(int(np.floor((1 + left) * half)), 0),
        min(int(np.ceil((1 + right) * half)), side),
    )


@compiled
def _enter(
    kind: int,
    first: float,
    second: float,
    ox: float,
    oy: float,
    oz: float,
    dx: float,
    dy: float,
    dz: float,
) -> Entry:
    """Where the ray o + t d enters a solid, in the solid's frame: t and the normal there."""
    entry: Entry
    if kind == BLOCK:
        entry = _enter_block(first, second, ox, oy, oz, dx, dy, dz)
        return entry
    if kind == ROD:
        entry = _enter_rod(first, ox, oy, oz, dx, dy, dz)
        return entry
    if kind == BALL:
        entry = _enter_ball(ox, oy, oz, dx, dy, dz)
        return entry
    # A capsule: its cylinder, or the ball at the end beyond which the ray enters the cylinder.
    a = dx * dx + dy * dy
    b = ox * dx + oy * dy
    inside = b * b - a * (ox * ox + oy * oy - 1)
    if inside < 0:
        return MISS, 0.0, 0.0, 0.0
    t = (-b - math.sqrt(inside)) / max(a, 1e-300)
    z = oz + t * dz
    if abs(z) <= first:
        return t, ox + t * dx, oy + t * dy, 0.0
    entry = _enter_ball(ox, oy, oz - (first if z > 0 else -first), dx, dy, dz)
    return entry


@compiled
def _enter_ball(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float) -> Entry:
    a = dx * dx + dy * dy + dz * dz
    b = ox * dx + oy * dy + oz * dz
    inside = b * b - a * (ox * ox + oy * oy + oz * oz - 1)
    if inside < 0:
        return MISS, 0.0, 0.0, 0.0
    t = (-b - math.sqrt(inside)) / a
    return t, ox + t * dx, oy + t * dy, oz + t * dz


@compiled
def _enter_rod(
    taper: float, ox: float, oy: float, oz: float, dx: float, dy: float, dz: float
) -> Entry:
    """The nearest of two places on the side, r = middle + slope z, and one on the nearer end."""
    middle, slope = (taper + 1) / 2, (taper - 1) / 2
    best, nx, ny, nz = MISS, 0.0, 0.0, 0.0
    radius = middle + slope * oz
    a = dx * dx + dy * dy - slope * slope * dz * dz
    b = ox * dx + oy * dy - slope * radius * dz
    inside = b * b - a * (ox * ox + oy * oy - radius * radius)
    if inside >= 0 and a != 0:
        for sign in (-1.0, 1.0):
            t = (-b + sign * math.sqrt(inside)) / a
            z = oz + t * dz
            if 0 < t < best and abs(z) <= 1:
                best, nx, ny, nz = t, ox + t * dx, oy + t * dy, -slope * (middle + slope * z)
    if dz != 0:
        end = -1.0 if dz > 0 else 1.0
        t = (end - oz) / dz
        x, y, radius = ox + t * dx, oy + t * dy, middle + slope * end
        if 0 < t < best and x * x + y * y <= radius * radius:
            best, nx, ny, nz = t, 0.0, 0.0, end
    return best, nx, ny, nz


@compiled
def _enter_block(
    wide: float, deep: float, ox: float, oy: float, oz: float, dx: float, dy: float, dz: float
) -> Entry:
    """Six half-spaces n·p ≤ k: the ray is inside after it entered all and before it left one."""
    enter, leave = 0.0, MISS
    nx, ny, nz = 0.0, 0.0, 0.0
    for plane in range(6):
        sign = 1.0 if plane & 1 else -1.0
        px, py, pz, k = 0.0, 0.0, sign, 1.0
        if plane < 2:
            px, pz, k = sign, (1 - wide) / 2, (1 + wide) / 2
        elif plane < 4:
            py, pz, k = sign, (1 - deep) / 2, (1 + deep) / 2
        speed = px * dx + py * dy + pz * dz
        distance = k - (px * ox + py * oy + pz * oz)
        if speed < 0:
            if distance / speed > enter:
                enter, nx, ny, nz = distance / speed, px, py, pz
        elif speed > 0:
            leave = min(leave, distance / speed)
        elif distance < 0:
            return MISS, 0.0, 0.0, 0.0
    if 0 < enter < leave:
        return enter, nx, ny, nz
    return MISS, 0.0, 0.0, 0.0
