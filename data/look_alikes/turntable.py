"""Photographs of toys on a light ground: lamps that cast soft shadows, on the ground and the toy.

What a lamp does not see is in shadow, so rays are cast from the lamp as from a camera, once for all
elevations of the camera. On the ground the toy's outline is blurred; on the toy depths are
compared.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from data.look_alikes.caster import NOTHING, Hits, point_at, project

Array = NDArray[np.float64]
Map = NDArray[np.float32]

TOY, GROUND = 0.62, 0.88  # the share of light that they reflect
OFFSET = 0.05  # a point of the toy is moved outwards so far before its shadow is computed
SKY_SHADE = 0.5  # of the ambient light that the ground loses straight below the toy
VIGNETTE = 0.05  # the share of light that is lost at the middle of the picture's sides
BLUR = 3  # of a shadow's edge, in pixels of the lamp's map


class Lamps(NamedTuple):
    """Lamps and their shadows, from `shadow`; the last lamp is the sky, straight above."""

    cameras: Array  # (lamps, 4, 3)
    strengths: Array  # (lamps, 2): direct light, ambient light
    depths: Map  # (lamps, size, size)
    outlines: Map  # (lamps, size, size): 1 in the toy's shadow on the ground, 0 outside of it


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def photograph(camera: Array, hits: Hits, lamps: Lamps, pictures: NDArray[np.uint8]) -> None:
    """What a camera hits, in the light of each lamp except the sky: (lamps - 1, side, side)."""
    count, side = pictures.shape[:2]
    shades = np.empty((side, side))
    ground_shadow(camera, lamps.cameras[count], lamps.outlines[count], shades)
    sky = 1 - SKY_SHADE * shades
    for lamp in range(count):
        ground_shadow(camera, lamps.cameras[lamp], lamps.outlines[lamp], shades)
        direct, ambient = lamps.strengths[lamp]
        seen = lamps.cameras[lamp], lamps.depths[lamp]
        _light(camera, hits, sky, shades, *seen, direct, ambient, pictures[lamp])


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _light(
    camera: Array,
    hits: Hits,
    sky: Array,
    shades: Array,
    lamp: Array,
    depths: Map,
    direct: float,
    ambient: float,
    picture: NDArray[np.uint8],
) -> None:
    """A view in the light of one lamp; `sky` and `shades` are for the light on the ground."""
    side = len(picture)
    samples = len(hits.depths) // side
    back_x, back_y, back_z = -lamp[3, 0], -lamp[3, 1], -lamp[3, 2]  # towards the lamp
    for row in range(side):
        for column in range(side):
            x, y = (2 * column + 1) / side - 1, 1 - (2 * row + 1) / side
            covered, toy, seen = 0, 0.0, 0.0
            for i in range(row * samples, (row + 1) * samples):
                for j in range(column * samples, (column + 1) * samples):
                    if hits.solids[i, j] == NOTHING:
                        continue
                    if covered == 0:  # shadows are soft: one computation per pixel is enough
                        seen = direct * _seen(depths, lamp, camera, hits, i, j)
                    covered += 1
                    up = hits.normals[i, j, 2]
                    facing = hits.normals[i, j, 0] * back_x + hits.normals[i, j, 1] * back_y
                    facing += up * back_z
                    toy += ambient * (0.72 + 0.28 * up) + seen * max(facing, 0.0)
            light = TOY * toy
            if covered < samples**2:
                lit = direct * back_z * (1 - shades[row, column])
                light += (samples**2 - covered) * GROUND * (ambient * sky[row, column] + lit)
            lens = 255 * (1 - VIGNETTE * (x * x + y * y)) / samples**2
            picture[row, column] = min(int(lens * light + 0.5), 255)


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def shadow(hits: Hits, blur: int, outline: Map) -> None:
    """The outline of what a lamp hits, blurred by a square box of 2 blur + 1 pixels."""
    side = len(outline)
    rows = np.zeros(outline.shape)
    for i in range(side):
        for j in range(side):
            if hits.solids[i, j] != NOTHING:
                rows[i, max(j - blur, 0) : j + blur + 1] += 1 / (2 * blur + 1)
    outline[:] = 0
    for i in range(side):
        around = outline[max(i - blur, 0) : i + blur + 1]
        for j in range(side):
            if rows[i, j] > 0:
                around[:, j] += rows[i, j] / (2 * blur + 1)


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def ground_shadow(camera: Array, lamp: Array, outline: Map, shades: Array) -> None:
    """The shadow, from 0 to 1, where a camera sees the ground in the middle of each pixel."""
    side = len(shades)
    matrix = np.empty((3, 3))
    _ground_to_lamp(camera, lamp, matrix)
    for row in range(side):
        for column in range(side):
            x, y = (2 * column + 1) / side - 1, 1 - (2 * row + 1) / side
            shades[row, column] = _at_ground(outline, matrix, x, y)


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _ground_to_lamp(camera: Array, lamp: Array, matrix: Array) -> None:
    """The matrix from (x, y, 1) of a camera's picture to (u, v, 1) of a lamp's, up to a factor.

    The ray d = forward + x right + y up meets the ground, z = 0, at eye - (eye_z / d_z) d. Times
    d_z that is linear in x, y and 1, and so are its products with the axes of the lamp.
    """
    for column, vector in enumerate((1, 2, 3)):
        for row, axis in enumerate((1, 2, 3)):
            product, length = 0.0, 0.0
            for k in range(3):
                ground = camera[0, k] * camera[vector, 2] - camera[0, 2] * camera[vector, k]
                product += lamp[axis, k] * (ground - lamp[0, k] * camera[vector, 2])
                length += lamp[axis, k] ** 2
            matrix[row, column] = product / length


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _at_ground(outline: Map, matrix: Array, x: float, y: float) -> float:
    """The shadow where a camera sees the ground, linear between the pixels of the outline."""
    side = len(outline)
    scale = 1 / (matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2])
    u = (matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2]) * scale
    v = (matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2]) * scale
    across, down = (u + 1) * side / 2 - 0.5, (1 - v) * side / 2 - 0.5
    if not (0 <= across < side - 1 and 0 <= down < side - 1):
        return 0.0
    i, j = int(down), int(across)
    right, lower = across - j, down - i
    first = outline[i, j] * (1 - right) + outline[i, j + 1] * right
    second = outline[i + 1, j] * (1 - right) + outline[i + 1, j + 1] * right
    return float(first * (1 - lower) + second * lower)


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _seen(depths: Map, lamp: Array, camera: Array, hits: Hits, i: int, j: int) -> float:
    """The share of a lamp's four nearest rays that reach a sample of the toy, by distance."""
    side, fine = len(depths), hits.depths.shape[0]
    px, py, pz = point_at(camera, (2 * j + 1) / fine - 1, 1 - (2 * i + 1) / fine, hits.depths[i, j])
    nx, ny, nz = hits.normals[i, j, 0], hits.normals[i, j, 1], hits.normals[i, j, 2]
    u, v, depth = project(lamp, px + OFFSET * nx, py + OFFSET * ny, pz + OFFSET * nz)
    across, down = (u + 1) * side / 2 - 0.5, (1 - v) * side / 2 - 0.5
    column = min(max(int(across), 0), side - 2)
    row = min(max(int(down), 0), side - 2)
    right, lower = across - column, down - row
    total = 0.0
    for k in range(2):
        weight = lower if k else 1 - lower
        if depths[row + k, column] >= depth:
            total += weight * (1 - right)
        if depths[row + k, column + 1] >= depth:
            total += weight * right
    return total
