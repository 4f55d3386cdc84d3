"""Accuracy of guessing a set's factor: majority votes of latents, and what such metrics report.

The vote is that of Kim & Mnih 2018 (metrics/factor_vae.py); the RF-VAE metric differs in the groups
and the sign. "calibrated" is of Carbonneau et al. 2022, sections 4.2.1 and 4.2.2.

Conventions:
- Variances have n - 1 below.
- Ties go to the lower index: between latents with equal relative variance, and between factors with
  equal votes. So a latent without training votes is taken for factor 0.
- Without active latents all accuracies are 0.
- A factor that no test set has gets no accuracy.
- With one factor, where guessing is always right, the calibrated score is 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import Codes, Factors, blocks, numbers
from metrics.base.inputs import Groups, Score, check_groups

# The parts that majority_vote() gives, other than the headline.
VOTE_PARTS = {
    "calibrated": "the accuracy scaled so that guessing among M factors, 1/M, is 0, and 1 stays 1",
    "train_accuracy": "the accuracy in the training groups",
    "score_std_pruned": "the score where latents with a standard deviation, not a variance, below "
    "0.05 are left out",
    "active": "how many latents have a variance of at least 0.05",
    "accuracy": "of each factor: the accuracy in its test groups",
}


def majority_vote(
    codes: ArrayLike, train: Groups, test: Groups, threshold: float, sign: int
) -> list[Score]:
    """The scores where the latent of smallest sign · relative variance votes.

    Accuracy in test groups ("score"), and VOTE_PARTS.
    """
    codes = numbers("codes", codes, ("row", "column"))
    latents = codes.shape[1]
    train, test = check_groups("train", train, latents), check_groups("test", test, latents)
    variance = codes.var(axis=0, ddof=min(1, len(codes) - 1), dtype=np.float64)
    train_within, test_within = _variances(train.codes), _variances(test.codes)

    def right(active: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """For which training and which test groups the active latents' guess is right."""
        voter = _voters(sign * train_within, variance, active)
        factors = int(train.factor.max()) + 1
        ballots = np.bincount(train.factor * latents + voter, minlength=factors * latents)
        elected = ballots.reshape(factors, latents).argmax(axis=0)
        test_voter = _voters(sign * test_within, variance, active)
        any_active = active.any()
        return (
            (elected[voter] == train.factor) & any_active,
            (elected[test_voter] == test.factor) & any_active,
        )

    # by rounding, a latent that is 0.1 everywhere has a tiny variance
    alive = (variance > 0) & (codes.max(axis=0) > codes.min(axis=0))
    active = alive & (variance >= threshold)
    train_right, test_right = right(active)
    _, std_pruned = right(alive & (np.sqrt(variance) >= threshold))
    score = float(test_right.mean())
    return [
        Score("score", score),
        Score("calibrated", calibrated(score, train.factor, test.factor)),
        Score("train_accuracy", float(train_right.mean())),
        Score("score_std_pruned", float(std_pruned.mean())),
        Score("active", float(active.sum())),
        *per_factor(test_right, test.factor),
    ]


def _variances(codes: Codes) -> NDArray[np.float64]:
    """Of every latent within each group."""
    variances = np.empty((codes.shape[0], codes.shape[2]))
    for groups in blocks(len(codes)):
        variances[groups] = codes[groups].var(axis=1, ddof=1, dtype=np.float64)
    return variances


def _voters(
    within: NDArray[np.float64], variance: NDArray[np.float64], active: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Every group's active latent of smallest relative variance."""
    relative = np.divide(within, variance, out=np.full_like(within, np.inf), where=active)
    latents: NDArray[np.intp] = relative.argmin(axis=1)
    return latents


def calibrated(accuracy: float, *factors: Factors) -> float:
    """`accuracy` with that of guessing among all these factors at 0; 0 where there is but one."""
    known = len(np.unique(np.concatenate(factors)))
    return (accuracy - 1 / known) / (1 - 1 / known) if known > 1 else 0.0


def per_factor(right: NDArray[np.bool_], factor: Factors) -> list[Score]:
    """How often the sets of each factor are right."""
    return [
        Score("accuracy", float(right[factor == index].mean()), int(index))
        for index in np.unique(factor)
    ]
