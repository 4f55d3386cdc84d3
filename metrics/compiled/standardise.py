"""A model's standardised latents and their second moments, in few passes over the points.

The latents stay in the processor's cache from one pass to the next. There are few calls, as threads
wait for the interpreter's lock before each.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled

CHUNK = 128  # points of all latents, which stay in the cache for all products
LANES = 64  # numbers side by side: a multiple of the widest vectors
SMALL = 1e-300  # reciprocals of smaller numbers may overflow

Matrix = NDArray[np.float64]
Codes = NDArray[np.floating[Any]]  # of float32 or float64


@compiled("nnan", "nsz")
def _extremes(values: Codes) -> tuple[float, float]:
    """The smallest and the largest; LANES of each side by side, in the processor's vectors."""
    low, high = np.full(LANES, values[0]), np.full(LANES, values[0])
    whole = len(values) // LANES * LANES
    for start in range(0, whole, LANES):
        some = values[start : start + LANES]
        for lane in range(LANES):
            low[lane], high[lane] = min(low[lane], some[lane]), max(high[lane], some[lane])
    for value in values[whole:]:
        low[0], high[0] = min(low[0], value), max(high[0], value)
    return float(low.min()), float(high.max())


@compiled("contract", "reassoc", "nnan", "nsz")
def standardise(codes: Codes, standard: Codes) -> None:
    """Give each latent mean 0 and variance 1, of whatever scale it is; 0 if all points are equal.

    From a model's finite codes (points, latents) to `standard` (latents, points). The arithmetic is
    of float64.
    """
    points, latents = codes.shape
    rows = np.empty((latents, points), codes.dtype)
    for point in range(points):
        for latent in range(latents):
            rows[latent, point] = codes[point, latent]
    for latent in range(latents):
        values, result = rows[latent], standard[latent]
        lowest, highest = _extremes(values)
        middle, half = (lowest + highest) / 2, (highest - lowest) / 2
        if half == 0.0:
            result[:] = 0.0
            continue
        if half < SMALL:
            for point in range(points):
                values[point] = (values[point] - middle) / half
            middle, half = 0.0, 1.0
        # From -1 to 1, and both occur: the variance is not so small that the difference of the mean
        # square and mean² would lose its digits.
        total, square, scale = 0.0, 0.0, 1.0 / half
        for point in range(points):
            value = (values[point] - middle) * scale
            total += value
            square += value * value
        mean = total / points
        size = 1.0 / np.sqrt(square / points - mean * mean)
        for point in range(points):
            result[point] = ((values[point] - middle) * scale - mean) * size


@compiled("contract", "reassoc")
def second_moments(
    latents: NDArray[np.float32], ends: NDArray[np.int64], grams: Matrix, sums: Matrix
) -> None:
    """Fill XX' (folds, latents, latents) and sums (folds, latents) of a model's latents (latents,
    points) over the points of each fold, in float64. A fold is from one of the `ends` to the next.
    """
    count = len(latents)
    padded = (count + 1) // 2 * 2
    chunk, products = np.empty((padded, CHUNK)), np.empty((padded, padded))
    for fold in range(len(ends) - 1):
        sums[fold], products[:], chunk[:] = 0.0, 0.0, 0.0
        for start in range(ends[fold], ends[fold + 1], CHUNK):
            size = min(CHUNK, ends[fold + 1] - start)
            if size < CHUNK:
                chunk[:] = 0.0
            for a in range(count):
                total = 0.0
                for point in range(size):
                    chunk[a, point] = latents[a, start + point]
                    total += chunk[a, point]
                sums[fold, a] += total
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
        for a in range(count):
            for b in range(a + 1):
                grams[fold, a, b] = grams[fold, b, a] = products[a, b]
