"""Entropy and mutual information of discrete labels, in nats, from histograms."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, rel_entr

from metrics.base.arrays import BadArray, Codes, Factors

MOST_CELLS = 2**20  # of joint histograms that are in memory at once


def discretise(codes: Codes, bins: int) -> Factors:
    """Each latent's bin, 0 to bins - 1, of `bins` equal ones over its own range.

    Bins are closed on the left; the last one also holds the maximum, as only the edges before the
    last divide (Locatello et al. 2019, released code). Edges have the codes' own precision. A
    constant latent lies in one bin.
    """
    if bins < 1:
        raise BadArray("bins", str(bins), "1 or more")
    labels = []
    for latent in codes.T:  # one by one: in linspace, a constant column changes others' rounding
        edges = np.linspace(latent.min(), latent.max(), bins + 1)
        labels.append(np.searchsorted(edges[:-1], latent, side="right") - 1)
    return np.stack(labels, axis=1).astype(np.int64)


def mutual_information(left: Factors, right: Factors) -> NDArray[np.float64]:
    """I(left column; right column) for every pair: (left columns, right columns), never negative.

    `left` and `right` are labels of the same rows. The joint histograms of several left columns are
    in memory at once, as many as have MOST_CELLS together, but at least one.
    """
    left, right = _numbered(left), _numbered(right)
    rows, columns = left.shape
    left_values, right_values = int(left.max()) + 1, int(right.max()) + 1
    together = max(1, MOST_CELLS // (left_values * right_values))
    shared = np.empty((columns, right.shape[1]))
    for first in range(0, columns, together):
        some = slice(first, first + together)
        count = len(shared[some])
        left_cells = (np.arange(count) * left_values + left[:, some]) * right_values
        for column in range(right.shape[1]):
            cells = (left_cells + right[:, [column]]).ravel()
            joint = np.bincount(cells, minlength=count * left_values * right_values) / rows
            joint = joint.reshape(count, left_values, right_values)
            independent = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
            shared[some, column] = rel_entr(joint, independent).sum(axis=(1, 2))
    return np.maximum(shared, 0.0)


def entropy(labels: Factors) -> NDArray[np.float64]:
    """H of every column; 0 where a column has one value."""
    counts = (np.unique(column, return_counts=True)[1] for column in labels.T)
    return np.array([entr(count / len(labels)).sum() for count in counts], dtype=np.float64)


def _numbered(labels: Factors) -> Factors:
    """Every column's values as 0, 1, 2, ... in their order."""
    columns = [np.unique(column, return_inverse=True)[1] for column in labels.T]
    return np.stack(columns, axis=1).astype(np.int64)
