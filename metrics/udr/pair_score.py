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
def scores_of_pairs(
    similarity: Matrix, first_row: NDArray[np.int64], first_column: NDArray[np.int64]
) -> tuple[Matrix, Matrix]:
    """udr and udr_eq2 (models, models) of a matrix that holds those of all pairs: the rows of each
    model begin at `first_row`, its columns at `first_column`; both name the end, too."""
    shape = (len(first_row) - 1, len(first_column) - 1)
    udr, udr_eq2 = np.empty(shape), np.empty(shape)
    for i in range(shape[0]):
        rows = similarity[first_row[i] : first_row[i + 1]]
        for j in range(shape[1]):
            columns = rows[:, first_column[j] : first_column[j + 1]]
            udr[i, j], udr_eq2[i, j] = pair_score(columns)
    return udr, udr_eq2
