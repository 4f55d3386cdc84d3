"""Similarity of latents: the size of a lasso's coefficients, its penalty fixed.

Each target is predicted from all regressors. Paper: Duan et al. 2020.

Conventions:
- alpha = 0.1 on standardised latents, as in the released code (the paper's own lasso is
  metrics/udr/lasso_cv.py). scikit-learn's default tolerance leaves the released numbers within
  about 1e-3 of these.
- Latents that are not informative take no part, as in the released code.
"""

import numpy as np
from numpy.typing import NDArray

from metrics.udr.moments import Moments, standardised

FOLDS = 1
PRODUCT = np.float32
ALPHA = 0.1
TOLERANCE = 1e-9  # largest change of a coefficient in the last sweep
SWEEPS = 10_000
SINGULAR = 1e-12  # an eigenvalue whose direction is only rounding

standard = standardised


def similarities(moments: Moments) -> NDArray[np.float64]:
    from metrics.compiled.lasso import lasso  # numba, which a list of similarities does not need

    gram, products = moments.grams[0], moments.products[0]
    sizes, directions = np.linalg.eigh(gram)
    if sizes[0] < SINGULAR:
        # Latents that determine each other have the same in common with a target, but the product's
        # rounding differs: coefficients would move from one to the other without end.
        regular = directions[:, sizes >= SINGULAR]
        products = regular @ (regular.T @ products)
    alphas = np.full(products.shape[1], ALPHA)
    return np.abs(lasso(gram, products, alphas, TOLERANCE, SWEEPS))
