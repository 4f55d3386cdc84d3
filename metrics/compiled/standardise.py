"""Standardised latents and their second moments, in few passes over the points.

Latents are rows: (latents, points), contiguous over the points, so that a row stays in the cache
from one pass to the next.
"""

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled

CHUNK = 128  # points of all latents, which stay in the cache for all products
SMALL = 1e-300  # reciprocals of smaller numbers may overflow

Matrix = NDArray[np.float64]
Codes = NDArray[np.float32] | NDArray[np.float64]


@compiled("contract", "reassoc")
def standardise(latents: Codes, low: Codes, high: Codes, standard: Codes) -> None:
    """Give each row mean 0 and variance 1, of whatever scale it is; 0 where all points are equal.

    `low` and `high` are the rows' extremes; `standard` is filled. All arrays are of float32, or all
    of float64; the arithmetic is of float64.
    """
    count, points = latents.shape
    for row in range(count):
        values, result = latents[row], standard[row]
        lowest, highest = float(low[row]), float(high[row])
        middle, half = (lowest + highest) / 2, (highest - lowest) / 2
        if half == 0.0:
            result[:] = 0.0
            continue
        if half < SMALL:
            for point in range(points):
                result[point] = (values[point] - middle) / half
            values, middle, half = result, 0.0, 1.0
        total, scale = 0.0, 1.0 / half
        for point in range(points):  # from -1 to 1: no square overflows or vanishes
            total += (values[point] - middle) * scale
        mean, square = total / points, 0.0
        for point in range(points):
            distance = (values[point] - middle) * scale - mean
            square += distance * distance
        size = 1.0 / np.sqrt(square / points)
        for point in range(points):
            result[point] = ((values[point] - middle) * scale - mean) * size


@compiled("contract", "reassoc")
def second_moments(latents: NDArray[np.float32], first: int, end: int) -> tuple[Matrix, Matrix]:
    """XX' (latents, latents) and sums (latents,) over the points from `first` to before `end`, in
    float64."""
    count = len(latents)
    padded = (count + 1) // 2 * 2
    sums, products = np.zeros(count), np.zeros((padded, padded))
    chunk = np.empty((padded, CHUNK))
    for start in range(first, end, CHUNK):
        size = min(CHUNK, end - start)
        if start == first or size < CHUNK:
            chunk[:] = 0.0
        for a in range(count):
            total = 0.0
            for point in range(size):
                chunk[a, point] = latents[a, start + point]
                total += chunk[a, point]
            sums[a] += total
        for a in range(0, padded, 2):  # two by two: each number is read half as often
            x0, x1 = chunk[a], chunk[a + 1]
            for b in range(0, a + 2, 2):
                y0, y1 = chunk[b], chunk[b + 1]
                p00 = p01 = p10 = p11 = 0.0
                for point in range(CHUNK):
                    p00 += x0[point] * y0[point]
                    p01 += x0[point] * y1[point]
                    p10 += x1[point] * y0[point]
                    p11 += x1[point] * y1[point]
                products[a, b] += p00
                products[a, b + 1] += p01
                products[a + 1, b] += p10
                products[a + 1, b + 1] += p11
    gram = np.empty((count, count))
    for a in range(count):
        for b in range(a + 1):
            gram[a, b] = gram[b, a] = products[a, b]
    return gram, sums
