"""Mutual information gap.

For every factor, the mutual information with the latent that has most of it, minus that with the
runner-up, divided by the factor's entropy; the score is the mean over factors. 1 where one latent
alone determines each factor, 0 where two latents know equally much. Latents are cut into 20 equal
bins over their own range; mutual information is in nats.

Paper: Chen et al. 2018, "Isolating sources of disentanglement in variational autoencoders", on mean
representations as in Locatello et al. 2019, appendix C. Family: information. Property: compactness.

Conventions:
- A factor with one value has no entropy to divide by; its gap is 0 and it counts in the mean.
- The runner-up of a single latent knows 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import Factors, check
from metrics.base.information import discretise, entropy, mutual_information
from metrics.base.inputs import Inputs, Score

NEEDS = frozenset({"table"})
PARTS = {"gap": "of each factor: its gap divided by its entropy"}


def mig(codes: ArrayLike, factors: ArrayLike, bins: int = 20) -> list[Score]:
    """The mean gap ("score") and every factor's ("gap")."""
    codes, factors = check(codes, factors)
    return _gaps(mutual_information(discretise(codes, bins), factors), factors)


def _gaps(shared: NDArray[np.float64], factors: Factors) -> list[Score]:
    nothing = np.zeros((1, factors.shape[1]))  # a runner-up where there is one latent only
    ascending = np.sort(np.vstack([nothing, shared]), axis=0)
    available = entropy(factors)
    gaps = np.divide(
        ascending[-1] - ascending[-2],
        available,
        out=np.zeros_like(available),
        where=available > 0,
    )
    per_factor = [Score("gap", float(gap), factor) for factor, gap in enumerate(gaps)]
    return [Score("score", float(gaps.mean())), *per_factor]


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing."""
    return _gaps(inputs.information, check(inputs.codes, inputs.factors)[1])
