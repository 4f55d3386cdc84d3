"""Sums of the squares in the blocks of a matrix, one block per pair of models."""

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled

Matrix = NDArray[np.float64]


@compiled("contract", "reassoc")
def block_squares(
    matrix: NDArray[np.float32] | Matrix, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> Matrix:
    """Of blocks whose rows and columns begin at `rows` and `columns`, which also have the ends."""
    sums = np.zeros((len(rows) - 1, len(columns) - 1))
    for i in range(len(rows) - 1):
        for row in range(rows[i], rows[i + 1]):
            for j in range(len(columns) - 1):
                total = 0.0
                for column in range(columns[j], columns[j + 1]):
                    entry = np.float64(matrix[row, column])
                    total += entry * entry
                sums[i, j] += total
    return sums
