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

from metrics.udr.moments import Moments, standardise

FOLDS = 1
PRODUCT = np.float32
ALPHA = 0.1
TOLERANCE = 1e-9  # largest change of a coefficient in the last sweep
SWEEPS = 10_000
SINGULAR = 1e-12  # an eigenvalue whose direction is only rounding

standard = standardise


def similarities(moments: Moments) -> NDArray[np.float64]:
    from metrics.compiled.lasso import lasso, lasso_of_models  # numba, for work only

    singular = _singular(moments)
    similar = lasso_of_models(
        moments.grams[:, 0],
        moments.informative & ~singular[:, None],
        moments.products[0],
        moments.first_row,
        ALPHA,
        TOLERANCE,
        SWEEPS,
    )
    for model in moments.of_models(singular):
        # Latents that determine each other have the same in common with a target, but the product's
        # rounding differs: coefficients would move from one to the other without end.
        sizes, directions = np.linalg.eigh(model.gram[0])
        regular = directions[:, sizes >= SINGULAR]
        products = regular @ (regular.T @ model.products[0])
        alphas = np.full(products.shape[1], ALPHA)
        similar[model.rows] = np.abs(lasso(model.gram[0], products, alphas, TOLERANCE, SWEEPS))
    return similar


def _singular(moments: Moments) -> NDArray[np.bool_]:
    """Of each model, whether some of its informative latents determine another."""
    both = moments.informative[:, :, None] & moments.informative[:, None, :]
    grams = np.where(both, moments.grams[:, 0], np.eye(both.shape[1]))  # of others: no correlation
    smallest: NDArray[np.float64] = np.linalg.eigvalsh(grams)[:, 0]
    return smallest < SINGULAR
