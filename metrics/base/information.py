"""Entropy and mutual information of discrete labels, in nats, from histograms."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, rel_entr

from metrics.base.arrays import BadArray, Codes, Factors


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

    `left` and `right` are labels of the same rows. Needs memory for one joint histogram of all
    left columns with one right column.
    """
    left, right = _numbered(left), _numbered(right)
    rows, columns = left.shape
    left_values, right_values = int(left.max()) + 1, int(right.max()) + 1
    left_cells = (np.arange(columns) * left_values + left) * right_values
    shape = (columns, left_values, right_values)
    shared = np.empty((columns, right.shape[1]))
    for column in range(right.shape[1]):
        cells = (left_cells + right[:, [column]]).ravel()
        joint = np.bincount(cells, minlength=columns * left_values * right_values) / rows
        joint = joint.reshape(shape)
        independent = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
        shared[:, column] = rel_entr(joint, independent).sum(axis=(1, 2))
    return np.maximum(shared, 0.0)


def entropy(labels: Factors) -> NDArray[np.float64]:
    """H of every column; 0 where a column has one value."""
    counts = (np.unique(column, return_counts=True)[1] for column in labels.T)
    return np.array([entr(count / len(labels)).sum() for count in counts], dtype=np.float64)


def _numbered(labels: Factors) -> Factors:
    """Every column's values as 0, 1, 2, ... in their order."""
    columns = [np.unique(column, return_inverse=True)[1] for column in labels.T]
    return np.stack(columns, axis=1).astype(np.int64)
