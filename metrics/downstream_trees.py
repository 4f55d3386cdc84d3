"""Downstream task by boosted trees: how well, and from how few points, a nonlinear model learns.

The mean over factors of the accuracy with which gradient boosted trees, learned from all training
rows (10,000 at most), predict a factor's value on the test rows. Parts give the accuracy from fewer
rows and the statistical efficiency, the accuracy from 100 rows divided by that from 10,000. Chance
is the share of the most frequent value.

Paper: Locatello et al. 2019, section 5.5 and appendix C. As in its released code, the classifier is
that of scikit-learn's GradientBoostingClassifier() with default settings; compiled/boosting.py has
the same trees. Family: predictor. Property: explicitness.

Conventions (and those of base/downstream.py):
- The trees that learn from the whole table are those of DCI and fairness, learned once; all have
  the inputs' seed, which decides between equally good splits.
- Values closer than 1e-7 count as equal, as in scikit-learn.
- Constant latents tell nothing: the most frequent value of the training rows is predicted.
"""

from collections.abc import Sequence

import numpy as np

from metrics.base.downstream import DOWNSTREAM_PARTS, downstream
from metrics.base.inputs import Inputs, Score
from metrics.base.predictors import check_tables
from metrics.base.trees import Classifier, learn

NEEDS = frozenset({"table", "test_table"})
PARTS = DOWNSTREAM_PARTS


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing: the trees' seed is the inputs'."""
    tables = check_tables(inputs.codes, inputs.factors, *inputs.test_table())

    def learned(size: int) -> Sequence[Classifier]:
        if size == len(tables.codes):
            return inputs.boosted
        return learn(tables.codes[:size], tables.factors[:size], inputs.trees, inputs.tree_seed)

    return downstream(tables, learned)
