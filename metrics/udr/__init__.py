"""Unsupervised disentanglement ranking: models that agree are disentangled.

Two models of the same points are compared by a matrix of similarities between their latents; here
row a says how much each latent of model j (target) has in common with latent a of model i
(regressor). Each similarity is a file, metrics/udr/NAME.py. pair_score.py scores the matrix: high
where every informative row and column has one large entry. A model's score is the median over its
comparisons. A file may instead have its own way to score pairs, as centrality.py, cka.py and cca.py
do.

Paper: Duan et al. 2020, "Unsupervised model selection for variational disentangled representation
learning", section 4 and appendix A.5.

Conventions:
- A latent is informative where its KL exceeds 0.01; the others take no part in a comparison,
  neither as regressors nor as targets.
- A pair in which either model has no informative latent scores 0.
- All models are compared by second moments (except by centrality): one product of matrices for
  both directions of all pairs. Its rounding, of float32, is the only thing in which a pair depends
  on the other models in the same product.
- The models of a pair may have different numbers of latents.
- Pairs that a file scores in a way of its own have no udr_eq2: it is NaN.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics import INFORMATIVE_KL, SIMILARITIES
from metrics.base.arrays import BadArray, numbers, shaped
from metrics.udr import moments
from metrics.udr.moments import (
    Flags,
    Matrix,
    Moments,
    OwnPairs,
    Prepared,
    WithMoments,
    kind,
    own_pairs,
)

__all__ = [
    "SIMILARITIES",
    "Pairs",
    "Prepared",
    "aggregate",
    "compare",
    "compare_both",
    "pairwise",
    "prepare",
    "similarity_matrix",
]

AXES = ("model", "row", "latent")
BLOCK_BYTES = 64 * 2**20  # of prepared codes
HELD = 16  # blocks at most, so that few are prepared again
PRODUCT_BYTES = 32 * 2**20  # of a product; beside it are its mirror image and similarities


@dataclass(frozen=True)
class Pairs:
    """Comparisons of i (rows, regressors) with j (columns, targets); NaN on the diagonal."""

    udr: Matrix  # (models, models)
    udr_eq2: Matrix  # (models, models); NaN where the similarity has none
    informative: NDArray[np.int64]  # (models,): how many latents are


def pairwise(
    codes: ArrayLike,
    kl: ArrayLike | None = None,
    similarity: str = "lasso",
    threshold: float = INFORMATIVE_KL,
    threads: int = 1,
) -> Pairs:
    """Compare every model with every other; codes (models, points, latents), kl (models, latents).

    A latent is informative where kl > threshold, and where it is not constant if kl is None. A pair
    in which either model has no informative latent scores 0.

    The number of threads changes scores by rounding only. With several, numpy's own products should
    have one thread each.
    """
    kind(similarity)
    codes = shaped("codes", codes, AXES)  # each block's numbers are checked with it
    models, points, latents = codes.shape
    if kl is None:
        informative = np.stack([(model != model[0]).any(axis=0) for model in codes])
    else:
        kl = numbers("kl", kl, ("model", "latent"))
        if kl.shape != (models, latents):
            raise BadArray("kl", f"shape {kl.shape}", f"{(models, latents)}")
        informative = kl > threshold
    udr, udr_eq2 = np.full((2, models, models), np.nan)
    step = max(1, min(BLOCK_BYTES // (4 * points * latents), -(-models // threads)))
    blocks = [slice(start, min(start + step, models)) for start in range(0, models, step)]

    @lru_cache(maxsize=max(HELD, threads + 1))
    def side(number: int) -> _Side | _OwnSide:
        block = blocks[number]
        try:
            prepared = prepare(codes[block], similarity)
        except BadArray:
            numbers("codes", codes, AXES)  # names the model by its place among all
            raise
        return _side(prepared, informative[block])

    def fill(pair: tuple[int, int]) -> None:
        i, j = (blocks[number] for number in pair)
        a, b = (side(number) for number in pair)
        if i == j:
            udr[i, i], udr_eq2[i, i] = a.one_way(a)
        else:
            udr[i, j], udr_eq2[i, j], udr[j, i], udr_eq2[j, i] = a.both_ways(b)

    every = range(len(blocks))
    tasks = [(i, j) for i in every for j in (*every[i + 1 :], i)]  # short ones come last
    if threads == 1:
        for task in tasks:
            fill(task)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(side, every[:HELD]))
            list(pool.map(fill, tasks))
    np.fill_diagonal(udr, np.nan)
    np.fill_diagonal(udr_eq2, np.nan)
    return Pairs(udr, udr_eq2, informative.sum(axis=1))


def prepare(codes: ArrayLike, similarity: str) -> Prepared:
    """Codes (models, points, latents) of any scale, as `similarity` compares them."""
    own = own_pairs(similarity)
    return own.prepare(codes) if own else moments.prepare(codes, similarity)


def similarity_matrix(codes_i: ArrayLike, codes_j: ArrayLike, similarity: str = "lasso") -> Matrix:
    """Similarities of all latents of model i (rows, regressors) with all of j (columns, targets).

    As the paper's Figure 5; codes are (points, latents), and a constant latent is like no other.
    """
    i, j = (
        numbers(name, codes, ("row", "latent"))
        for name, codes in (("codes_i", codes_i), ("codes_j", codes_j))
    )
    if len(i) != len(j):
        raise BadArray("codes_j", f"{len(j)} rows", f"{len(i)}, as codes_i")
    if own := own_pairs(similarity):
        return own.similarities(i, j)
    a, b = (
        _Side(codes, np.ones(codes.shape[:2], dtype=np.bool_))
        for codes in (moments.prepare(codes[None], similarity) for codes in (i, j))
    )
    return kind(similarity).similarities(_moments(a, b, _product(a, b)))


def compare(
    regressors: Prepared,
    targets: Prepared,
    informative_regressors: Flags,
    informative_targets: Flags,
) -> tuple[Matrix, Matrix]:
    """udr and udr_eq2 (models i, models j), where i predicts j; informative is (models, latents).

    A model that stands on both sides is compared with itself like any other.
    """
    _check(regressors, targets, informative_regressors, informative_targets)
    side = _side(targets, informative_targets)
    if regressors is targets and informative_regressors is informative_targets:
        return side.one_way(side)
    return _side(regressors, informative_regressors).one_way(side)


def compare_both(
    a: Prepared, b: Prepared, informative_a: Flags, informative_b: Flags
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """udr and udr_eq2 where a predicts b, (models of a, models of b), and where b predicts a,
    (models of b, models of a)."""
    _check(a, b, informative_a, informative_b)
    return _side(a, informative_a).both_ways(_side(b, informative_b))


def _check(
    regressors: Prepared,
    targets: Prepared,
    informative_regressors: Flags,
    informative_targets: Flags,
) -> None:
    if regressors.similarity != targets.similarity:
        raise BadArray(
            "targets",
            f"latents prepared for {targets.similarity}",
            f"latents prepared for {regressors.similarity}, as the regressors",
        )
    (*_, points), (*_, of_targets) = regressors.shape, targets.shape
    if points != of_targets:
        raise BadArray("targets", f"{of_targets} points", f"{points}, as the regressors")
    for prepared, flags in ((regressors, informative_regressors), (targets, informative_targets)):
        if flags.shape != prepared.shape[:2] or flags.dtype != np.bool_:
            raise BadArray(
                "informative",
                f"{flags.dtype} of shape {flags.shape}",
                f"booleans of shape {prepared.shape[:2]}",
            )


class _Side:
    """The informative latents of the models on one side of comparisons, in one list."""

    def __init__(self, prepared: WithMoments, informative: Flags) -> None:
        self.similarity, self.grams = prepared.similarity, prepared.grams
        self.informative, self.folds = informative, prepared.folds()
        self.rows = prepared.latents[informative]  # (informative latents, points)
        self.first = np.concatenate([[0], np.cumsum(informative.sum(axis=1))])
        own = np.einsum("mfll->mfl", prepared.grams)
        self.squares = np.ascontiguousarray(own.transpose(1, 0, 2)[:, informative])
        self.means = np.ascontiguousarray(prepared.means.transpose(1, 0, 2)[:, informative])
        self.shares = np.array([part.stop - part.start for part in self.folds])
        self.shares = self.shares / prepared.shape[2]

    def __len__(self) -> int:
        return len(self.informative)

    def __getitem__(self, models: slice) -> "_Side":
        """Some of the models, in the same memory."""
        part, rows = copy(self), slice(self.first[models.start], self.first[models.stop])
        part.informative, part.grams = self.informative[models], self.grams[models]
        part.first = self.first[models.start : models.stop + 1] - rows.start
        part.rows = self.rows[rows]
        part.squares, part.means = self.squares[:, rows], self.means[:, rows]
        return part

    def one_way(self, targets: Any) -> tuple[Matrix, Matrix]:
        """udr and udr_eq2 where these models predict the targets."""
        udr, udr_eq2 = np.zeros((2, len(self), len(targets)))
        for part in _parts(self, targets):
            # All models as they are: numpy computes half of a product with itself.
            some = self if part == slice(0, len(self)) else self[part]
            udr[part], udr_eq2[part] = _scores(some, targets, _product(some, targets))
        return udr, udr_eq2

    def both_ways(self, other: Any) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """The same, and udr and udr_eq2 where the other models predict these."""
        udr, udr_eq2 = np.zeros((2, len(self), len(other)))
        udr_back, udr_eq2_back = np.zeros((2, len(other), len(self)))
        for part in _parts(self, other):
            some = self[part]
            product = _product(some, other)
            udr[part], udr_eq2[part] = _scores(some, other, product)
            mirrored = np.ascontiguousarray(product.transpose(0, 2, 1))
            udr_back[:, part], udr_eq2_back[:, part] = _scores(other, some, mirrored)
        return udr, udr_eq2, udr_back, udr_eq2_back


@dataclass(frozen=True)
class _OwnSide:
    """The same, of a similarity that scores pairs in its own way."""

    own: OwnPairs
    prepared: Prepared
    informative: Flags

    def one_way(self, targets: Any) -> tuple[Matrix, Matrix]:
        sides = (self.prepared, targets.prepared, self.informative, targets.informative)
        scores = self.own.compare(*sides)
        return scores, np.full_like(scores, np.nan)

    def both_ways(self, other: Any) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        udr, none = self.one_way(other)
        return udr, none, *((udr.T, none.T) if self.own.MIRRORED else other.one_way(self))


def _side(prepared: Prepared, informative: Flags) -> _Side | _OwnSide:
    if own := own_pairs(prepared.similarity):
        return _OwnSide(own, prepared, informative)
    assert isinstance(prepared, WithMoments)
    return _Side(prepared, informative)


def _parts(regressors: _Side, targets: _Side) -> Iterator[slice]:
    """Regressors, so many at a time that their product with the targets keeps to PRODUCT_BYTES."""
    how, (models, latents) = kind(regressors.similarity), regressors.informative.shape
    each = how.FOLDS * latents * max(1, len(targets.rows)) * np.dtype(how.PRODUCT).itemsize
    step = max(1, PRODUCT_BYTES // each)
    return (slice(start, min(start + step, models)) for start in range(0, models, step))


def _product(regressors: _Side, targets: _Side) -> NDArray[np.floating]:
    """X'Y / n of each fold, (folds, regressors, targets)."""
    how, points = kind(targets.similarity), targets.rows.shape[1]
    product = np.empty((how.FOLDS, len(regressors.rows), len(targets.rows)), dtype=how.PRODUCT)
    for fold, part in enumerate(targets.folds):
        x, y = (
            side.rows[:, part].astype(how.PRODUCT, copy=False) for side in (regressors, targets)
        )
        np.matmul(x, y.T, out=product[fold])
    product /= points
    return product


def _scores(
    regressors: _Side, targets: _Side, product: NDArray[np.floating]
) -> tuple[Matrix, Matrix]:
    from metrics.udr.pair_score import scores_of_pairs  # numba, which light commands do not need

    similar = kind(targets.similarity).similarities(_moments(regressors, targets, product))
    return scores_of_pairs(similar, regressors.first, targets.first)


def _moments(regressors: _Side, targets: _Side, product: NDArray[np.floating]) -> Moments:
    return Moments(
        grams=regressors.grams,
        informative=regressors.informative,
        products=product,
        means=regressors.means,
        first_row=regressors.first,
        target_means=targets.means,
        target_squares=targets.squares,
        first_column=targets.first,
        shares=targets.shares,
    )


def aggregate(
    pair_scores: ArrayLike,
    collapsed: ArrayLike,
    p: int | None,
    rng: np.random.Generator,
    symmetric: bool = False,
) -> tuple[Matrix, NDArray[np.int64]]:
    """Every model's score, and of how many comparisons: their median, the model being the target;
    or if `symmetric`, their mean, of which each is the mean of both directions.

    pair_scores is (models, models), with NaN where two models were not compared. p is how many
    other models each is compared with, drawn without replacement; None, or fewer models, is all.

    A collapsed model (without informative latents) scores 0 with 0 comparisons. No other is
    compared with it: otherwise one such model would lower the scores of all others. A model without
    any other to be compared with scores NaN with 0 comparisons.
    """
    scores_of, collapsed = np.asarray(pair_scores, dtype=np.float64), np.asarray(collapsed)
    models = collapsed.size
    if collapsed.shape != (models,) or collapsed.dtype != np.bool_:
        raise BadArray(
            "collapsed",
            f"{collapsed.dtype} of shape {collapsed.shape}",
            "booleans of shape (models,)",
        )
    if scores_of.shape != (models, models):
        raise BadArray("pair_scores", f"shape {scores_of.shape}", f"{(models, models)}")
    if p is not None and p < 1:
        raise BadArray("p", str(p), "1 or more, or None for all")
    if symmetric:
        scores_of = (scores_of + scores_of.T) / 2
    average = np.mean if symmetric else np.median
    compared = ~np.isnan(scores_of) & ~collapsed[:, None] & ~np.eye(models, dtype=bool)
    scores, comparisons = np.zeros(models), np.zeros(models, dtype=np.int64)
    for model in np.flatnonzero(~collapsed):
        others = np.flatnonzero(compared[:, model])
        if p is not None and p < len(others):
            others = rng.choice(others, size=p, replace=False)
        comparisons[model] = len(others)
        scores[model] = average(scores_of[others, model]) if len(others) else np.nan
    return scores, comparisons
