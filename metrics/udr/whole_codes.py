"""Comparison of whole codes: one number per pair, from one product of matrices for all pairs.

The informative latents of each model are replaced by columns of the similarity's choice, linear
combinations of them that depend on their Gram matrix alone (`basis`). A pair's score is the sum of
the squares of all products of a column of i with one of j, each averaged over the points. It is the
same in both directions.

Conventions:
- A pair in which either model has no informative latent, or only constant ones, scores 0.
- Products are of float32, and their squares are summed in float64: scores are exact to about 1e-6,
  which is also how much a pair may depend on the others in the same product.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from metrics.udr.moments import Flags, Matrix, WithMoments

PRODUCT_BYTES = 64 * 2**20

# From X'X / n (latents, latents) to the columns (columns, latents); or (latents,), if each latent
# is only multiplied by a number.
Basis = Callable[[Matrix], Matrix]


def compare(
    regressors: WithMoments,
    targets: WithMoments,
    informative_regressors: Flags,
    informative_targets: Flags,
    *,
    basis: Basis,
    shared: bool,
) -> Matrix:
    """Scores (models i, models j); with `shared` a sum is divided by the smaller number of columns,
    the most that it can be."""
    from metrics.compiled.block_squares import block_squares  # numba, not for light commands

    b, first_b = _columns(targets, informative_targets, basis)
    alike = regressors is targets and informative_regressors is informative_targets
    a, first_a = (b, first_b) if alike else _columns(regressors, informative_regressors, basis)
    points = regressors.shape[2]
    scores = np.zeros((len(informative_regressors), len(informative_targets)))
    for part in _parts(first_a, len(b)):
        begin, end = first_a[part.start], first_a[part.stop]
        product = a[begin:end] @ b.T
        product /= points
        own = first_a[part.start : part.stop + 1] - begin
        scores[part] = block_squares(product, own, first_b)
    if shared:
        most = np.minimum(np.diff(first_a)[:, None], np.diff(first_b)[None, :])
        scores /= np.maximum(most, 1)
        np.minimum(scores, 1, out=scores)  # more only by rounding
    return scores


def _columns(
    prepared: WithMoments, informative: Flags, basis: Basis
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The columns of all models (columns, points), and where those of each begin and the last
    end."""
    weights = [
        basis(prepared.grams[model, 0][flags][:, flags]) if flags.any() else np.empty((0, 0))
        for model, flags in enumerate(informative)
    ]
    first = np.concatenate([[0], np.cumsum([len(own) for own in weights])]).astype(np.int64)
    columns = np.empty((first[-1], prepared.shape[2]), dtype=np.float32)
    for model, own in enumerate(weights):
        if len(own):
            latents = prepared.latents[model][informative[model]]
            into = slice(*first[model : model + 2])
            if own.ndim == 1:
                columns[into] = latents * own[:, None].astype(np.float32)
            else:
                columns[into] = own @ latents.astype(np.float64)
    return columns, first


def _parts(first: NDArray[np.int64], others: int) -> Iterator[slice]:
    """Models, so many at a time that their product with the others keeps to PRODUCT_BYTES."""
    most = max(1, int(np.diff(first).max(initial=1)))
    step = max(1, PRODUCT_BYTES // (4 * most * max(1, others)))
    models = len(first) - 1
    return (slice(start, min(start + step, models)) for start in range(0, models, step))


def similarities(codes_i: WithMoments, codes_j: WithMoments, basis: Basis) -> Matrix:
    """Squared products (columns of i, columns of j) of one model each, all latents informative."""
    sides = []
    for codes in (codes_i, codes_j):
        every = np.ones(codes.shape[:2], dtype=np.bool_)
        sides.append(_columns(codes, every, basis)[0].astype(np.float64))
    squares: Matrix = np.square(sides[0] @ sides[1].T / codes_i.shape[2])
    return squares
