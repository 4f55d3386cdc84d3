"""Coloured squares, triangles and circles, as in Spriteworld (Watters et al., 2019, COBRA).

A sprite has a centre in [0, 1]², y upwards, a shape, and a hue, a saturation and a value in [0, 1].
All sprites have one size: a shape of scale s covers s² of the frame. Later sprites are on top.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

SHAPES = ("square", "triangle", "circle")
SQUARE, TRIANGLE, CIRCLE = range(len(SHAPES))
FACTORS = ("x", "y", "shape", "hue", "saturation", "value")
SCALE = 0.13

# Where Spriteworld's configurations for COBRA draw factors from.
Range = tuple[float, float]
PLACES: Range = (0.1, 0.9)  # of x and of y
HUES: Range = (0.0, 1.0)
SATURATIONS: Range = (0.3, 1.0)
VALUES: Range = (0.9, 1.0)

# Of area SCALE², as all of Spriteworld's shapes; its circle has 30 corners, ours is round.
HALF_SIDE = SCALE / 2  # of the square
INRADIUS = SCALE / 27**0.25  # of the triangle, whose corners are twice as far and one is on top
RADIUS = SCALE / math.sqrt(math.pi)
REACH = 2 * INRADIUS  # no shape has a point that is farther from its centre


@dataclass(frozen=True, eq=False)
class Sprites:
    """Scenes of sprites: all arrays are (scenes, sprites), positions (scenes, sprites, 2)."""

    positions: Reals
    shapes: NDArray[np.int64]  # places in SHAPES
    hues: Reals
    saturations: Reals
    values: Reals
    present: NDArray[np.bool_]  # whether the scene has this sprite: scenes may have fewer than most

    def factors(self) -> Reals:
        """The numbers that describe each sprite: (scenes, sprites, 6), as FACTORS says."""
        colours = self.hues, self.saturations, self.values
        return np.concatenate(
            [self.positions, np.stack([self.shapes, *colours], axis=-1)], axis=-1, dtype=np.float64
        )

    def alone(self) -> Sprites:
        """Every sprite as a scene of its own: sprite s of scene i becomes scene i · sprites + s."""
        return Sprites(
            positions=self.positions.reshape(-1, 1, 2),
            shapes=self.shapes.reshape(-1, 1),
            hues=self.hues.reshape(-1, 1),
            saturations=self.saturations.reshape(-1, 1),
            values=self.values.reshape(-1, 1),
            present=self.present.reshape(-1, 1),
        )


def from_factors(factors: Reals) -> Sprites:
    """Scenes of one sprite, of rows of FACTORS: (scenes, 6)."""
    x, y, shape, hue, saturation, value = np.asarray(factors, np.float64).T[..., None]
    present = np.ones(x.shape, np.bool_)
    positions = np.stack([x, y], axis=-1)
    return Sprites(positions, np.rint(shape).astype(np.int64), hue, saturation, value, present)


def inside(shape: NDArray[np.int64], x: Reals, y: Reals) -> NDArray[np.bool_]:
    """Whether points at (x, y) from a sprite's centre are in its shape, or on its edge."""
    in_square = np.maximum(abs(x), abs(y)) <= HALF_SIDE
    in_triangle = (-y <= INRADIUS) & (math.sqrt(3) * abs(x) + y <= 2 * INRADIUS)
    in_circle = x * x + y * y <= RADIUS**2
    chosen: NDArray[np.bool_] = np.where(
        shape == SQUARE, in_square, np.where(shape == TRIANGLE, in_triangle, in_circle)
    )
    return chosen


def rgb(hues: Reals, saturations: Reals, values: Reals) -> Reals:
    """Red, green and blue in [0, 1], on a new last axis. Hues 0 and 1 are the same red."""
    sextant = np.stack([(start + 6 * hues) % 6 for start in (5, 3, 1)], axis=-1)
    missing = np.clip(np.minimum(sextant, 4 - sextant), 0, 1)
    mixed: Reals = values[..., None] * (1 - saturations[..., None] * missing)
    return mixed
