"""Gradient boosted trees that predict factors from codes: one fit that several metrics read.

KINDS names two classifiers that give the same numbers: this project's, which sorts the codes once
(metrics/compiled/boosting.py), and scikit-learn's, many times slower, to check it against.
"""

from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from metrics.base.arrays import Codes, Factors

Kind: TypeAlias = Literal["presorted", "sklearn"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Matrix: TypeAlias = NDArray[np.floating[Any]]
# A tenth of a step is added to the log-odds, and 36 nats take a probability of one half below the
# rounding of doubles, 2.2e-16.
LONGEST = 360.0


class Classifier(Protocol):
    """What DCI, downstream tasks and fairness use of a classifier, as scikit-learn has it.

    `feature_importances_` has one number per latent; they sum to 1, or all are 0.
    """

    classes_: NDArray[Any]

    @property
    def feature_importances_(self) -> NDArray[np.float64]: ...
    def fit(self, X: Matrix, y: NDArray[Any]) -> Any: ...
    def predict(self, X: Matrix) -> NDArray[Any]: ...
    def predict_proba(self, X: Matrix) -> NDArray[np.float64]: ...


class OneValue:
    """A classifier where there is one value to learn: no latent is important."""

    feature_importances_: NDArray[np.float64]

    def fit(self, X: Matrix, y: NDArray[Any]) -> "OneValue":
        self.classes_ = np.unique(y)
        self.feature_importances_ = np.zeros(X.shape[1])
        return self

    def predict(self, X: Matrix) -> NDArray[Any]:
        return np.repeat(self.classes_, len(X))

    def predict_proba(self, X: Matrix) -> NDArray[np.float64]:
        return np.ones((len(X), 1))


def learn(codes: Codes, factors: Factors, kind: Kind, seed: int) -> list[Classifier]:
    """A classifier per factor; all have the same seed, which decides between equal splits."""
    classifiers = [_unfitted(factor, kind, seed) for factor in factors.T]
    for classifier, factor in zip(classifiers, factors.T, strict=True):
        classifier.fit(codes, factor)
    return classifiers


def bounded(
    classifiers: list[Classifier], codes: Codes, factors: Factors, seed: int
) -> list[Classifier]:
    """The classifiers that `learn` gave; those with longer steps than LONGEST are learned again,
    with steps of at most that."""
    from metrics.compiled.boosting import Boosting

    stable: list[Classifier] = []
    for classifier, factor in zip(classifiers, factors.T, strict=True):
        if longest_step(classifier) > LONGEST:
            classifier = Boosting(seed, LONGEST).fit(codes, factor)
        stable.append(classifier)
    return stable


def longest_step(classifier: Any) -> float:
    """The largest value of a leaf."""
    if isinstance(classifier, OneValue):
        return 0.0
    if hasattr(classifier, "estimators_"):  # scikit-learn's
        return float(max(np.abs(tree.tree_.value).max() for tree in classifier.estimators_.flat))
    return float(classifier.longest_step_)


def _unfitted(factor: NDArray[Any], kind: Kind, seed: int) -> Classifier:
    if (factor == factor[0]).all():
        return OneValue()
    if kind == "sklearn":
        from sklearn.ensemble import GradientBoostingClassifier  # a second, not needed otherwise

        reference: Classifier = GradientBoostingClassifier(random_state=seed)
        return reference
    from metrics.compiled.boosting import Boosting

    return Boosting(seed)
