"""How close a matrix of similarities is to one large entry per row and column.

max² / sum of each row and of each column; 0 / 0 counts as 0. The released code of Duan et al. 2020
averages the mean over columns and the mean over rows; Eq. 2 of the paper is the sum over columns
and rows divided by their number. (The paper's r_a and r_b carry each other's index; its text
defines the maximum within the row or column whose sum divides.) The two are equal where there are
as many rows as columns.
"""

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled

Matrix = NDArray[np.float64]


@compiled()
def relative_strength(similarity: Matrix) -> tuple[float, float]:
    """(udr, udr_eq2) of a matrix without negative entries."""
    rows, columns = similarity.shape
    if rows == 0 or columns == 0:
        return 0.0, 0.0
    in_rows, in_columns = 0.0, 0.0
    totals, largest = np.zeros(columns), np.zeros(columns)
    for row in range(rows):
        total, most = 0.0, 0.0
        for column in range(columns):
            entry = similarity[row, column]
            total += entry
            most = max(most, entry)
            totals[column] += entry
            largest[column] = max(largest[column], entry)
        if total > 0.0:
            in_rows += most * most / total
    for column in range(columns):
        if totals[column] > 0.0:
            in_columns += largest[column] * largest[column] / totals[column]
    mean = (in_columns / columns + in_rows / rows) / 2
    return mean, (in_columns + in_rows) / (rows + columns)


@compiled()
def relative_strengths(similarity: Matrix, first: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
    """udr and udr_eq2 of matrices side by side; the columns of each begin at `first`."""
    udr, udr_eq2 = np.empty(len(first) - 1), np.empty(len(first) - 1)
    for number in range(len(first) - 1):
        one = similarity[:, first[number] : first[number + 1]]
        udr[number], udr_eq2[number] = relative_strength(one)
    return udr, udr_eq2
