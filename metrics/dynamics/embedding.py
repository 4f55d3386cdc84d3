"""The joint embedding of a group: left singular vectors of its stacked diffusion kernels.

M = [P_1^t; ...; P_N^t] is (models · points, points). Its right singular vectors are eigenvectors of
M^T M = sum of (P_r^t)^T P_r^t, which is applied to a block of columns, model by model. A random
block and what comes of repeated application span a growing space (a block Krylov space), in which
the first eigenvectors are searched until they no longer change.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Apply = Callable[[Matrix], Matrix]

EXACT = 600  # points: with no more the block is the whole space, and its eigenvectors are exact
BLOCK = 32  # columns: as many as cost little more than one
MOST_VISITS = 40  # of all models
TOLERANCE = 1e-4  # largest residual of an eigenvector, as part of the largest eigenvalue
INDEPENDENT = 1e-8  # a direction shorter than this part of its column is rounding


@dataclass(frozen=True)
class Eigenvectors:
    vectors: Matrix  # (size, count), orthonormal
    values: NDArray[np.float64]  # falling
    residual: float  # largest, as part of the largest value


def leading(
    apply: Apply, size: int, count: int, rng: np.random.Generator, block: int = 0
) -> Eigenvectors:
    """The first eigenvectors of a symmetric matrix without negative eigenvalues, which `apply`
    multiplies with columns (size, columns)."""
    block = block or (size if size <= EXACT else max(BLOCK, 2 * count))
    new = np.linalg.qr(rng.standard_normal((size, min(block, size))))[0]
    basis, images = np.empty((size, 0)), np.empty((size, 0))
    for _ in range(MOST_VISITS):
        basis, images = np.hstack([basis, new]), np.hstack([images, apply(new)])
        projected = basis.T @ images
        values, weights = np.linalg.eigh((projected + projected.T) / 2)
        order = np.argsort(values)[::-1][:count]
        values, weights = values[order], weights[:, order]
        vectors = basis @ weights
        distances = np.linalg.norm(images @ weights - vectors * values, axis=0)
        residual = float(distances.max() / max(values[0], np.finfo(float).tiny))
        new = _new_directions(images[:, basis.shape[1] - new.shape[1] :], basis)
        if residual <= TOLERANCE or not new.shape[1]:
            break
    return Eigenvectors(vectors, values, residual)


def _new_directions(columns: Matrix, basis: Matrix) -> Matrix:
    """An orthonormal basis of what the columns add to an orthonormal basis."""
    room = len(basis) - basis.shape[1]
    lengths = np.linalg.norm(columns, axis=0)
    for _ in range(2):  # the second time removes what rounding left
        columns = columns - basis @ (basis.T @ columns)
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, : min(room, int((sizes > INDEPENDENT * lengths.max()).sum()))]
