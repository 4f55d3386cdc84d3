import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.annealed_vae import AnnealedVAE
from models.objective import Code, gaussian_kl


def code(mean: torch.Tensor, logvar: torch.Tensor) -> Code:
    return Code(mean, logvar, mean, gaussian_kl(mean, logvar).mean(0))


@pytest.mark.parametrize(
    ("step", "share"),
    [
        (0, 0),
        (1, 0.00001),
        (25_000, 0.25),
        (50_000, 0.5),
        (99_999, 0.99999),
        (100_000, 1),
        (100_001, 1),
        (300_000, 1),
    ],
)
def test_capacity_grows_in_a_line_for_100_000_steps(step, share):
    for strength in (5, 100.0):
        assert AnnealedVAE(strength, 3).capacity(step) == pytest.approx(share * strength, rel=1e-12)


@given(
    strength=st.floats(0, 100),
    step=st.integers(0, 300_000),
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 6),
    latents=st.integers(1, 5),
)
def test_penalty_in_plain_python(strength, step, seed, rows, latents):
    mean, logvar = np.random.default_rng(seed).normal(size=(2, rows, latents))
    kl = 0.0
    for m, v in zip(mean.ravel(), logvar.ravel(), strict=True):
        kl += (m * m + math.exp(v) - 1 - v) / 2
    capacity = strength if step > 100_000 else strength * step / 100_000
    objective = AnnealedVAE(strength, latents)
    penalty = objective.penalty(
        code(torch.from_numpy(mean), torch.from_numpy(logvar)), step, torch.Generator()
    )
    expected = 1000 * abs(kl / rows - capacity)
    assert float(penalty.regulariser) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert penalty.adversary is None and objective.adversary_optimiser() is None


def test_the_absolute_value_is_of_the_batch_s_mean():
    """One image with KL below C and one above make up for each other."""
    both = code(torch.tensor([[0.0], [2.0]]), torch.zeros(2, 1))  # KL 0 and 2 nats
    penalty = AnnealedVAE(1.0, 1).penalty(both, 100_000, torch.Generator())
    assert float(penalty.regulariser) == 0


@pytest.mark.parametrize(
    ("step", "sign"),
    [(0, 1), (39_999, 1), (40_001, -1), (200_000, -1)],  # 2 nats are reached at step 40,000
)
def test_the_kl_is_pushed_towards_the_capacity_from_both_sides(step, sign):
    mean = torch.full((3, 2), math.sqrt(2), dtype=torch.float64, requires_grad=True)  # 1 nat each
    penalty = AnnealedVAE(5.0, 2).penalty(
        code(mean, torch.zeros(3, 2, dtype=torch.float64)), step, torch.Generator()
    )
    (found,) = torch.autograd.grad(penalty.regulariser, mean)
    # d KL / d mean = mean / rows, of which the penalty takes 1000 times, with the sign of KL - C
    expected = torch.full_like(found, sign * 1000 * math.sqrt(2) / 3)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=0)
