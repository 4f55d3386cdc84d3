"""Linear CKA (centred kernel alignment): how alike the codes of two models are, up to a rotation.

|Y'X|² / (|X'X| |Y'Y|) for the centred codes X and Y of the same points, where |.| is the root of
the sum of all squares. 1 if one is the other turned, mirrored and scaled as a whole; 0 if no latent
of one is correlated with any of the other. So it says whether training finds the same
representation again, not whether that is disentangled: a turned copy of a disentangled model is as
good as the model itself.

Paper: Kornblith et al. 2019, "Similarity of neural network representations revisited", section 3.

Conventions:
- Latents are centred and keep their scales, as in the paper: those that vary more count more. With
  standardised latents a rotation would change the number.
- Only informative latents count. A pair in which either model has none that varies scores 0.
- A model's score is the mean over the other models.
"""

import numpy as np
from numpy.typing import ArrayLike

from metrics.base.arrays import Codes
from metrics.udr import moments, whole_codes
from metrics.udr.moments import Flags, Matrix, WithMoments

FOLDS = 1
MIRRORED = True  # the score of (i, j) is that of (j, i)


def standard(codes: Codes, standard: Codes) -> None:
    """Fill `standard` (latents, points) with mean 0, all in the scale of the widest."""
    latents = codes.T.astype(np.float64)
    low, high = latents.min(axis=1, keepdims=True), latents.max(axis=1, keepdims=True)
    half = float(((high - low) / 2).max())
    centred: Matrix = latents - (low + high) / 2
    centred /= half if half > 0 else np.inf  # no square overflows or vanishes
    centred -= centred.mean(axis=1, keepdims=True)
    centred[low[:, 0] == high[:, 0]] = 0.0
    standard[:] = centred


def basis(gram: Matrix) -> Matrix:
    """All latents, in units in which the size of their covariance is 1."""
    size = float(np.linalg.norm(gram))
    return np.full(len(gram), 1 / np.sqrt(size) if size > 0 else 0.0)


def prepare(codes: ArrayLike) -> WithMoments:
    return moments.prepare(codes, "cka")


def compare(
    regressors: WithMoments,
    targets: WithMoments,
    informative_regressors: Flags,
    informative_targets: Flags,
) -> Matrix:
    flags = informative_regressors, informative_targets
    return whole_codes.compare(regressors, targets, *flags, basis=basis, shared=False)


def similarities(codes_i: ArrayLike, codes_j: ArrayLike) -> Matrix:
    """What each latent of i (rows) with each of j (columns) adds to the CKA."""
    i, j = (prepare(np.asarray(codes)[None]) for codes in (codes_i, codes_j))
    return whole_codes.similarities(i, j, basis)
