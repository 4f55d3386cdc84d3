"""How far the covariance of a batch is from the identity, for both DIP-VAEs."""

from __future__ import annotations

import torch
from torch import Tensor


def covariance(rows: Tensor) -> Tensor:
    """E[xxᵀ] − E[x]E[x]ᵀ over the batch: divided by n, not n − 1, as in the released code.

    Centred first, which is the same number with less rounding.
    """
    centred = rows - rows.mean(0)
    return centred.T @ centred / len(rows)


def distance_to_identity(matrix: Tensor, off_diagonal: float, diagonal: float) -> Tensor:
    """off_diagonal · Σ_{i≠j} m_ij² + diagonal · Σ_i (m_ii − 1)²; each pair i ≠ j counts twice."""
    identity = torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    weight = off_diagonal * (1 - identity) + diagonal * identity
    return (weight * (matrix - identity).square()).sum()
