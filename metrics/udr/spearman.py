"""Similarity of latents: the absolute value of Spearman's rank correlation.

Paper: Duan et al. 2020, appendix A.5.

Conventions:
- Ties share their mean rank.
- All points count; the paper takes 1,000.
- A constant latent correlates with nothing.
"""

import numpy as np
from numpy.typing import NDArray

from metrics.base.arrays import Codes
from metrics.udr.moments import Moments, standardise

FOLDS = 1
PRODUCT = np.float32


def standard(codes: Codes, standard: Codes) -> None:
    standardise(ranks(np.ascontiguousarray(codes.T)).T, standard)


def ranks(latents: Codes) -> NDArray[np.float64]:
    """Every point's rank within its latent (latents, points), from 0; ties have their mean rank."""
    order = latents.argsort(axis=1)
    ascending = np.take_along_axis(latents, order, axis=1)
    distinct = np.ones(latents.shape, dtype=np.bool_)
    distinct[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    ends = np.append(np.flatnonzero(distinct), latents.size)  # of all latents' ties, end to end
    middles = (ends[:-1] + ends[1:] - 1) / 2
    places = np.repeat(middles, np.diff(ends)).reshape(latents.shape)
    within = places - latents.shape[1] * np.arange(len(latents))[:, None]
    numbered = np.empty(latents.shape)
    np.put_along_axis(numbered, order, within, axis=1)
    return numbered


def similarities(moments: Moments) -> NDArray[np.float64]:
    size: NDArray[np.float64] = np.abs(moments.products[0], dtype=np.float64)
    return size
