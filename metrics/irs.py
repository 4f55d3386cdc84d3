"""Interventional robustness score.

How little a latent moves when the other factors change while one factor keeps its value. Among the
points that share a factor's value, a latent deviates from its mean there; the mean over the
factor's values of (nearly) the largest deviation, divided by the largest deviation among all
points, and taken from 1, is the latent's robustness for that factor. A latent's score is its
largest over factors, the score is the mean over latents weighted by their largest deviation.

Paper: Suter et al. 2019, "Robustly disentangled causal mechanisms: validating deep representations
for interventional robustness", as in Carbonneau et al. 2022, section 4.2.4. Family: intervention.
Property: modularity.

Conventions:
- The headline is as the library of Locatello et al. 2019 computes it, with which other people's
  numbers were made: a value's deviation is the 99th percentile, and all values count equally.
- Both definitions are parts: "percentile_99" (the headline again), "max_deviation" (the largest
  deviation, as the papers say) and "max_deviation_weighted" (the largest, and values count as often
  as they occur, as the review says; the same where all occur equally often).
- A constant latent has score 0 and no weight; if all are constant, all scores are 0.
- A latent that no factor makes steadier than it is among all points has score 0, not less (two
  values with one stray point each can leave deviations above the overall one).
- A value that one point has leaves no deviation, so that few points per value raise the score.
- A factor with one value counts as any other: its 99th percentile is below the largest deviation,
  so that noise scores above 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import check
from metrics.base.inputs import Inputs, Score

NEEDS = frozenset({"table"})


def irs(codes: ArrayLike, factors: ArrayLike, diff_quantile: float = 0.99) -> list[Score]:
    """The score at `diff_quantile` ("score", "percentile_99"), those of the largest deviation
    ("max_deviation", "max_deviation_weighted"), and every latent's ("irs latent 0")."""
    codes, factors = check(codes, factors)
    codes = codes.astype(np.float64)
    moves = codes.max(axis=0) > codes.min(axis=0)
    overall = np.where(moves, np.abs(codes - codes.mean(axis=0)).max(axis=0), 0.0)
    # (factors; quantile, largest, weighted largest; latents)
    deviations = np.stack([_deviations(codes, factor, diff_quantile) for factor in factors.T])
    relative = np.divide(deviations, overall, out=np.ones_like(deviations), where=moves)
    latents = (1 - relative.min(axis=0)).clip(0, 1)
    weights = overall / overall.max() if moves.any() else np.ones_like(overall)
    quantile, largest, weighted = (latents @ weights / weights.sum()).tolist()
    return [
        Score("score", quantile),
        Score("percentile_99", quantile),
        Score("max_deviation", largest),
        Score("max_deviation_weighted", weighted),
        *(Score(f"irs latent {place}", value) for place, value in enumerate(latents[0].tolist())),
    ]


def _deviations(
    codes: NDArray[np.float64], factor: NDArray[np.int64], diff_quantile: float
) -> NDArray[np.float64]:
    """Every latent's deviation from its mean among points with equal factor, over all values."""
    order = np.argsort(factor, kind="stable")
    _, starts, counts = np.unique(factor[order], return_index=True, return_counts=True)
    quantiles = np.stack(
        [
            np.quantile(np.abs(group - group.mean(axis=0)), [diff_quantile, 1], axis=0)
            for group in np.split(codes[order], starts[1:])
        ]
    )
    equally = quantiles.mean(axis=0)
    by_count: NDArray[np.float64] = np.average(quantiles[:, 1], axis=0, weights=counts)
    return np.vstack([equally, by_count])


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing."""
    return irs(inputs.codes, inputs.factors)
