"""Joint entropy minus mutual information gap.

For every factor, the joint entropy of the factor and the latent that has most information of it,
minus that information, plus the runner-up's: JEMMIG, equation 4 of Carbonneau et al. 2022, in nats,
less of which is better. It is at most H(factor) + log(bins); 1 minus JEMMIG divided by that is the
normalised one, equation 5, between 0 and 1, more of which is better: 1 where one latent determines
each factor and nothing else. Latents are cut into 20 equal bins over their own range.

Paper: Do & Tran 2020, "Theory and evaluation metrics for learning disentangled representations", as
in Carbonneau et al. 2022, section 4.4.2. Family: information. Property: holistic (modularity,
compactness and explicitness at once).

Conventions:
- The headline is the mean over factors of equation 4. The tables of Carbonneau et al. hold the
  normalised one, here the part "normalised": two equal latents per factor score 0.5 in their table
  1, as by equation 5 with as many values as bins, not the log(10) of equation 4.
- The runner-up of a single latent knows 0.
- Among latents whose information is equal to 1e-9 nats, the best is the one with the highest joint
  entropy: neither the order of latents nor a dead latent among live ones changes a score. So for a
  factor with one value, JEMMIG is the entropy of the latent that varies most; it counts in the
  mean.
- Where all latents are dead, JEMMIG is H(factor) by the definition, and the normalised one not 0
  but log(bins) / (H(factor) + log(bins)).
- With one bin and a factor with one value, the normalised one is 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import Factors, check
from metrics.base.information import discretise, entropy, mutual_information
from metrics.base.inputs import BINS, Inputs, Score

NEEDS = frozenset({"table"})
PARTS = {
    "jemmig": "of each factor: equation 4, in nats; less is better",
    "normalised": "of each factor, and their mean: equation 5, from 0 to 1; more is better",
}

EQUAL = 1e-9  # nats


def jemmig(codes: ArrayLike, factors: ArrayLike, bins: int = 20) -> list[Score]:
    """The mean of equation 4 ("score"; per factor "jemmig") and of equation 5 ("normalised")."""
    codes, factors = check(codes, factors)
    labels = discretise(codes, bins)
    return _jemmig(mutual_information(labels, factors), labels, factors, bins)


def _jemmig(
    shared: NDArray[np.float64], labels: Factors, factors: Factors, bins: int
) -> list[Score]:
    available = entropy(factors)
    joint = entropy(labels)[:, None] + available - shared
    nothing = np.zeros((1, len(available)))  # a runner-up where there is one latent only
    second, most = np.sort(np.vstack([nothing, shared]), axis=0)[-2:]
    best = np.where(shared >= most - EQUAL, joint, -np.inf).max(axis=0)
    original = np.maximum(best - most + second, 0.0)
    bound = available + np.log(bins)
    normalised = 1 - np.divide(original, bound, out=np.ones_like(bound), where=bound > 0)
    return [
        Score("score", float(original.mean())),
        Score("normalised", float(normalised.mean())),
        *(Score("jemmig", float(value), factor) for factor, value in enumerate(original)),
        *(Score("normalised", float(value), factor) for factor, value in enumerate(normalised)),
    ]


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing."""
    factors = check(inputs.codes, inputs.factors)[1]
    return _jemmig(inputs.information, inputs.labels, factors, BINS)
