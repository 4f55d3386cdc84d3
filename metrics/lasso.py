"""Lasso from second moments: no pass over the points, microseconds for ten regressors.

For columns X and y, all with mean 0, the minimum of |y - Xw|² / 2n + alpha |w|₁ depends on the
Gram matrix X'X / n and on X'y / n only. Cyclic coordinate descent from zero, as scikit-learn's
Lasso: where exact duplicates leave a choice of minima, both end at the same one (which depends on
the regressors' order).
"""

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled

SWEEPS = 100_000
TOLERANCE = 1e-12  # largest change of a coefficient in the last sweep


@compiled
def lasso(
    gram: NDArray[np.float64], moments: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Coefficients (regressors,) from gram (regressors, regressors) and moments (regressors,).

    A regressor that is 0 everywhere has coefficient 0.
    """
    regressors = len(moments)
    coefficients = np.zeros(regressors)
    residual = moments.copy()  # X'(y - Xw) / n
    for _ in range(SWEEPS):
        largest_step = 0.0
        for a in range(regressors):
            if gram[a, a] == 0.0:
                continue
            before = coefficients[a]
            pull = residual[a] + gram[a, a] * before
            after = np.sign(pull) * max(abs(pull) - alpha, 0.0) / gram[a, a]
            step = after - before
            if step != 0.0:
                coefficients[a] = after
                for b in range(regressors):
                    residual[b] -= step * gram[a, b]
                largest_step = max(largest_step, abs(step))
        if largest_step <= TOLERANCE:
            break
    return coefficients
