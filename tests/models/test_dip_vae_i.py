import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.covariance import covariance, distance_to_identity
from models.dip_vae_i import DIPVAEI
from models.objective import Code, gaussian_kl


def code(mean: torch.Tensor, logvar: torch.Tensor, sample: torch.Tensor | None = None) -> Code:
    sample = mean if sample is None else sample
    return Code(mean, logvar, sample, gaussian_kl(mean, logvar).mean(0))


def by_hand(mean: list[list[float]], logvar: list[list[float]], strength: float) -> float:
    """KL + λ_od · off the diagonal + 10 λ_od · on it, in plain Python."""
    rows, latents = len(mean), len(mean[0])
    total = 0.0
    for i in range(latents):
        for j in range(latents):
            product = sum(row[i] * row[j] for row in mean) / rows
            element = product - sum(r[i] for r in mean) / rows * sum(r[j] for r in mean) / rows
            if i == j:
                total += 10 * strength * (element - 1) ** 2
            else:
                total += strength * element**2
    for means, logvars in zip(mean, logvar, strict=True):
        for m, v in zip(means, logvars, strict=True):
            total += (m * m + math.exp(v) - 1 - v) / 2 / rows
    return total


@given(
    strength=st.floats(0, 50),
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 6),
    latents=st.integers(1, 5),
)
def test_penalty_in_plain_python(strength, seed, rows, latents):
    mean, logvar = np.random.default_rng(seed).normal(0.5, 1.5, size=(2, rows, latents))
    objective = DIPVAEI(strength, latents)
    penalty = objective.penalty(
        code(torch.from_numpy(mean), torch.from_numpy(logvar)), 0, torch.Generator()
    )
    expected = by_hand(mean.tolist(), logvar.tolist(), strength)
    assert float(penalty.regulariser) == pytest.approx(expected, rel=1e-9)
    assert penalty.adversary is None and objective.adversary_optimiser() is None


# Two latents on the corners of a square: their covariance, divided by 4, is the identity.
SQUARE = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


@pytest.mark.parametrize("shift", [0.0, 7.0])
def test_means_with_identity_covariance_leave_the_kl_alone(shift):
    parts = code(SQUARE + shift, torch.zeros(4, 2))
    penalty = DIPVAEI(50.0, 2).penalty(parts, 0, torch.Generator())
    assert float(penalty.regulariser) == float(parts.kl.sum())


def test_a_collapsed_code_costs_lambda_d_for_every_latent():
    penalty = DIPVAEI(2.0, 5).penalty(
        code(torch.zeros(4, 5), torch.zeros(4, 5)), 0, torch.Generator()
    )
    assert float(penalty.regulariser) == 2 * 10 * 5


def test_the_covariance_is_divided_by_the_batch_size():
    torch.testing.assert_close(covariance(SQUARE), torch.eye(2), rtol=0, atol=0)
    rows = np.random.default_rng(1).normal(3, 2, size=(9, 4))
    found = covariance(torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(found, np.cov(rows.T, ddof=0), rtol=1e-12)


def test_the_covariance_of_far_means_is_not_lost_to_rounding():
    torch.testing.assert_close(covariance(SQUARE + 4096), torch.eye(2), rtol=1e-6, atol=1e-6)


def test_both_halves_of_the_matrix_count_and_each_part_has_its_weight():
    matrix = torch.tensor([[3.0, 2.0], [-1.0, 0.0]])  # off: 4 + 1; on: (3 - 1)² + (0 - 1)²
    assert float(distance_to_identity(matrix, 1, 0)) == 5
    assert float(distance_to_identity(matrix, 0, 1)) == 5
    assert float(distance_to_identity(matrix + torch.eye(2), 7, 11)) == 7 * 5 + 11 * (9 + 0)


def test_variances_and_samples_get_no_gradient_from_it():
    draws = torch.Generator().manual_seed(2)
    mean, logvar, sample = torch.randn(3, 6, 3, generator=draws)
    mean, logvar, sample = (leaf.requires_grad_() for leaf in (mean, logvar, sample))
    parts = code(mean, logvar, sample)
    penalty = DIPVAEI(5.0, 3).penalty(parts, 0, torch.Generator())
    leaves = (mean, logvar, sample)
    of_penalty = torch.autograd.grad(
        penalty.regulariser, leaves, retain_graph=True, allow_unused=True
    )
    of_kl = torch.autograd.grad(parts.kl.sum(), leaves, allow_unused=True)
    assert not torch.allclose(of_penalty[0], of_kl[0])
    assert torch.equal(of_penalty[1], of_kl[1])
    assert of_penalty[2] is None


def test_the_means_follow_the_derivative_written_out():
    """By μ_ni: 4 / rows · Σ_j λ_ij (Cov − 1)_ij (μ − mean μ)_nj, λ being λ_d where i = j."""
    rng = np.random.default_rng(4)
    leaf = torch.tensor(rng.normal(1, 2, size=(5, 3)), requires_grad=True)
    parts = code(leaf, torch.zeros(5, 3, dtype=torch.float64))
    regulariser = DIPVAEI(3.0, 3).penalty(parts, 0, torch.Generator()).regulariser
    (found,) = torch.autograd.grad(regulariser - parts.kl.sum(), leaf)
    means = leaf.detach().numpy()
    centred = means - means.mean(0)
    weights = 3.0 + 27.0 * np.eye(3)
    expected = 4 / 5 * centred @ (weights * (centred.T @ centred / 5 - np.eye(3)))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)
