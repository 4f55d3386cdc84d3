"""Modularity: how far every latent knows of one factor alone.

For every latent, the mutual information with each factor but the one it knows most of, squared,
summed and divided by (factors - 1) times the largest one squared; its modularity is 1 minus that,
and the score is the mean over latents. 1 where each latent knows one factor only, 0 where it knows
all equally well. How much it knows does not matter, so that noise scores far above 0. Latents are
cut into 20 equal bins over their own range; mutual information is in nats.

Paper: Ridgeway & Mozer 2018, "Learning deep disentangled embeddings with the F-statistic loss", as
in Locatello et al. 2019, appendix C (Carbonneau et al. 2022, section 4.4.4, equation 7). Family:
information. Property: modularity.

Conventions:
- A latent that knows nothing of any factor, dead ones among them, has modularity 0 and counts in
  the mean (released code of Locatello et al.); information below 1e-12 nats is rounding and counts
  as nothing.
- A factor with one value, of which no latent knows anything, counts among the factors.
- With one factor only, a latent that knows of it has modularity 1.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import check
from metrics.base.information import discretise, mutual_information
from metrics.base.inputs import Inputs, Score

NEEDS = frozenset({"table"})
PARTS = {"modularity latent N": "of each latent: its modularity"}

ROUNDING = 1e-12  # nats


def modularity(codes: ArrayLike, factors: ArrayLike, bins: int = 20) -> list[Score]:
    """The mean ("score") and every latent's ("modularity latent 0", ...)."""
    codes, factors = check(codes, factors)
    return _modularity(mutual_information(discretise(codes, bins), factors))


def _modularity(shared: NDArray[np.float64]) -> list[Score]:
    ascending = np.sort(shared, axis=1)
    others, most = ascending[:, :-1], ascending[:, -1:]
    relative = np.divide(others, most, out=np.ones_like(others), where=most > ROUNDING)
    spread = np.square(relative).sum(axis=1) / max(others.shape[1], 1)
    modular = np.where(most[:, 0] > ROUNDING, 1 - spread, 0.0)
    per_latent = [
        Score(f"modularity latent {latent}", float(value)) for latent, value in enumerate(modular)
    ]
    return [Score("score", float(modular.mean())), *per_latent]


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing."""
    return _modularity(inputs.information)
