"""Interventional robustness score.

How little a latent moves when the other factors change while one factor keeps its value. Among the
points that share a factor's value, a latent deviates from its mean there; the mean over the
factor's values of (nearly) the largest deviation, divided by the largest deviation among all
points, and taken from 1, is the latent's robustness for that factor. A latent's score is its
largest over factors, the score is the mean over latents weighted by their largest deviation.

Paper: Suter et al. 2019, "Robustly disentangled causal mechanisms: validating deep representations
for interventional robustness", as in Carbonneau et al. 2022, section 4.2.4. Family: intervention.
Property: holistic.

Conventions:
- The headline is as the library of Locatello et al. 2019 computes it, with which other people's
  numbers were made: each factor is first cut into 20 bins of equal width over its range (up to 20
  evenly spaced values have a bin each), a bin's deviation is the 99th percentile, and all bins that
  hold points count equally. The latents' scores are those of the headline.
- Three parts are without bins: "percentile_99" (else as the headline), "max_deviation" (the largest
  deviation, as the papers say) and "max_deviation_weighted" (the largest, and values count as often
  as they occur, as the review says; the same where all occur equally often). They differ from the
  headline where a factor has more than 20 values: a bin of several values leaves a latent that
  follows the factor some room to move.
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
from metrics.base.information import discretise
from metrics.base.inputs import BINS, Inputs, Score

NEEDS = frozenset({"table"})
PARTS = {
    "percentile_99": "the score with a factor's own values in place of 20 bins",
    "max_deviation": "the same with the largest deviation in place of the 99th percentile",
    "max_deviation_weighted": "the same where values count as often as they occur",
    "irs latent N": "of each latent: its score, of which the headline is the weighted mean",
}


def irs(codes: ArrayLike, factors: ArrayLike, diff_quantile: float = 0.99) -> list[Score]:
    """The score at `diff_quantile` of binned factors ("score") and of their values
    ("percentile_99"), those of the largest deviation ("max_deviation", "max_deviation_weighted"),
    and every latent's ("irs latent 0")."""
    codes, factors = check(codes, factors)
    codes = codes.astype(np.float64)
    moves = codes.max(axis=0) > codes.min(axis=0)
    overall = np.where(moves, np.abs(codes - codes.mean(axis=0)).max(axis=0), 0.0)
    weights = overall / overall.max() if moves.any() else np.ones_like(overall)

    binned = discretise(factors.astype(np.float64), BINS)

    def robustness(deviations: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Every latent's score, from one row of deviations per factor."""
        relative = np.divide(
            deviations, overall, out=np.ones((len(deviations), len(overall))), where=moves
        )
        robust: NDArray[np.float64] = (1 - relative.min(axis=0)).clip(0, 1)
        return robust

    latents = robustness([_deviations(codes, f, diff_quantile)[0] for f in binned.T])
    by_value = [_deviations(codes, factor, diff_quantile) for factor in factors.T]
    parts = {
        "score": latents,
        "percentile_99": robustness([quantile for quantile, _, _ in by_value]),
        "max_deviation": robustness([largest for _, largest, _ in by_value]),
        "max_deviation_weighted": robustness([weighted for _, _, weighted in by_value]),
    }
    return [
        *(Score(part, float(of @ weights / weights.sum())) for part, of in parts.items()),
        *(Score(f"irs latent {place}", value) for place, value in enumerate(latents.tolist())),
    ]


def _deviations(
    codes: NDArray[np.float64], factor: NDArray[np.int64], diff_quantile: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Every latent's deviation from its mean among points with equal factor: the mean over values
    of the quantile, of the largest, and of the largest weighted by the values' counts."""
    order = np.argsort(factor, kind="stable")
    _, starts, counts = np.unique(factor[order], return_index=True, return_counts=True)
    quantiles = np.stack(
        [
            np.quantile(np.abs(group - group.mean(axis=0)), [diff_quantile, 1], axis=0)
            for group in np.split(codes[order], starts[1:])
        ]
    )
    quantile, largest = quantiles.mean(axis=0)
    weighted: NDArray[np.float64] = np.average(quantiles[:, 1], axis=0, weights=counts)
    return quantile, largest, weighted


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing."""
    return irs(inputs.codes, inputs.factors)
