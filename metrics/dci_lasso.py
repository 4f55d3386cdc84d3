"""DCI with lasso regressors.

For every factor, a linear regression with an L1 penalty predicts the factor from all latents. The
size of a latent's coefficient is its importance for that factor. The score is disentanglement:
for every latent, 1 minus the entropy, to the base of the number of factors, of its importances
divided by their sum; then the mean over latents, weighted by these sums. 1 where each latent is
important for one factor only, 0 where for all alike. Parts give completeness (1 where each factor
needs one latent only) and informativeness (how small the error is).

Paper: Eastwood & Williams 2018, "A framework for the quantitative evaluation of disentangled
representations", sections 2 and 4.3: inputs and targets with mean 0 and variance 1, importance |W|,
the penalty with the lowest error on a validation set. Informativeness as in Carbonneau et al. 2022,
section 4.3.1, and as the paper's NRMSE. Family: predictor. Property: modularity.

Choices that the paper leaves open:
- One training row in five, drawn at random, is the validation set.
- 100 penalties are tried, evenly spaced in their logarithm from the smallest that leaves no
  coefficient down to a thousandth of it (scikit-learn's LassoCV); the coefficients are then learned
  from all training rows.
- Continuous factors are taken as they are, others as the numbers that stand for their values.

Conventions (and those of base/dci_scores.py):
- A dead latent is important for nothing.
- How equal latents share importance is left to the order in which coordinate descent, starting from
  0, goes through them; where each factor is a latent, the first of its copies takes all, so that
  copies cost no completeness (Carbonneau et al. 2022, section 5.4).
- Noise scores high where the best penalty lets a little of it through (section 5.2), at times 1.
- Among penalties with equal error the largest counts.
- Coefficients below 1e-9 are rounding and count as 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.dci_scores import (
    ERROR_PARTS,
    IMPORTANCE_PARTS,
    Predict,
    regressor_scores,
    regressors,
)
from metrics.base.inputs import Inputs, Score

NEEDS = frozenset({"table", "test_table", "targets"})
PARTS = {**IMPORTANCE_PARTS, **ERROR_PARTS}
PENALTIES = np.logspace(0, -3, 100)
ROUNDING = 1e-9  # the largest penalty leaves coefficients of 1e-17 that are meant to be 0


def dci_lasso(
    codes: ArrayLike,
    factors: ArrayLike,
    test_codes: ArrayLike,
    test_factors: ArrayLike,
    rng: np.random.Generator,
) -> list[Score]:
    """Disentanglement ("score"), and PARTS.

    `rng` draws the validation rows.
    """
    return regressor_scores(regressors(codes, factors, test_codes, test_factors, _fit, rng))


def _fit(
    codes: NDArray[np.float64], target: NDArray[np.float64], held_out: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], Predict]:
    largest = np.abs(codes.T @ target).max() / len(codes)
    penalties = largest * PENALTIES
    weights, offsets = _lassos(codes[~held_out], target[~held_out], penalties)
    predicted = codes[held_out] @ weights + offsets
    errors = np.square(predicted - target[held_out][:, None]).mean(axis=0)
    best = int(errors.argmin())
    coefficients = _lassos(codes, target, penalties[best : best + 1])[0][:, 0]
    coefficients[np.abs(coefficients) < ROUNDING] = 0.0
    return np.abs(coefficients), lambda inputs: inputs @ coefficients  # all means are 0


def _lassos(
    codes: NDArray[np.float64], target: NDArray[np.float64], penalties: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients (latents, penalties) and intercepts (penalties,)."""
    from metrics.compiled.lasso import lasso  # numba, which a list of metrics does not need

    mean, target_mean = codes.mean(axis=0), target.mean()
    centred, rows = codes - mean, len(codes)
    gram, moments = centred.T @ centred / rows, centred.T @ (target - target_mean) / rows
    weights = lasso(gram, np.tile(moments[:, None], len(penalties)), penalties)
    return weights, target_mean - mean @ weights


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws the validation rows."""
    learned = regressors(*inputs.real_tables(), _fit, rng)
    inputs.matrices["dci_lasso"] = learned.importance
    return regressor_scores(learned)
