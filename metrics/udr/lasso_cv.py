"""Similarity of latents: the size of a multi-task lasso's coefficients.

All latents of one model are predicted together from those of another; the penalty takes or leaves a
regressor for all of them. Paper: Duan et al. 2020, appendix A.5: the penalty is chosen by
cross-validation, the tolerance is 1e-4 and there are at most 1,000 sweeps.

Choices that the paper leaves open:
- Five folds of consecutive points and 100 penalties, as in scikit-learn's MultiTaskLassoCV, whose
  results these are.
- Latents that are not informative take no part, as in the released code, which has no such lasso.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from metrics.udr.moments import Moments, standardise

FOLDS = 5
PRODUCT = np.float64  # the product is a small part of the time
TOLERANCE = 1e-4
SWEEPS = 1000

standard = standardise


def similarities(moments: Moments) -> NDArray[np.float64]:
    from metrics.compiled.multi_task_lasso import cross_validated  # numba

    similar = np.zeros(moments.products.shape[1:])
    every = np.ones(len(moments.informative), dtype=np.bool_)
    for model in moments.of_models(every):
        for start, end in pairwise(moments.first_column.tolist()):
            coefficients, _ = cross_validated(
                grams=model.gram,
                moments=np.ascontiguousarray(model.products[:, :, start:end]),
                means=model.means,
                target_means=np.ascontiguousarray(moments.target_means[:, start:end]),
                target_squares=np.ascontiguousarray(moments.target_squares[:, start:end]),
                shares=moments.shares,
                tolerance=TOLERANCE,
                sweeps=SWEEPS,
            )
            similar[model.rows, start:end] = np.abs(coefficients)
    return similar
