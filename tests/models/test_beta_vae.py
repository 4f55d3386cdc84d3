import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from models import METHODS, build_objective
from models.objective import Code, Objective, gaussian_kl

VAES = [name for name in METHODS if METHODS[name].has_posterior]
moderate = st.floats(-4, 4, allow_nan=False, width=32)


def code(mean: torch.Tensor, logvar: torch.Tensor) -> Code:
    return Code(mean, logvar, mean, gaussian_kl(mean, logvar).mean(0))


@given(mean=moderate, logvar=moderate)
def test_kl_is_the_integral_of_its_definition(mean, logvar):
    deviation = math.exp(logvar / 2)

    def integrand(u: float) -> float:  # u standard normal, z = mean + deviation u
        log_q = -0.5 * u * u - 0.5 * math.log(2 * math.pi) - math.log(deviation)
        log_p = -0.5 * (mean + deviation * u) ** 2 - 0.5 * math.log(2 * math.pi)
        return math.exp(-0.5 * u * u) / math.sqrt(2 * math.pi) * (log_q - log_p)

    expected, _ = integrate.quad(integrand, -12, 12)
    found = gaussian_kl(torch.tensor(mean).double(), torch.tensor(logvar).double())
    assert float(found) == pytest.approx(expected, abs=1e-6)


def test_kl_of_the_prior_is_zero_and_never_negative():
    assert float(gaussian_kl(torch.zeros(1), torch.zeros(1))) == 0
    grid = torch.linspace(-6, 6, 61, dtype=torch.float64)
    assert (gaussian_kl(grid[:, None], grid[None]) >= 0).all()


@given(
    strength=st.floats(0.5, 100),
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 6),
    latents=st.integers(1, 5),
)
def test_regulariser_is_beta_times_the_batch_mean_of_the_summed_kl(strength, seed, rows, latents):
    rng = np.random.default_rng(seed)
    mean, logvar = rng.normal(size=(2, rows, latents))
    total = 0.0
    for row in range(rows):
        for latent in range(latents):
            m, v = mean[row, latent], logvar[row, latent]
            total += (m * m + math.exp(v) - 1 - v) / 2
    objective = build_objective("beta_vae", strength, latents)
    penalty = objective.penalty(
        code(torch.from_numpy(mean), torch.from_numpy(logvar)), 0, torch.Generator()
    )
    assert float(penalty.regulariser) == pytest.approx(strength * total / rows, rel=1e-9)
    assert penalty.adversary is None and objective.adversary_optimiser() is None


def test_strengths_are_those_of_table_3():
    assert METHODS["beta_vae"].strengths == (1, 2, 4, 6, 8, 16)
    assert METHODS["factor_vae"].strengths == (10, 20, 30, 40, 50, 100)


@pytest.mark.parametrize("method", VAES)
def test_every_method_is_an_objective_with_rising_strengths(method):
    objective = build_objective(method, 3.0, 4)
    assert isinstance(objective, Objective)
    assert (objective.strength, objective.latents) == (3.0, 4)
    strengths = METHODS[method].strengths
    assert sorted(set(strengths)) == list(strengths)


def test_an_objective_without_a_penalty_says_so():
    with pytest.raises(TypeError, match="Objective must define"):
        Objective(1.0, 2).penalty(code(torch.zeros(1, 2), torch.zeros(1, 2)), 0, torch.Generator())
