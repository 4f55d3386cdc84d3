"""BetaVAE metric, also called Z-diff.

Both points of a pair share one factor's value, so they should differ little in the latents that
encode it. The mean absolute difference of a set's pairs is a point with one feature per latent; a
linear classifier learns from training sets which factor is shared. The score is its accuracy in
test sets.

Paper: Higgins et al. 2017, "beta-VAE: learning basic visual concepts with a constrained variational
framework", as in Locatello et al. 2019, appendix C: sets have 64 pairs, scikit-learn's logistic
regression with its default settings learns from 10,000 sets and is tested on 5,000. Family:
intervention. Property: modularity.

Conventions:
- "calibrated" maps the accuracy of guessing among M factors, 1/M, to 0 and 1 to 1 (Carbonneau et
  al. 2022, section 4.2.1); worse than guessing is negative. With one factor in all, it is 0.
- The classifier's penalty makes the score depend on the latents' scale: latents much below 1 in
  size count little. Without any difference to learn from, the most frequent factor is predicted,
  which is right about as often as guessing.
- Where a training feature exceeds 1000, all features are divided by one number that makes the
  largest 1000, as the classifier fails on much larger ones.
- The classifier stops after scikit-learn's 100 iterations, converged or not, without a warning.
- With one factor in the training sets, that one is predicted.
- A factor that no test set shares has no accuracy; one that no training set shares is never
  predicted.
"""

import warnings
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from metrics.base.arrays import BadArray, Factors, blocks, numbers, whole_numbers
from metrics.base.inputs import Inputs, Pairs, Score
from metrics.base.votes import calibrated, per_factor

NEEDS = frozenset({"pairs"})
PARTS = {
    "calibrated": "the accuracy scaled so that guessing among M factors, 1/M, is 0, and 1 stays 1",
    "train_accuracy": "the accuracy in the training sets",
    "accuracy": "of each factor: the accuracy in the test sets that share its value",
}

LARGEST_FEATURE = 1000.0
Points: TypeAlias = tuple[NDArray[np.float64], Factors]  # (sets, latents), and each set's factor


def beta_vae(train: Pairs, test: Pairs, rng: np.random.Generator) -> list[Score]:
    """Accuracy in test sets ("score"), and PARTS."""
    return _scores(_points("train", train), _points("test", test), rng)


def _scores(train: Points, test: Points, rng: np.random.Generator) -> list[Score]:
    (features, factor), (test_features, test_factor) = train, test
    if features.shape[1] != test_features.shape[1]:
        raise BadArray(
            "test", f"{test_features.shape[1]} latents", f"{features.shape[1]}, as train"
        )
    divisor = max(1.0, float(features.max()) / LARGEST_FEATURE)
    predicted, test_predicted = _classify(features / divisor, factor, test_features / divisor, rng)
    right = test_predicted == test_factor
    score = float(right.mean())
    return [
        Score("score", score),
        Score("calibrated", calibrated(score, factor, test_factor)),
        Score("train_accuracy", float((predicted == factor).mean())),
        *per_factor(right, test_factor),
    ]


def _points(name: str, pairs: Pairs) -> Points:
    """Every set's mean absolute difference in each latent, and its factor."""
    first = numbers(f"{name}.first", pairs.first, ("set", "pair", "latent"))
    second = numbers(f"{name}.second", pairs.second, ("set", "pair", "latent"))
    factor = whole_numbers(f"{name}.factor", pairs.factor, ("set",))
    if second.shape != first.shape:
        raise BadArray(f"{name}.second", f"shape {second.shape}", f"{first.shape}, as first")
    if len(factor) != len(first):
        raise BadArray(f"{name}.factor", f"{len(factor)} sets", f"{len(first)}")
    if factor.min() < 0:
        raise BadArray(f"{name}.factor", str(factor.min()), "indices from 0")
    differences = np.empty((first.shape[0], first.shape[2]))
    for sets in blocks(len(first)):
        apart = np.subtract(first[sets], second[sets], dtype=np.float64)
        differences[sets] = np.abs(apart).mean(axis=1)
    return differences, factor


def _classify(
    features: NDArray[np.float64],
    factor: Factors,
    test_features: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[Factors, Factors]:
    """The factors that logistic regression predicts for training and for test points."""
    from sklearn.exceptions import ConvergenceWarning  # a second, not needed to list metrics
    from sklearn.linear_model import LogisticRegression

    if (factor == factor[0]).all():
        return factor, np.full(len(test_features), factor[0])
    classifier = LogisticRegression(random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(features, factor)
    return classifier.predict(features), classifier.predict(test_features)


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws the classifier's seed; the pairs were drawn before."""
    train, test = inputs.pairs()
    points = _points("train", train), _points("test", test)
    del train, test  # 77 MB with the study's sizes, while scikit-learn is imported
    return _scores(*points, rng)
