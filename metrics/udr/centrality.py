"""ModelCentrality: how well a model's latents find those of the other models, and the other way.

The FactorVAE score (metrics/factor_vae.py) of model i where the latents of model j are the factors:
points of a group have nearly the same value of one latent of j; the latent of i that varies least
within the group, relative to its variance over all points, votes for that latent of j. Each latent
of i is given the latent of j that it votes for most often; the score A_ij is how often that is
right. A model's centrality is the mean of (A_ij + A_ji) / 2 over the other models j. The most
central model, the medoid, is the one to choose.

Paper: Lin et al. 2020, "InfoGAN-CR and ModelCentrality". In the released code (fjxmlzn/InfoGAN-CR)
groups are decoded from samples of the prior in which one latent is fixed; this needs each model's
decoder and, for each pair, an encoding of new pictures. Here they are of the stored codes' points.

Conventions:
- A latent of j is cut into groups of equally many points, about 100, in the order of its values:
  10,000 points make 100 groups of each latent, and of 10 latents 1,000, all as in the released
  code. Each is used once, so that nothing is drawn. Points with equal values share a group; there
  are at least two groups, if the latent varies.
- As in the released code, the groups that give the latents their factors are those that are
  counted. By guessing a score is therefore a little above 1 / latents of j.
- Only informative latents vote and are factors, and none that is constant. A pair in which either
  model has none scores 0.
- Groups of one point have no vote. Ties go to the lower index, between latents of i as well as
  between latents of j.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import numbers
from metrics.udr.moments import Flags, Matrix, Prepared, standardise
from metrics.udr.spearman import ranks

MIRRORED = False
GROUP = 100  # points; L in the released code


@dataclass(frozen=True)
class Grouped(Prepared):
    """Models' standardised latents, and the points in the order of each."""

    codes: NDArray[np.float32]  # (models, points, latents)
    order: NDArray[np.int32]  # (models, latents, points): the numbers of the points
    ends: NDArray[np.int64]  # (models, latents, groups): where in `order` each group ends

    @property
    def shape(self) -> tuple[int, int, int]:
        models, points, latents = self.codes.shape
        return models, latents, points


def prepare(codes: ArrayLike) -> Grouped:
    codes = numbers("codes", codes, ("model", "row", "latent"))
    models, points, latents = codes.shape
    groups = max(2, points // GROUP)
    standard = np.empty(codes.shape, dtype=np.float32)
    order = np.empty((models, latents, points), dtype=np.int32)
    ends = np.empty((models, latents, groups), dtype=np.int64)
    rows = np.empty((latents, points))
    for model in range(models):
        standardise(codes[model], rows)
        standard[model] = rows.T
        order[model] = rows.argsort(axis=1, kind="stable")
        doubled = np.rint(2 * ranks(rows)).astype(np.int64)  # ties have half a rank
        of_points = np.sort((doubled + 1) * groups // (2 * points), axis=1)
        for latent in range(latents):
            ends[model, latent] = np.searchsorted(of_points[latent], np.arange(groups), "right")
    return Grouped("centrality", standard, order, ends)


def compare(
    regressors: Grouped, targets: Grouped, informative_regressors: Flags, informative_targets: Flags
) -> Matrix:
    """A_ij (models i, models j): latents of i vote for those of j."""
    scores = np.zeros((len(informative_regressors), len(informative_targets)))
    voting = informative_regressors & regressors.codes.any(axis=1)  # a constant latent is all 0
    factors = informative_targets & targets.codes.any(axis=1)
    groupings = [(targets.order[j][of_j], targets.ends[j][of_j]) for j, of_j in enumerate(factors)]
    for i, of_i in enumerate(voting):
        codes = np.ascontiguousarray(regressors.codes[i][:, of_i])
        for j, (order, ends) in enumerate(groupings):
            if codes.shape[1] and len(order):
                scores[i, j] = accuracy(_votes(codes, order, ends))
    return scores


def accuracy(votes: NDArray[np.int64]) -> float:
    """How many of the votes (latents of i, latents of j) are for the factor that the latent is
    given."""
    return float(votes.max(axis=1).sum() / max(votes.sum(), 1))


def similarities(codes_i: ArrayLike, codes_j: ArrayLike) -> Matrix:
    """In which share of the groups of a latent of j (columns) a latent of i (rows) varies least.

    A constant latent is like no other.
    """
    i, j = (prepare(np.asarray(codes)[None]) for codes in (codes_i, codes_j))
    voting, factors = i.codes[0].any(axis=0), j.codes[0].any(axis=0)
    matrix = np.zeros((len(voting), len(factors)))
    if voting.any() and factors.any():
        codes = np.ascontiguousarray(i.codes[0][:, voting])
        votes = _votes(codes, j.order[0][factors], j.ends[0][factors])
        matrix[np.ix_(voting, factors)] = votes / np.maximum(votes.sum(axis=0), 1)
    return matrix


def _votes(
    codes: NDArray[np.float32], order: NDArray[np.int32], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    from metrics.compiled.least_varying import votes  # numba, which light commands do not need

    return votes(codes, order, ends)
