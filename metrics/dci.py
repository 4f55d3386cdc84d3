"""DCI with gradient boosted trees, as Locatello et al. compute it.

For every factor, boosted trees learn to predict the factor's value from all latents. A latent's
importance for that factor is the share of the fall in squared error that its splits bring. The
score is disentanglement: for every latent, 1 minus the entropy, to the base of the number of
factors, of its importances divided by their sum; then the mean over latents, weighted by these
sums. 1 where each latent is important for one factor only, 0 where for all alike. Parts give
completeness (1 where each factor needs one latent only) and informativeness, here the trees'
accuracy.

Paper: Locatello et al. 2019, appendix C, and its released code, after Eastwood & Williams 2018:
scikit-learn's boosted trees with default settings, 10,000 rows to train and 5,000 to test.
metrics/compiled/boosting.py has the same trees. Family: predictor. Property: modularity.

Choices that the paper leaves open:
- A seed decides between splits that are equally good by two latents; scores move by some
  thousandths.

Many values: with the 183 cars of Cars3D, leaves of rows whose class seems impossible take steps of
1e127, here and in scikit-learn, and rounding decides the rest: one number is worth little
(docs/choices.md). "stable" is the same score of trees whose steps end at 360, a tenth of which,
36 nats, is all that doubles can tell; where no step is longer it is the headline.

Conventions (and those of base/dci_scores.py):
- The released mean of completeness is weighted by the factors' sums of importance, which are 1 for
  every factor of two values or more; it is the part "completeness_weighted".
- A dead latent is important for nothing. Equal latents share importance at random.
- A factor with one value is not learned: nothing is important for it, and its prediction is right
  wherever the test has no other value.
- The importances for any other factor sum to 1 however badly it is predicted, so that noise scores
  above 0.
- Values closer than 1e-7 count as equal, as in scikit-learn, so that a latent of a smaller range
  counts as dead.
- A value that is absent from training is never predicted.
"""

import numpy as np
from numpy.typing import NDArray

from metrics.base.dci_scores import (
    IMPORTANCE_PARTS,
    completeness,
    disentanglement,
    importance_scores,
)
from metrics.base.downstream import accuracies
from metrics.base.inputs import Inputs, Score
from metrics.base.predictors import Tables, check_tables
from metrics.base.trees import Classifier

NEEDS = frozenset({"table", "test_table"})
PARTS = {
    **IMPORTANCE_PARTS,
    "informativeness_train": "of each factor, and their mean: the trees' accuracy on training rows",
    "informativeness_test": "of each factor, and their mean: the trees' accuracy on test rows",
    "stable": "the score of trees with bounded steps",
    "stable_completeness": "the mean completeness of trees with bounded steps",
    "stable_informativeness_test": "the mean accuracy on test rows of trees with bounded steps",
}


def dci(inputs: Inputs) -> list[Score]:
    """Disentanglement ("score"), and PARTS."""
    tables = check_tables(inputs.codes, inputs.factors, *inputs.test_table())
    scores = importance_scores(importances(inputs.boosted))
    for part, codes, factors in (
        ("train", tables.codes, tables.factors),
        ("test", tables.test_codes, tables.test_factors),
    ):
        name, shares = f"informativeness_{part}", accuracies(inputs.boosted, codes, factors)
        scores.append(Score(name, float(np.mean(shares))))
        scores += [Score(name, share, factor) for factor, share in enumerate(shares)]
    return scores + _stable(inputs.bounded, tables)


def _stable(classifiers: list[Classifier], tables: Tables) -> list[Score]:
    matrix = importances(classifiers)
    shares = accuracies(classifiers, tables.test_codes, tables.test_factors)
    return [
        Score("stable", disentanglement(matrix)[0]),
        Score("stable_completeness", completeness(matrix)[0]),
        Score("stable_informativeness_test", float(np.mean(shares))),
    ]


def importances(classifiers: list[Classifier]) -> NDArray[np.float64]:
    """(latents, factors)"""
    return np.stack([classifier.feature_importances_ for classifier in classifiers], axis=1)


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing: the trees' seed is the inputs'."""
    inputs.matrices["dci"] = importances(inputs.boosted)
    return dci(inputs)
