"""MIG-sup: the mutual information gap seen from the latents, which supplements MIG.

For every latent, its mutual information with each factor, divided by that factor's entropy; its gap
is the largest of these minus the second largest, and the score is the mean over latents. 1 where
each latent determines one factor and knows nothing of the others, 0 where it knows as much of two.
Latents are cut into 20 equal bins over their own range; mutual information is in nats.

Paper: Li et al. 2020, "Progressive learning and disentanglement of hierarchical representations",
as in Carbonneau et al. 2022, section 4.4.3, equation 6. Family: information. Property: modularity.

Conventions:
- All latents count, as in Carbonneau et al., who find no objective threshold for "meaningful" ones;
  a dead latent has gap 0.
- No latent has information of a factor with one value.
- With one factor only, the second largest is 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import Factors, check
from metrics.base.information import discretise, entropy, mutual_information
from metrics.base.inputs import Inputs, Score

NEEDS = frozenset({"table"})
PARTS = {"gap latent N": "of each latent: its gap"}


def mig_sup(codes: ArrayLike, factors: ArrayLike, bins: int = 20) -> list[Score]:
    """The mean gap ("score") and every latent's ("gap latent 0", ...)."""
    codes, factors = check(codes, factors)
    return _gaps(mutual_information(discretise(codes, bins), factors), factors)


def _gaps(shared: NDArray[np.float64], factors: Factors) -> list[Score]:
    available = entropy(factors)
    known = np.divide(shared, available, out=np.zeros_like(shared), where=available > 0)
    nothing = np.zeros((len(known), 1))  # a runner-up where there is one factor only
    ascending = np.sort(np.hstack([nothing, known]), axis=1)
    gaps = ascending[:, -1] - ascending[:, -2]
    per_latent = [Score(f"gap latent {latent}", float(gap)) for latent, gap in enumerate(gaps)]
    return [Score("score", float(gaps.mean())), *per_latent]


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing."""
    return _gaps(inputs.information, check(inputs.codes, inputs.factors)[1])
