"""Theorem 1 of Locatello et al. 2019: two representations that no method without labels can tell
apart, one perfect and one with every factor in every latent.

The factors u are independent and uniform. The perfect codes are u. The entangled ones are f(u) =
Φ(A Φ⁻¹(u)), with the cumulative distribution Φ of a standard normal variable and a Householder
matrix A without a zero (appendix A). A turns normal variables into normal variables, so f(u) is
independent and uniform as well: a decoder of f(u) makes the same pictures with the same
probability, and whatever needs no labels is equal. Metrics that know u fall.

The paper's h is declared on (0, 1]; at 1 it has no value, so the open interval is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest, norm

from metrics import METRICS
from metrics.base.gaussians import total_correlation
from tasks.own import OwnCodes
from tasks.score_codes import score_of, split_inputs

Points = NDArray[np.float64]  # (points, factors)
FACTORS, VALUES, POINTS, FEWEST = 3, 10, 15_000, 1_000
ALPHA = 0.25


def householder(factors: int, alpha: float = ALPHA) -> Points:
    """The matrix A of appendix A: orthogonal, its own inverse, without a zero."""
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha: found {alpha}; accepted: between 0 and 0.5")
    v = np.full(factors, np.sqrt((1 - alpha) / (factors - 1)))
    v[0] = np.sqrt(alpha)
    matrix: Points = np.eye(factors) - 2 * np.outer(v, v)
    return matrix


def entangled(u: Points, matrix: Points) -> Points:
    """f(u), for independent uniform factors."""
    codes: Points = norm.cdf(norm.ppf(u) @ matrix.T)
    return codes


def slopes(u: Points, matrix: Points) -> NDArray[np.float64]:
    """|df_i / du_j| as (points, i, j)."""
    normal = norm.ppf(u)
    outer = norm.pdf(normal @ matrix.T)[:, :, None] / norm.pdf(normal)[:, None, :]
    of_points: NDArray[np.float64] = np.abs(matrix) * outer
    return of_points


@dataclass(frozen=True)
class Representations:
    """Independent uniform factors as perfect codes, and f of them."""

    perfect: Points
    entangled: Points

    @property
    def both(self) -> tuple[Points, Points]:
        return self.perfect, self.entangled

    @property
    def distances(self) -> list[list[float]]:
        """Kolmogorov-Smirnov distances of every latent's distribution from uniform."""
        return [[float(kstest(z, "uniform").statistic) for z in codes.T] for codes in self.both]

    @property
    def correlations(self) -> list[float]:
        """The largest of two latents, in each representation."""
        return [float(np.abs(np.corrcoef(codes.T) - np.eye(FACTORS)).max()) for codes in self.both]

    @property
    def total_correlations(self) -> list[float]:
        return [total_correlation(codes) for codes in self.both]

    @property
    def smallest_slope(self) -> float:
        """Of an entangled latent along a factor, at any point."""
        return float(slopes(self.perfect, householder(FACTORS)).min())

    def scores(self) -> dict[str, list[float | None]]:
        """Of both by every metric of disentanglement; None where it has no value."""
        factors = np.floor(self.perfect * VALUES).astype(np.int64)
        names = tuple(name for name, facts in METRICS.items() if facts.kind == "disentanglement")
        inputs = [split_inputs(OwnCodes(codes, factors, None), names, 0) for codes in self.both]
        values = {
            name: [score_of(one, name, 0).scores[0].value for one in inputs] for name in names
        }
        return {
            name: [v if np.isfinite(v) else None for v in both] for name, both in values.items()
        }


def representations(points: int) -> Representations:
    u = np.random.default_rng(0).uniform(size=(points, FACTORS))
    return Representations(u, entangled(u, householder(FACTORS)))


def run(points: int = POINTS) -> list[dict[str, object]]:
    """What is equal for both, then every metric of disentanglement, as name, perfect, entangled."""
    of = representations(points)
    pairs: dict[str, Sequence[float | None]] = {
        "largest distance of a latent's distribution from uniform": [max(d) for d in of.distances],
        "largest correlation of two latents": of.correlations,
        "total correlation": of.total_correlations,
        "smallest change of a latent with a factor of another": [0.0, of.smallest_slope],
        **of.scores(),
    }
    return [{"name": name, "perfect": a, "entangled": b} for name, (a, b) in pairs.items()]
