"""A pair's score: high where a matrix of similarities has one large entry in every row and column.

Of each row and each column: the largest entry, squared, divided by the sum.

Paper: Duan et al. 2020, section 4.

Conventions:
- `udr`, as in the released code, averages the mean over columns and the mean over rows.
- `udr_eq2`, equation 2 of the paper, is the sum over columns and rows divided by their number. The
  two are equal where there are as many rows as columns.
- The paper's r_a and r_b carry each other's index; its text defines the maximum within the row or
  column whose sum divides.
- 0 / 0 counts as 0.
"""

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled

Matrix = NDArray[np.float64]


@compiled()
def pair_score(similarity: Matrix) -> tuple[float, float]:
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
def scores_of_pairs(similarity: Matrix, first: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
    """udr and udr_eq2 of matrices side by side; the columns of each begin at `first`."""
    udr, udr_eq2 = np.empty(len(first) - 1), np.empty(len(first) - 1)
    for number in range(len(first) - 1):
        columns = similarity[:, first[number] : first[number + 1]]
        udr[number], udr_eq2[number] = pair_score(columns)
    return udr, udr_eq2
