"""DCIMIG, also called 3CharM: gaps between factors, of the best latent for each.

For every latent, the mutual information with the factor it knows most of minus that with the
runner-up: a gap that belongs to the first of these factors. A factor's gap is the largest that
belongs to it, 0 where none does; the score is the sum over factors, divided by the sum of their
entropies. 1 where one latent determines each factor and nothing else; further latents for the same
factor cost nothing. Latents are cut into 20 equal bins over their own range; mutual information is
in nats.

Paper: Sepliarskaia et al. 2019, "How to not measure disentanglement", as in Carbonneau et al. 2022,
section 4.4.5, equation 8. Family: information. Property: holistic (all three at once).

Conventions:
- With one factor only, the runner-up has 0.
- A factor with one value has neither gap nor entropy and so changes nothing; the score is 0 where
  all factors are such.
- A dead latent has gap 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import Factors, check
from metrics.base.information import discretise, entropy, mutual_information
from metrics.base.inputs import Inputs, Score

NEEDS = frozenset({"table"})
PARTS = {
    "gap": "of each factor: the largest gap that belongs to it, in nats",
    "gap latent N": "of each latent: its gap, in nats",
}


def dcimig(codes: ArrayLike, factors: ArrayLike, bins: int = 20) -> list[Score]:
    """The share of all entropy ("score"), and PARTS."""
    codes, factors = check(codes, factors)
    return _gaps(mutual_information(discretise(codes, bins), factors), factors)


def _gaps(shared: NDArray[np.float64], factors: Factors) -> list[Score]:
    nothing = np.zeros((len(shared), 1))  # a runner-up where there is one factor only
    ascending = np.sort(np.hstack([nothing, shared]), axis=1)
    gaps = ascending[:, -1] - ascending[:, -2]
    best = np.zeros(shared.shape[1])
    np.maximum.at(best, shared.argmax(axis=1), gaps)
    available = entropy(factors)
    total = float(available.sum())
    score = float(best.sum()) / total if total > 0 else 0.0
    per_factor = [Score("gap", float(gap), factor) for factor, gap in enumerate(best)]
    per_latent = [Score(f"gap latent {latent}", float(gap)) for latent, gap in enumerate(gaps)]
    return [Score("score", score), *per_factor, *per_latent]


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing."""
    return _gaps(inputs.information, check(inputs.codes, inputs.factors)[1])
