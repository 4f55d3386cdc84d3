"""CCA: how much of what one model encodes another encodes, too, up to any invertible linear map.

Canonical correlations: the direction in the latents of model i and the one in those of model j that
correlate most, then the two that do so among those uncorrelated with the first, and so on. The
score is the mean of their squares, R²_CCA of the paper. 1 if the latents of one are linear
functions of the other's; 0 if none are correlated. So it says whether training finds the same
information again, not whether that is disentangled.

Paper: Kornblith et al. 2019, "Similarity of neural network representations revisited", section 3
and Table 1. Raghu et al. 2017 (SVCCA) average the correlations themselves, of the principal
components that have 99% of the variance.

Conventions:
- The mean is over as many correlations as the model with fewer directions has, as in the paper.
- Only informative latents count, and all of their directions, however little they vary. A latent
  that the others determine adds none (an eigenvalue below SINGULAR of the standardised latents'
  correlation matrix). A pair in which either model has none that varies scores 0.
- A model's score is the mean over the other models.
"""

import numpy as np
from numpy.typing import ArrayLike

from metrics.udr import moments, whole_codes
from metrics.udr.moments import Flags, Matrix, WithMoments, standardise

FOLDS = 1
MIRRORED = True  # the score of (i, j) is that of (j, i)
SINGULAR = 1e-9  # an eigenvalue whose direction is mostly rounding, of float32

standard = standardise


def basis(gram: Matrix) -> Matrix:
    """All directions of the latents, uncorrelated and of variance 1."""
    sizes, directions = np.linalg.eigh(gram)
    regular = sizes >= SINGULAR
    whitened: Matrix = (directions[:, regular] / np.sqrt(sizes[regular])).T
    return whitened


def prepare(codes: ArrayLike) -> WithMoments:
    return moments.prepare(codes, "cca")


def compare(
    regressors: WithMoments,
    targets: WithMoments,
    informative_regressors: Flags,
    informative_targets: Flags,
) -> Matrix:
    flags = informative_regressors, informative_targets
    return whole_codes.compare(regressors, targets, *flags, basis=basis, shared=True)


def similarities(codes_i: ArrayLike, codes_j: ArrayLike) -> Matrix:
    """What each latent of i (rows) with each of j (columns) adds to the score.

    Latents are made uncorrelated such that each stays as near to itself as it can.
    """
    i, j = (prepare(np.asarray(codes)[None]) for codes in (codes_i, codes_j))
    most = max(1, min(len(basis(side.grams[0, 0])) for side in (i, j)))
    return whole_codes.similarities(i, j, _nearest) / most


def _nearest(gram: Matrix) -> Matrix:
    """As many uncorrelated latents as there are, by the inverse of the Gram matrix's root."""
    sizes, directions = np.linalg.eigh(gram)
    regular = sizes >= SINGULAR
    root: Matrix = directions[:, regular] / np.sqrt(sizes[regular]) @ directions[:, regular].T
    return root
