"""Standardised latents and their second moments, in few passes over the points.

Latents are rows: (latents, points), contiguous over the points, so that a row stays in the cache
from one pass to the next.
"""

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled

CHUNK = 512  # points of all latents, which stay in the cache for all products
SMALL = 1e-300  # reciprocals of smaller numbers may overflow

Matrix = NDArray[np.float64]


@compiled("contract", "reassoc")
def standardise(latents: Matrix, low: Matrix, high: Matrix) -> None:
    """Give each row mean 0 and variance 1, of whatever scale it is; 0 where all points are equal.

    `low` and `high` are the rows' extremes.
    """
    count, points = latents.shape
    for row in range(count):
        values = latents[row]
        middle, half = (low[row] + high[row]) / 2, (high[row] - low[row]) / 2
        if half == 0.0:
            values[:] = 0.0
            continue
        if half < SMALL:
            for point in range(points):
                values[point] = (values[point] - middle) / half
            middle, half = 0.0, 1.0
        total, scale = 0.0, 1.0 / half
        for point in range(points):  # from -1 to 1: no square overflows or vanishes
            values[point] = (values[point] - middle) * scale
            total += values[point]
        mean, square = total / points, 0.0
        for point in range(points):
            values[point] -= mean
            square += values[point] * values[point]
        scale = 1.0 / np.sqrt(square / points)
        for point in range(points):
            values[point] *= scale


@compiled("contract", "reassoc")
def second_moments(latents: NDArray[np.float32], first: int, end: int) -> tuple[Matrix, Matrix]:
    """XX' (latents, latents) and sums (latents,) over the points from `first` to before `end`, in
    float64."""
    count = len(latents)
    gram, sums = np.zeros((count, count)), np.zeros(count)
    chunk = np.empty((count, CHUNK))
    for start in range(first, end, CHUNK):
        size = min(CHUNK, end - start)
        for a in range(count):
            total = 0.0
            for point in range(size):
                chunk[a, point] = latents[a, start + point]
                total += chunk[a, point]
            sums[a] += total
            for b in range(a + 1):
                product = 0.0
                for point in range(size):
                    product += chunk[a, point] * chunk[b, point]
                gram[a, b] += product
    for a in range(count):
        for b in range(a):
            gram[b, a] = gram[a, b]
    return gram, sums
