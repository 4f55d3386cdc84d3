"""Explicitness score: how well a logistic regression on all latents predicts factors' values.

For every value of every factor, a logistic regression on the whole code learns to separate the rows
with that value from the others; the area under its ROC curve on the test rows is averaged over all
values of all factors. Guessing gives an area of 0.5, so that the score is 2 · area - 1: 1 where
every value is separated without an error, 0 where none is better than by guessing.

Paper: Ridgeway & Mozer 2018, "Learning deep disentangled embeddings with the F-statistic loss", as
in Carbonneau et al. 2022, section 4.3.2: one classifier per value against the rest, both sides with
equal weight in the loss, scaled to [0, 1]. Family: predictor. Property: explicitness.

Choices that the papers leave open:
- Areas are measured on the test rows.
- Latents are standardised with the training rows' mean and deviation.
- The ridge penalty is scikit-learn's default, C = 1.
- The mean is over values, as the review counts, so that a factor with many values weighs more.

Conventions:
- An area needs test rows on both sides, so that a value which no test row has, or all, is left out.
- A value which no training row has, or all, leaves nothing to learn: its area is 0.5.
- A factor without any area counts as one value of area 0.5.
- A score below 0 is reported as 0; areas stay as they are.
- Constant latents tell nothing.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.inputs import Inputs, Score
from metrics.base.predictors import check_tables, quiet, standardised

NEEDS = frozenset({"table", "test_table"})
PARTS = {
    "explicitness": "of each factor: 2 · auc - 1, at least 0",
    "auc": "of each factor, and of all: the mean area under the ROC curve over its values",
}
GUESS = 0.5


def explicitness(
    codes: ArrayLike, factors: ArrayLike, test_codes: ArrayLike, test_factors: ArrayLike
) -> list[Score]:
    """The mean over values, scaled to [0, 1] ("score"; per factor "explicitness"), and the mean
    area under the curve itself ("auc", and per factor)."""
    tables = check_tables(codes, factors, test_codes, test_factors)
    latents, test_latents = standardised(tables.codes, tables.test_codes)
    areas = [
        _areas(latents, factor, test_latents, test_factor)
        for factor, test_factor in zip(tables.factors.T, tables.test_factors.T, strict=True)
    ]
    overall, means = float(np.mean(np.concatenate(areas))), [float(np.mean(each)) for each in areas]
    return [
        Score("score", _scaled(overall)),
        Score("auc", overall),
        *(Score("explicitness", _scaled(mean), factor) for factor, mean in enumerate(means)),
        *(Score("auc", mean, factor) for factor, mean in enumerate(means)),
    ]


def _scaled(area: float) -> float:
    return max(0.0, (area - GUESS) / (1 - GUESS))


def _areas(
    codes: NDArray[np.float64],
    factor: NDArray[np.int64],
    test_codes: NDArray[np.float64],
    test_factor: NDArray[np.int64],
) -> list[float]:
    """The area of every value that can be measured; [0.5] where none can."""
    values = np.unique(test_factor)
    if len(values) < 2:
        return [GUESS]
    return [_area(codes, factor == value, test_codes, test_factor == value) for value in values]


def _area(
    codes: NDArray[np.float64],
    has_value: NDArray[np.bool_],
    test_codes: NDArray[np.float64],
    test_has_value: NDArray[np.bool_],
) -> float:
    from sklearn.linear_model import LogisticRegression  # a second, not needed for listing metrics
    from sklearn.metrics import roc_auc_score

    if has_value.all() or not has_value.any():
        return GUESS
    with quiet():
        regression = LogisticRegression(class_weight="balanced").fit(codes, has_value)
    # Not probabilities: those round to 1 and lose the order of rows.
    return float(roc_auc_score(test_has_value, regression.decision_function(test_codes)))


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing."""
    return explicitness(inputs.codes, inputs.factors, *inputs.test_table())
