"""What DCI metrics with regressors share: one regressor per factor, and what it says of all rows.

Paper: Eastwood & Williams 2018, section 4.3 and appendices A and B. Regressors are learned from
training rows and judged on test rows; their setting (the penalty, the depth) is the one with the
lowest error on validation rows; the error on zero-shot rows, whose combinations of factors no other
rows have, says whether what was learned carries over to them.

Conventions:
- Codes and factors of all rows are standardised by the training rows.
- The regressor with the best setting is learned from all training rows; validation rows of the data
  set's own are no part of these.
- A factor with one training value is not learned: nothing is important for it, and its relative
  errors are 1.
- The error on zero-shot rows divided by their own deviation is 1 for a factor with one value there.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.dci_scores import (
    ERROR_PARTS,
    IMPORTANCE_PARTS,
    error_scores,
    importance_scores,
)
from metrics.base.inputs import Score
from metrics.base.predictors import (
    RealRows,
    Rows,
    check_real_rows,
    check_real_tables,
    standardised,
    validation_rows,
)

Reals: TypeAlias = NDArray[np.float64]
Predict: TypeAlias = Callable[[Reals], Reals]

PARTS = {
    **IMPORTANCE_PARTS,
    **ERROR_PARTS,
    "nrmse_zero_shot": "of each factor, and their mean: the root of the mean squared error on "
    "zero-shot rows, divided by the standard deviation of the training rows; only where there are "
    "zero-shot rows",
    "nrmse_zero_shot_own": "of each factor, and their mean: the same, divided by the standard "
    "deviation of the zero-shot rows",
    "importance latent N": "of each factor: how important each latent N is for it",
}


class Sample(NamedTuple):
    """Standardised codes, and one factor of the same rows."""

    codes: Reals  # (rows, latents)
    target: Reals  # (rows,)

    def error(self, predict: Predict) -> float:
        """Mean squared."""
        return float(np.square(predict(self.codes) - self.target).mean())


class Trial(NamedTuple):
    """How a setting is chosen: learned from some rows, it predicts others best."""

    learned: Sample
    judged: Sample


# Learns the rows with the setting that the trial chooses: every latent's importance, and a function
# that predicts. The trial may learn from the very same rows.
Fit: TypeAlias = Callable[[Sample, Trial], tuple[Reals, Predict]]


class Regressors(NamedTuple):
    """What one regressor per factor has learned."""

    importance: Reals  # (latents, factors)
    errors: Reals  # (training and test, factors), of values scaled to [0, 1]
    deviation: Reals  # (factors,), of the training values so scaled
    zero_shot: Reals | None  # (by the training rows' deviation and by their own, factors)


def regressors(
    codes: ArrayLike,
    factors: ArrayLike,
    test_codes: ArrayLike,
    test_factors: ArrayLike,
    fit: Fit,
    rng: np.random.Generator,
    validation: Rows | None = None,
    zero_shot: Rows | None = None,
) -> Regressors:
    """Learn every factor from all latents. Factors may be real numbers.

    `rng` draws one row in five for the choice of a setting, the same for all factors, unless there
    are validation rows.
    """
    tables = check_real_tables(codes, factors, test_codes, test_factors)
    given = [
        rows and check_real_rows(name, rows, tables)
        for name, rows in (("validation", validation), ("zero_shot", zero_shot))
    ]
    others = [RealRows(tables.test_codes, tables.test_targets), *(rows for rows in given if rows)]
    train, *standard = standardised(tables.codes, *(rows.codes for rows in others))
    held_out = None if validation else validation_rows(len(train), rng)
    columns = tables.targets.shape[1]
    importance, spread = np.zeros((train.shape[1], columns)), np.zeros(columns)
    errors, relative = np.zeros((2, columns)), np.ones((2, columns))
    for column in range(columns):
        values = tables.targets[:, column]
        width = values.max() - values.min()
        mean, deviation = values.mean(), values.std()
        if width == 0 or deviation == 0:  # also of values so small that their squares are 0
            continue
        spread[column] = deviation / width
        own = Sample(train, (values - mean) / deviation)
        test, *further = (
            Sample(latents, (rows.targets[:, column] - mean) / deviation)
            for latents, rows in zip(standard, others, strict=True)
        )
        trial = _trial(own, held_out) if held_out is not None else Trial(own, further[0])
        importance[:, column], predict = fit(own, trial)
        for part, sample in enumerate((own, test)):
            errors[part, column] = sample.error(predict) * spread[column] ** 2
        if zero_shot:
            relative[:, column] = _relative(further[-1], predict)
    return Regressors(importance, errors, spread, relative if zero_shot else None)


def _trial(rows: Sample, held_out: NDArray[np.bool_]) -> Trial:
    learned, judged = (
        Sample(rows.codes[some], rows.target[some]) for some in (~held_out, held_out)
    )
    return Trial(learned, judged)


def _relative(rows: Sample, predict: Predict) -> tuple[float, float]:
    """The root mean squared error of standardised values as it is, and divided by their own
    deviation, or 1 where they do not vary."""
    error, own = np.sqrt(rows.error(predict)), rows.target.std()
    varies = rows.target.min() < rows.target.max() and own > 0
    return float(error), float(error / own) if varies else 1.0


def regressor_scores(learned: Regressors) -> list[Score]:
    """Disentanglement ("score"), and PARTS."""
    errors = error_scores(learned.errors[0], learned.errors[1], learned.deviation)
    return [
        *importance_scores(learned.importance),
        *errors,
        *_zero_shot_scores(learned.zero_shot),
        *(
            Score(f"importance latent {latent}", float(value), factor)
            for latent, row in enumerate(learned.importance)
            for factor, value in enumerate(row)
        ),
    ]


def _zero_shot_scores(relative: Reals | None) -> list[Score]:
    if relative is None:
        return []
    scores = []
    for name, values in zip(("nrmse_zero_shot", "nrmse_zero_shot_own"), relative, strict=True):
        scores.append(Score(name, float(values.mean())))
        scores += [Score(name, float(value), factor) for factor, value in enumerate(values)]
    return scores
