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
- The validation set is the data set's own, where its authors give one, else one training row in
  five, drawn at random.
- 100 penalties are tried, evenly spaced in their logarithm from the smallest that leaves no
  coefficient down to a thousandth of it (scikit-learn's LassoCV).
- Continuous factors are taken as they are, others as the numbers that stand for their values.

Conventions (and those of base/dci_scores.py and base/dci_regressors.py):
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

from metrics.base import dci_regressors
from metrics.base.dci_regressors import Predict, Sample, Trial, regressor_scores, regressors
from metrics.base.inputs import Inputs, Score
from metrics.base.predictors import Rows

NEEDS = frozenset({"table", "test_table", "targets"})
PARTS = dci_regressors.PARTS
PENALTIES = np.logspace(0, -3, 100)
ROUNDING = 1e-9  # the largest penalty leaves coefficients of 1e-17 that are meant to be 0


def dci_lasso(
    codes: ArrayLike,
    factors: ArrayLike,
    test_codes: ArrayLike,
    test_factors: ArrayLike,
    rng: np.random.Generator,
    *,
    validation: Rows | None = None,
    zero_shot: Rows | None = None,
) -> list[Score]:
    """Disentanglement ("score"), and PARTS.

    `validation` and `zero_shot` are codes and factors of further rows; without the former, `rng`
    draws validation rows from the training rows.
    """
    tables = (codes, factors, test_codes, test_factors)
    return regressor_scores(regressors(*tables, _fit, rng, validation, zero_shot))


def _fit(rows: Sample, trial: Trial) -> tuple[NDArray[np.float64], Predict]:
    largest = np.abs(rows.codes.T @ rows.target).max() / len(rows.codes)
    penalties = largest * PENALTIES
    weights, offsets = _lassos(trial.learned, penalties)
    predicted = trial.judged.codes @ weights + offsets
    errors = np.square(predicted - trial.judged.target[:, None]).mean(axis=0)
    best = int(errors.argmin())
    coefficients = _lassos(rows, penalties[best : best + 1])[0][:, 0]
    coefficients[np.abs(coefficients) < ROUNDING] = 0.0
    return np.abs(coefficients), lambda inputs: inputs @ coefficients  # all means are 0


def _lassos(
    rows: Sample, penalties: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients (latents, penalties) and intercepts (penalties,)."""
    from metrics.compiled.lasso import lasso  # numba, which a list of metrics does not need

    codes, target = rows
    mean, target_mean = codes.mean(axis=0), target.mean()
    centred, count = codes - mean, len(codes)
    gram, moments = centred.T @ centred / count, centred.T @ (target - target_mean) / count
    weights = lasso(gram, np.tile(moments[:, None], len(penalties)), penalties)
    return weights, target_mean - mean @ weights


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws the validation rows, unless they are given."""
    given = (inputs.validation(), inputs.zero_shot())
    learned = regressors(*inputs.real_tables(), _fit, rng, *given)
    inputs.matrices["dci_lasso"] = learned.importance
    return regressor_scores(learned)
