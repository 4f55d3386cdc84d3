"""Downstream task by logistic regression: how well, and from how few points, a linear model learns.

The mean over factors of the accuracy with which a cross-validated multinomial logistic regression,
learned from all training rows (10,000 at most), predicts a factor's value on the test rows. Parts
give the accuracy from fewer rows and the statistical efficiency, the accuracy from 100 rows divided
by that from 10,000. Chance is the share of the most frequent value.

Paper: Locatello et al. 2019, section 5.5 and appendix C. As in its released code, the classifier is
that of scikit-learn's LogisticRegressionCV(Cs=10, cv=KFold(5)): compiled/logistic.py computes it
faster. Family: predictor. Property: explicitness.

Conventions (and those of base/downstream.py and compiled/logistic.py):
- Latents are not standardised, as in the released code, so that the ridge penalty and 100
  iterations make the score depend on their scale and shift.
- Constant latents tell nothing: the most frequent value of the training rows is predicted, and
  among equally frequent ones any.
"""

import numpy as np

from metrics.base.downstream import DOWNSTREAM_PARTS, downstream
from metrics.base.inputs import Inputs, Score
from metrics.base.predictors import check_tables

NEEDS = frozenset({"table", "test_table"})
PARTS = DOWNSTREAM_PARTS


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing."""
    from metrics.compiled.logistic import (  # numba, which a list of metrics does not need
        Logistic,
        learn,
    )

    tables = check_tables(inputs.codes, inputs.factors, *inputs.test_table())

    def learned(size: int) -> list[Logistic]:
        return [learn(tables.codes[:size], factor[:size]) for factor in tables.factors.T]

    return downstream(tables, learned)
