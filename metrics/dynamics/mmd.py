"""Maximum mean discrepancy of clouds of points, with a Gaussian kernel, and a mean over pairs.

k(x, y) = exp(-|x - y|² / (2 bandwidth²)).

Paper: Gretton et al. 2012, "A kernel two-sample test", equations 3 (unbiased) and 5 (biased).
"""

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from metrics.dynamics.settings import Estimator

Matrix = NDArray[np.float64]
ROWS = 1024  # of a cloud, compared with all of another at once
MEDIAN_POINTS = 2000  # of the joint cloud, between which distances are measured


def pairwise_mmd(clouds: Sequence[Matrix], bandwidth: float, estimator: Estimator) -> Matrix:
    """MMD² (clouds, clouds) of every two clouds (points, dimensions); 0 on the diagonal."""
    within, means = np.empty(len(clouds)), np.empty((len(clouds), len(clouds)))
    for r, s in combinations_with_replacement(range(len(clouds)), 2):
        means[r, s] = _mean_kernel(clouds[r], clouds[s], bandwidth)
    for r, cloud in enumerate(clouds):
        n = len(cloud)
        unbiased = estimator == "unbiased"
        within[r] = (means[r, r] * n - 1) / (n - 1) if unbiased else means[r, r]
    result = np.zeros_like(means)
    for r, s in combinations(range(len(clouds)), 2):
        value = within[r] - 2 * means[r, s] + within[s]
        # The biased estimate is the square of a norm: below 0 is rounding.
        result[r, s] = result[s, r] = value if estimator == "unbiased" else max(value, 0.0)
    return result


def _mean_kernel(x: Matrix, y: Matrix, bandwidth: float) -> float:
    total = 0.0
    scaled, others = x / bandwidth, y / bandwidth
    norms = (others**2).sum(axis=1) / 2
    for start in range(0, len(x), ROWS):
        rows = scaled[start : start + ROWS]
        half_squares = (rows**2).sum(axis=1)[:, None] / 2 + norms - rows @ others.T
        np.negative(half_squares, out=half_squares)
        np.minimum(half_squares, 0, out=half_squares)
        total += float(np.exp(half_squares, out=half_squares).sum())
    return total / (len(x) * len(y))


def median_distance(cloud: Matrix, rng: np.random.Generator) -> float:
    """Between different points of a cloud, of which at most MEDIAN_POINTS are drawn; 1 if all
    points are equal."""
    from scipy.spatial.distance import pdist

    if len(cloud) > MEDIAN_POINTS:
        cloud = cloud[rng.choice(len(cloud), MEDIAN_POINTS, replace=False)]
    distances = pdist(cloud)
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


def mean_of_pairs(pairs: Matrix) -> float:
    """The mean over all pairs of two different models, from a matrix (models, models)."""
    return float(pairs[np.triu_indices(len(pairs), 1)].mean())


def interval(
    pairs: Matrix, draws: int, level: float, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Percentiles of the mean over pairs when models are drawn anew, with replacement.

    As many models are drawn as there are. Two copies of the same model are no pair: their MMD² of 0
    says nothing about how seeds differ. A draw of copies of one model only has no pair, and is
    left out. Two models have one pair, and no interval.
    """
    models = len(pairs)
    if models < 3:
        return None
    copies = rng.multinomial(models, np.full(models, 1 / models), size=draws).astype(float)
    weights = models**2 - (copies**2).sum(axis=1)  # pairs of different models, in both orders
    sums = np.einsum("dr,rs,ds->d", copies, pairs, copies, optimize=True)
    means = sums[weights > 0] / weights[weights > 0]
    if not len(means):
        return None
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
