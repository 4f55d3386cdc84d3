"""The definition, with loops and dense matrices: section 3 of Holtz et al., entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def kernel(traces: Array, neighbours: int, decay: float, rank: int) -> Array:
    """K' (snapshots · samples, snapshots · samples) of one model."""
    n, m, _ = traces.shape

    def distance(a: tuple[int, int], b: tuple[int, int]) -> float:
        return float(np.sqrt(((traces[a] - traces[b]) ** 2).sum()))

    nearest = [
        [sorted(distance((tau, i), (nu, i)) for nu in range(n) if nu != tau)[rank - 1]
         for tau in range(n)]
        for i in range(m)
    ]  # fmt: skip
    epsilon = np.mean([np.median(of_sample) for of_sample in nearest])
    k = np.zeros((n * m, n * m))
    for tau in range(n):
        for i in range(m):
            others = sorted(distance((tau, i), (tau, j)) for j in range(m) if j != i)
            sigma = others[neighbours - 1]
            for j in range(m):
                ratio = distance((tau, i), (tau, j)) / sigma
                k[tau * m + i, tau * m + j] = np.exp(-(ratio**decay))
            for nu in range(n):
                if nu != tau:
                    ratio = distance((tau, i), (nu, i)) / epsilon
                    k[tau * m + i, nu * m + i] = np.exp(-(ratio**2))
    return (k + k.T) / 2


def walk(kernel_: Array) -> Array:
    return kernel_ / kernel_.sum(axis=1, keepdims=True)


def left_vectors(walks: list[Array], t: int, count: int) -> tuple[Array, Array]:
    """The first left singular vectors (models, points, count) of the stacked P^t, and values."""
    stacked = np.concatenate([np.linalg.matrix_power(p, t) for p in walks])
    u, s, _ = np.linalg.svd(stacked, full_matrices=False)
    return u[:, :count].reshape(len(walks), -1, count), s[:count]


def mmd(x: Array, y: Array, bandwidth: float, unbiased: bool) -> float:
    def mean(a: Array, b: Array, same: bool) -> float:
        values = [
            np.exp(-((p - q) ** 2).sum() / (2 * bandwidth**2))
            for i, p in enumerate(a)
            for j, q in enumerate(b)
            if not (same and unbiased and i == j)
        ]
        return float(np.mean(values))

    return mean(x, x, True) - 2 * mean(x, y, False) + mean(y, y, True)
