"""DCI with random forests.

For every factor, a random forest predicts the factor from all latents. A latent's importance for
that factor is the share of the fall in squared error that its splits bring. The score is
disentanglement: for every latent, 1 minus the entropy, to the base of the number of factors, of its
importances divided by their sum; then the mean over latents, weighted by these sums. 1 where each
latent is important for one factor only, 0 where for all alike. Parts give completeness (1 where
each factor needs one latent only) and informativeness (how small the error is).

Paper: Eastwood & Williams 2018, "A framework for the quantitative evaluation of disentangled
representations", sections 2 and 4.3: forests of 10 regression trees, of the depth with the lowest
error on a validation set. The paper counts splits; importance by impurity is the review's
(Carbonneau et al. 2022, section 4.3.1) and scikit-learn's. Informativeness as there, and as the
paper's NRMSE. Family: predictor. Property: modularity.

Choices that the papers leave open:
- One training row in five, drawn at random, is the validation set; depths 1, 2, 4, 8 and 16 are
  tried; the forest is then grown on all training rows.
- All other settings are scikit-learn's defaults.
- Continuous factors are taken as they are, others as the numbers that stand for their values.

Conventions (and those of base/dci_scores.py):
- A dead latent is important for nothing. Equal latents share importance at random.
- The importances for a factor sum to 1 however badly it is predicted, so that noise scores above 0,
  and a single latent, important for all alike, 0.
- Among depths with equal error the smallest counts.
- Which of several equally good splits a tree takes depends on the seed and on the order and sign of
  the latents, which change the score a little; their scale and shift do not.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.dci_scores import (
    ERROR_PARTS,
    IMPORTANCE_PARTS,
    Fit,
    Predict,
    regressor_scores,
    regressors,
)
from metrics.base.inputs import Inputs, Score
from metrics.base.predictors import SEEDS

NEEDS = frozenset({"table", "test_table", "targets"})
PARTS = {**IMPORTANCE_PARTS, **ERROR_PARTS}
TREES = 10
DEPTHS = (1, 2, 4, 8, 16)


def dci_forest(
    codes: ArrayLike,
    factors: ArrayLike,
    test_codes: ArrayLike,
    test_factors: ArrayLike,
    rng: np.random.Generator,
) -> list[Score]:
    """Disentanglement ("score"), and PARTS.

    `rng` draws one seed, the same for all forests, then the validation rows.
    """
    learned = regressors(codes, factors, test_codes, test_factors, _forests(rng), rng)
    return regressor_scores(learned)


def _forests(rng: np.random.Generator) -> Fit:
    """Learns a factor with the depth that predicts it best on the rows that are held out."""
    seed = int(rng.integers(SEEDS))

    def fit(
        codes: NDArray[np.float64], target: NDArray[np.float64], held_out: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], Predict]:
        errors = []
        for depth in DEPTHS:
            _, predict = _grow(codes[~held_out], target[~held_out], depth, seed)
            errors.append(np.square(predict(codes[held_out]) - target[held_out]).mean())
        return _grow(codes, target, DEPTHS[int(np.argmin(errors))], seed)

    return fit


def _grow(
    codes: NDArray[np.float64], target: NDArray[np.float64], depth: int, seed: int
) -> tuple[NDArray[np.float64], Predict]:
    """Every latent's importance, and the function that predicts."""
    from sklearn.ensemble import RandomForestRegressor  # a second, not needed to list metrics

    forest = RandomForestRegressor(TREES, max_depth=depth, random_state=seed)
    forest.fit(codes, target)
    # scikit-learn's own rounding can leave -1e-17 for a latent without splits
    return np.maximum(forest.feature_importances_, 0.0), forest.predict


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws one seed and the validation rows."""
    learned = regressors(*inputs.real_tables(), _forests(rng), rng)
    inputs.matrices["dci_forest"] = learned.importance
    return regressor_scores(learned)
