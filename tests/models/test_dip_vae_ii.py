import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.dip_vae_ii import DIPVAEII
from models.objective import Code, gaussian_kl


def code(mean: torch.Tensor, logvar: torch.Tensor, sample: torch.Tensor | None = None) -> Code:
    sample = mean if sample is None else sample
    return Code(mean, logvar, sample, gaussian_kl(mean, logvar).mean(0))


def by_hand(mean: list[list[float]], logvar: list[list[float]], strength: float) -> float:
    """KL + λ_od · (off the diagonal + on it), of the covariance of z, in plain Python."""
    rows, latents = len(mean), len(mean[0])
    total = 0.0
    for i in range(latents):
        for j in range(latents):
            product = sum(row[i] * row[j] for row in mean) / rows
            element = product - sum(r[i] for r in mean) / rows * sum(r[j] for r in mean) / rows
            if i == j:
                element += sum(math.exp(row[i]) for row in logvar) / rows - 1
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
    objective = DIPVAEII(strength, latents)
    penalty = objective.penalty(
        code(torch.from_numpy(mean), torch.from_numpy(logvar)), 0, torch.Generator()
    )
    expected = by_hand(mean.tolist(), logvar.tolist(), strength)
    assert float(penalty.regulariser) == pytest.approx(expected, rel=1e-9)
    assert penalty.adversary is None and objective.adversary_optimiser() is None


def test_the_prior_itself_costs_nothing():
    """A collapsed code has the identity as its covariance, unlike in DIP-VAE-I."""
    penalty = DIPVAEII(50.0, 5).penalty(
        code(torch.zeros(4, 5), torch.zeros(4, 5)), 0, torch.Generator()
    )
    assert float(penalty.regulariser) == 0


def test_variance_between_means_and_within_posteriors_adds_up_to_one():
    square = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    parts = code(0.6 * square + 3, torch.full((4, 2), math.log(0.64)))
    penalty = DIPVAEII(50.0, 2).penalty(parts, 0, torch.Generator())
    assert float(penalty.regulariser) == pytest.approx(float(parts.kl.sum()), rel=1e-6)


def test_the_covariance_is_that_of_the_samples():
    """... drawn without end: 200,000 noises per image give it within half a percent."""
    rng = np.random.default_rng(0)
    mean, logvar = rng.normal(size=(2, 5, 2))
    z = mean[:, None] + np.exp(logvar / 2)[:, None] * rng.normal(size=(5, 200_000, 2))
    sampled = np.cov(z.reshape(-1, 2).T, ddof=0)
    expected = ((sampled - np.eye(2)) ** 2).sum()
    parts = code(torch.from_numpy(mean), torch.from_numpy(logvar))
    regulariser = DIPVAEII(1.0, 2).penalty(parts, 0, torch.Generator()).regulariser
    assert float(regulariser - parts.kl.sum()) == pytest.approx(expected, rel=0.02)


def test_means_and_variances_get_its_gradient_and_samples_none():
    draws = torch.Generator().manual_seed(2)
    mean, logvar, sample = torch.randn(3, 6, 3, generator=draws, dtype=torch.float64)
    leaves = [leaf.requires_grad_() for leaf in (mean, logvar, sample)]
    parts = code(mean, logvar, sample)
    regulariser = DIPVAEII(5.0, 3).penalty(parts, 0, torch.Generator()).regulariser
    found = torch.autograd.grad(regulariser - parts.kl.sum(), leaves, allow_unused=True)
    m, variance = mean.detach().numpy(), logvar.detach().exp().numpy()
    centred = m - m.mean(0)
    miss = centred.T @ centred / 6 + np.diag(variance.mean(0)) - np.eye(3)
    np.testing.assert_allclose(found[0].numpy(), 5 * 4 / 6 * centred @ miss, rtol=1e-9)
    np.testing.assert_allclose(found[1].numpy(), 5 * 2 / 6 * np.diag(miss) * variance, rtol=1e-9)
    assert found[2] is None
