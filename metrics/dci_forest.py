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
- The validation set is the data set's own, where its authors give one; depths 1, 2, 3, 4, 5, 6, 8,
  10, 12 and 16 are tried on it. Otherwise it is one training row in five, drawn at random, and
  depths 1, 2, 4, 8 and 16 are tried.
- All other settings are scikit-learn's defaults.
- Continuous factors are taken as they are, others as the numbers that stand for their values.

Conventions (and those of base/dci_scores.py and base/dci_regressors.py):
- A dead latent is important for nothing. Equal latents share importance at random.
- The importances for a factor sum to 1 however badly it is predicted, so that noise scores above 0,
  and a single latent, important for all alike, 0.
- Among depths with equal error the smallest counts.
- Which of several equally good splits a tree takes depends on the seed and on the order and sign of
  the latents, which change the score a little; their scale and shift do not.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base import dci_regressors
from metrics.base.dci_regressors import (
    Fit,
    Predict,
    Sample,
    Trial,
    regressor_scores,
    regressors,
)
from metrics.base.inputs import Inputs, Score
from metrics.base.predictors import SEEDS, Rows

NEEDS = frozenset({"table", "test_table", "targets"})
PARTS = dci_regressors.PARTS
TREES = 10
DEPTHS = (1, 2, 4, 8, 16)
# Where validation rows are given: with all depths that the released code of Eastwood & Williams has
# chosen on theirs (2, 3, 4, 5, 10, 12).
FINER_DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)


def dci_forest(
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

    `validation` and `zero_shot` are codes and factors of further rows. `rng` draws one seed, the
    same for all forests, and without validation rows draws those from the training rows.
    """
    tables = (codes, factors, test_codes, test_factors)
    forests = _forests(rng, FINER_DEPTHS if validation else DEPTHS)
    return regressor_scores(regressors(*tables, forests, rng, validation, zero_shot))


def _forests(rng: np.random.Generator, depths: tuple[int, ...]) -> Fit:
    """Learns a factor with the depth that the trial chooses."""
    seed = int(rng.integers(SEEDS))

    def fit(rows: Sample, trial: Trial) -> tuple[NDArray[np.float64], Predict]:
        errors = [trial.judged.error(_grow(trial.learned, depth, seed)[1]) for depth in depths]
        return _grow(rows, depths[int(np.argmin(errors))], seed)

    return fit


def _grow(rows: Sample, depth: int, seed: int) -> tuple[NDArray[np.float64], Predict]:
    """Every latent's importance, and the function that predicts."""
    from sklearn.ensemble import RandomForestRegressor  # a second, not needed to list metrics

    forest = RandomForestRegressor(TREES, max_depth=depth, random_state=seed)
    forest.fit(*rows)
    # scikit-learn's own rounding can leave -1e-17 for a latent without splits
    return np.maximum(forest.feature_importances_, 0.0), forest.predict


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws one seed, and the validation rows, unless they are given."""
    validation = inputs.validation()
    forests = _forests(rng, FINER_DEPTHS if validation else DEPTHS)
    learned = regressors(*inputs.real_tables(), forests, rng, validation, inputs.zero_shot())
    inputs.matrices["dci_forest"] = learned.importance
    return regressor_scores(learned)
