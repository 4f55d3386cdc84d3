"""What DCI metrics share: scores of an importance matrix, and of regressors' errors.

Entry (i, j) of the matrix says how important latent i is for predicting factor j; never negative.

Paper: Eastwood & Williams 2018, "A framework for the quantitative evaluation of disentangled
representations", section 2. A latent's disentanglement is 1 minus the entropy, to the base of the
number of factors, of its row divided by the row's sum; the representation's is their mean weighted
by the rows' sums. A factor's completeness is the same of its column, to the base of the number of
latents; the representation's is the plain mean over factors (the paper's tables, and Carbonneau et
al. 2022, section 4.3.1); the mean weighted by the columns' sums is a separate part.

Conventions:
- A latent without any importance has disentanglement 0 and weight 0.
- A factor without any has completeness 0 and counts in the plain mean; a matrix of zeros scores 0.
- With one factor every latent of any importance is disentangled (1); with one latent every factor
  of any importance is complete (1).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from metrics.base.arrays import BadArray, numbers
from metrics.base.inputs import Score

# The parts that importance_scores() gives, other than the headline.
IMPORTANCE_PARTS = {
    "disentanglement": "the score under its own name",
    "disentanglement latent N": "of each latent: 1 minus the entropy of its importances",
    "completeness": "of each factor: 1 minus the entropy, to the base of the number of latents, of "
    "its latents' importances divided by their sum; and the plain mean over factors",
    "completeness_weighted": "the same mean weighted by the factors' sums of importance",
}
# The parts that error_scores() gives.
ERROR_PARTS = {
    "informativeness_train": "of each factor, and their mean: 1 - 6 · mean squared error on "
    "training rows of values scaled to [0, 1], at least 0",
    "informativeness_test": "of each factor, and their mean: the same on test rows",
    "nrmse_train": "of each factor, and their mean: the root of that error on training rows, "
    "divided by the values' standard deviation: 1 for guessing the mean; less is better",
    "nrmse_test": "of each factor, and their mean: the same on test rows",
}


def disentanglement(importance: ArrayLike) -> tuple[float, NDArray[np.float64]]:
    """The weighted mean over latents, and every latent's."""
    shares, weights = _shares(importance)
    each = _concentration(shares)
    return float(weights @ each), each


def completeness(importance: ArrayLike) -> tuple[float, float, NDArray[np.float64]]:
    """The mean over factors, the weighted mean, and every factor's."""
    shares, weights = _shares(np.asarray(importance).T)
    each = _concentration(shares)
    return float(each.mean()), float(weights @ each), each


def importance_scores(importance: ArrayLike) -> list[Score]:
    """Disentanglement ("score"), and IMPORTANCE_PARTS."""
    overall, latents = disentanglement(importance)
    mean, weighted, factors = completeness(importance)
    return [
        Score("score", overall),
        Score("disentanglement", overall),
        Score("completeness", mean),
        Score("completeness_weighted", weighted),
        *(
            Score(f"disentanglement latent {latent}", float(value))
            for latent, value in enumerate(latents)
        ),
        *(Score("completeness", float(value), factor) for factor, value in enumerate(factors)),
    ]


def error_scores(train: ArrayLike, test: ArrayLike, deviation: ArrayLike) -> list[Score]:
    """Informativeness of regressors, from their mean squared error in either part.

    Errors have one number per factor, with the training values scaled to [0, 1]; `deviation` is the
    standard deviation of the values so scaled, 0 for a factor with one value. ERROR_PARTS are
    "informativeness", 1 - 6 · error (Carbonneau et al. 2022, section 4.3.1: two uniform random
    numbers have error 1/6), and "nrmse" (Eastwood & Williams 2018, appendix B.1). The former is
    generous: always guessing the mean of evenly spread values has error 1/12 and scores 1/2. A
    factor with one value has nothing to tell: 0 and 1.
    """
    spread = numbers("deviation", deviation, ("factor",))
    varied = spread > 0
    scores = []
    for part, error in (("train", train), ("test", test)):
        errors = numbers(f"{part} error", error, ("factor",))
        informative = np.where(varied, np.maximum(1 - 6 * errors, 0.0), 0.0)
        relative = np.divide(np.sqrt(errors), spread, out=np.ones(len(errors)), where=varied)
        for name, values in ((f"informativeness_{part}", informative), (f"nrmse_{part}", relative)):
            scores.append(Score(name, float(values.mean())))
            scores += [Score(name, float(value), factor) for factor, value in enumerate(values)]
    return scores


def _shares(importance: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Every row divided by its sum, and the rows' sums divided by their sum; 0 where that is 0."""
    matrix = numbers("importance", importance, ("row", "column")).astype(np.float64)
    if matrix.min() < 0:
        raise BadArray("importance", str(matrix.min()), "numbers from 0")
    sums = matrix.sum(axis=1, keepdims=True)
    shares = np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)
    return shares, sums[:, 0] / (sums.sum() or 1.0)


def _concentration(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 minus the entropy of every row, to the base of its length; 0 for a row of zeros."""
    base = np.log(max(shares.shape[1], 2))  # the entropy over one place is 0, whatever the base
    concentration = 1 - entr(shares).sum(axis=1) / base
    return np.where(shares.any(axis=1), np.clip(concentration, 0.0, 1.0), 0.0)
