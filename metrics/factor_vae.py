"""FactorVAE metric, also called Z-min variance.

Points of a group share one factor's value. The latent whose variance within the group is smallest,
relative to its variance over all points, votes for that factor. Training groups give every latent
the factor that it votes for most often; the score is how often that is right in test groups.

Paper: Kim & Mnih 2018, "Disentangling by factorising", as in Locatello et al. 2019, appendix C:
latents with variance below 0.05 are left out, groups have 64 points, 10,000 groups train and 5,000
test. Family: intervention. Property: modularity.

Conventions (and those of base/votes.py):
- "score_std_pruned" is the score where latents with a standard deviation below 0.05 are left out,
  as in the released code.
- "calibrated" maps the accuracy of guessing among the groups' M factors, 1/M, to 0 and 1 to 1
  (Carbonneau et al. 2022, section 4.2.2); worse than guessing is negative.
"""

import numpy as np
from numpy.typing import ArrayLike

from metrics.base.inputs import Groups, Inputs, Score
from metrics.base.votes import VOTE_PARTS, majority_vote

NEEDS = frozenset({"table", "groups"})
PARTS = VOTE_PARTS


def factor_vae(
    codes: ArrayLike, train: Groups, test: Groups, threshold: float = 0.05
) -> list[Score]:
    """Accuracy in test groups ("score"), and PARTS."""
    return majority_vote(codes, train, test, threshold, sign=1)


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing: the groups were drawn before."""
    return factor_vae(inputs.codes, *inputs.groups())
