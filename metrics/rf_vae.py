"""RF-VAE metric, also called Z-max variance.

Points of a group share the values of all factors but one. The latent whose variance within the
group is largest, relative to its variance over all points, votes for the factor that varies.
Training groups give every latent the factor that it votes for most often; the score is how often
that is right in test groups.

Paper: Kim et al. 2019, "Relevance factor VAE: learning and identifying disentangled factors", as in
Carbonneau et al. 2022, section 4.2.3, where only the groups and the vote differ from the FactorVAE
metric. Family: intervention. Property: modularity.

Conventions (and those of base/votes.py):
- The threshold, sizes, the majority vote and all parts are those of the FactorVAE metric.
- In a group of equal points nothing varies, and the first active latent votes: a table in which few
  rows share all factors but one, or a factor with one value, lowers the score of a perfect
  representation.
"""

import numpy as np
from numpy.typing import ArrayLike

from metrics.base.inputs import Groups, Inputs, Score
from metrics.base.votes import VOTE_PARTS, majority_vote

NEEDS = frozenset({"table", "variations"})
PARTS = VOTE_PARTS


def rf_vae(codes: ArrayLike, train: Groups, test: Groups, threshold: float = 0.05) -> list[Score]:
    """Accuracy in test groups ("score"), and PARTS."""
    return majority_vote(codes, train, test, threshold, sign=-1)


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing: the groups were drawn before."""
    return rf_vae(inputs.codes, *inputs.variations())
