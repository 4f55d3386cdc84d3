"""FactorVAE metric, also called Z-min variance.

Points of a group share one factor's value. The latent whose variance within the group is smallest,
relative to its variance over all points, votes for that factor. Training groups give every latent
the factor that it votes for most often; the score is how often that is right in test groups.

Paper: Kim & Mnih 2018, "Disentangling by factorising", as in Locatello et al. 2019, appendix C:
latents with variance below 0.05 are left out, groups have 64 points, 10,000 groups train and 5,000
test. Family: intervention. Property: modularity.

Conventions: variances have n - 1 below. Ties go to the lower index: between latents with equal
relative variance, between factors with equal votes (a latent without training votes stands for
factor 0). Without active latents all accuracies are 0. A factor that no test group fixes has none.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.arrays import numbers
from metrics.inputs import Groups, Inputs, Score, check_groups

NEEDS = frozenset({"table", "groups"})


def factor_vae(
    codes: ArrayLike, train: Groups, test: Groups, threshold: float = 0.05
) -> list[Score]:
    """Accuracy in test groups ("score"; per factor "accuracy"), "train_accuracy", and "active"."""
    codes = numbers("codes", codes, ("row", "column"))
    latents = codes.shape[1]
    train, test = check_groups("train", train, latents), check_groups("test", test, latents)
    variance = codes.var(axis=0, ddof=min(1, len(codes) - 1), dtype=np.float64)
    active = (variance >= threshold) & (variance > 0)
    voter = _votes(train, variance, active)
    factors = int(train.factor.max()) + 1
    ballots = np.bincount(train.factor * latents + voter, minlength=factors * latents)
    elected = ballots.reshape(factors, latents).argmax(axis=0)
    train_right = (elected[voter] == train.factor) & active.any()
    right = (elected[_votes(test, variance, active)] == test.factor) & active.any()
    per_factor = [
        Score("accuracy", float(right[test.factor == factor].mean()), int(factor))
        for factor in np.unique(test.factor)
    ]
    return [
        Score("score", float(right.mean())),
        Score("train_accuracy", float(train_right.mean())),
        Score("active", float(active.sum())),
        *per_factor,
    ]


def _votes(
    groups: Groups, variance: NDArray[np.float64], active: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Every group's latent of smallest relative variance."""
    within = groups.codes.var(axis=1, ddof=1, dtype=np.float64)
    relative = np.divide(within, variance, out=np.full_like(within, np.inf), where=active)
    latents: NDArray[np.intp] = relative.argmin(axis=1)
    return latents


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing: the groups were drawn before."""
    return factor_vae(inputs.codes, *inputs.groups())
