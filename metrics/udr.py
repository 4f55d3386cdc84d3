"""Unsupervised disentanglement ranking: models that agree are disentangled.

Two models of the same points are compared by a matrix of similarities between their latents, here
the absolute coefficients of a lasso that predicts each latent of model j (target) from all latents
of model i (regressors). A pair scores high where every informative row and column has one large
entry: max² / sum of each. `udr` averages the mean over columns and the mean over rows, as the
released code does; `udr_eq2` is Eq. 2 of the paper, the sum over columns and rows divided by their
number. (The paper's r_a and r_b carry each other's index; its text defines the maximum within the
row or column whose sum divides.) The two are equal where both models have equally many informative
latents. 0 / 0 counts as 0. A model's score is the median over its comparisons.

Paper: Duan et al. 2020, "Unsupervised model selection for variational disentangled representation
learning", section 4 and appendix A.5. alpha = 0.1 on standardised latents as in the released code;
the paper chooses it by cross-validation. A latent is informative where its KL exceeds 0.01.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.arrays import numbers
from metrics.compiled import compiled
from metrics.lasso import lasso

ALPHA = 0.1
SIMILARITIES = ("lasso",)
BLOCK_BYTES = 64 * 2**20  # of standardised codes; two blocks are held at once

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Comparisons of i (rows, regressors) with j (columns, targets); NaN on the diagonal."""

    udr: Matrix  # (models, models)
    udr_eq2: Matrix  # (models, models)
    informative: NDArray[np.int64]  # (models,): how many latents are


def standardise(codes: ArrayLike) -> Matrix:
    """Codes (models, points, latents) with mean 0 and population deviation 1 per latent.

    A constant latent becomes 0, exactly.
    """
    codes = numbers("codes", codes, ("model", "row", "latent"))
    centred: Matrix = np.subtract(codes, codes.mean(axis=1, keepdims=True, dtype=np.float64))
    deviation = np.sqrt(np.einsum("mpl,mpl->ml", centred, centred) / codes.shape[1])
    constant = (codes == codes[:, :1]).all(axis=1) | (deviation == 0)
    centred /= np.where(constant, np.inf, deviation)[:, None]
    return centred


def pairwise(
    codes: ArrayLike,
    kl: ArrayLike | None = None,
    similarity: str = "lasso",
    threshold: float = 0.01,
) -> Pairs:
    """Compare every model with every other; codes (models, points, latents), kl (models, latents).

    A latent is informative where kl > threshold, and where it is not constant if kl is None. A pair
    in which either model has no informative latent scores 0.
    """
    if similarity not in SIMILARITIES:
        raise ValueError(f"similarity: found {similarity!r}; {', '.join(SIMILARITIES)} is accepted")
    codes = numbers("codes", codes, ("model", "row", "latent"))
    models, points, latents = codes.shape
    if kl is None:
        informative = (codes != codes[:, :1]).any(axis=1)
    else:
        kl = numbers("kl", kl, ("model", "latent"))
        if kl.shape != (models, latents):
            raise ValueError(f"kl: found shape {kl.shape}; {(models, latents)} is accepted")
        informative = kl > threshold
    udr, udr_eq2 = np.full((2, models, models), np.nan)
    grams = np.zeros((models, latents, latents))
    step = max(1, BLOCK_BYTES // (8 * points * latents))
    blocks = [slice(start, min(start + step, models)) for start in range(0, models, step)]
    for last, j in enumerate(blocks):
        targets = standardise(codes[j])
        for i in reversed(blocks[: last + 1]):  # first with itself, which gives the Gram matrices
            regressors = targets if i == j else standardise(codes[i])
            moments = np.tensordot(regressors, targets, axes=(1, 1)) / points
            if i == j:
                own = np.arange(len(targets))
                grams[j] = moments[own, :, own]
            else:  # the same product serves the pairs in the other direction
                mirrored = np.ascontiguousarray(moments.transpose(2, 3, 0, 1))
                udr[j, i], udr_eq2[j, i] = _compare(
                    grams[j], mirrored, informative[j], informative[i], ALPHA
                )
            udr[i, j], udr_eq2[i, j] = _compare(
                grams[i], moments, informative[i], informative[j], ALPHA
            )
    np.fill_diagonal(udr, np.nan)
    np.fill_diagonal(udr_eq2, np.nan)
    return Pairs(udr, udr_eq2, informative.sum(axis=1))


def aggregate(
    pair_scores: ArrayLike, collapsed: ArrayLike, p: int | None, rng: np.random.Generator
) -> tuple[Matrix, NDArray[np.int64]]:
    """Every model's score as a target, and how many comparisons it is the median of.

    Each model is compared with p others, drawn without replacement, or with all where there are no
    more or p is None. NaN in pair_scores (models, models) means not compared. A collapsed model
    (without informative latents) scores 0 with 0 comparisons, and nobody is compared with it:
    otherwise one such model would lower the scores of all others. A model that nobody is left to be
    compared with scores NaN with 0 comparisons.
    """
    pair_scores, collapsed = np.asarray(pair_scores, dtype=np.float64), np.asarray(collapsed)
    models = collapsed.size
    if collapsed.shape != (models,) or collapsed.dtype != np.bool_:
        raise ValueError(
            f"collapsed: found {collapsed.dtype} of shape {collapsed.shape}; "
            "booleans of shape (models,) are accepted"
        )
    if pair_scores.shape != (models, models):
        raise ValueError(
            f"pair_scores: found shape {pair_scores.shape}; {(models, models)} is accepted"
        )
    if p is not None and p < 1:
        raise ValueError(f"p: found {p}; 1 or more, or None for all, is accepted")
    compared = ~np.isnan(pair_scores) & ~collapsed[:, None] & ~np.eye(models, dtype=bool)
    scores, comparisons = np.zeros(models), np.zeros(models, dtype=np.int64)
    for model in np.flatnonzero(~collapsed):
        others = np.flatnonzero(compared[:, model])
        if p is not None and p < len(others):
            others = rng.choice(others, size=p, replace=False)
        comparisons[model] = len(others)
        scores[model] = np.median(pair_scores[others, model]) if len(others) else np.nan
    return scores, comparisons


@compiled
def relative_strength(similarity: Matrix) -> tuple[float, float]:
    """How close a non-negative matrix is to one entry per row and column: (udr, udr_eq2)."""
    rows, columns = similarity.shape
    if rows == 0 or columns == 0:
        return 0.0, 0.0
    in_columns = _sum_of_strengths(similarity.T)
    in_rows = _sum_of_strengths(similarity)
    mean = (in_columns / columns + in_rows / rows) / 2
    return mean, (in_columns + in_rows) / (rows + columns)


@compiled
def _sum_of_strengths(similarity: Matrix) -> float:
    """The sum over rows of max² / sum, where 0 / 0 is 0."""
    strengths = 0.0
    for row in range(similarity.shape[0]):
        total, largest = 0.0, 0.0
        for column in range(similarity.shape[1]):
            total += similarity[row, column]
            largest = max(largest, similarity[row, column])
        if total > 0.0:
            strengths += largest * largest / total
    return strengths


@compiled
def _compare(
    grams: Matrix,
    moments: Matrix,
    regressors: NDArray[np.bool_],
    targets: NDArray[np.bool_],
    alpha: float,
) -> tuple[Matrix, Matrix]:
    """udr and udr_eq2 of models i with models j, restricted to informative latents.

    grams (i, latents, latents) are Xi'Xi / n, moments (i, latents, j, latents) are Xi'Xj / n.
    """
    udr = np.empty((len(regressors), len(targets)))
    udr_eq2 = np.empty((len(regressors), len(targets)))
    for i in range(len(regressors)):
        rows = np.flatnonzero(regressors[i])
        gram = grams[i][rows][:, rows]
        for j in range(len(targets)):
            columns = np.flatnonzero(targets[j])
            similarity = np.empty((len(rows), len(columns)))
            for b in range(len(columns)):
                similarity[:, b] = np.abs(lasso(gram, moments[i, :, j, columns[b]][rows], alpha))
            udr[i, j], udr_eq2[i, j] = relative_strength(similarity)
    return udr, udr_eq2
