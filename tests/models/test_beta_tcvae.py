import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.beta_tcvae import BetaTCVAE, total_correlation
from models.beta_vae import BetaVAE
from models.objective import Code, gaussian_kl

ROWS = 1500


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def code(mean, logvar, sample) -> Code:
    mean, logvar, sample = (torch.as_tensor(part) for part in (mean, logvar, sample))
    return Code(mean, logvar, sample, gaussian_kl(mean, logvar).mean(0))


def drawn(seed: int, rows: int, latents: int) -> np.ndarray:
    """Means, log-variances and samples."""
    mean, logvar, noise = np.random.default_rng(seed).normal(size=(3, rows, latents))
    return np.stack([mean, logvar, mean + np.exp(logvar / 2) * noise])


def regulariser(strength: float, parts: np.ndarray) -> float:
    """KL + (β − 1) · TC in plain Python, with densities that integrate to one."""
    mean, logvar, sample = parts.tolist()
    rows, latents = len(mean), len(mean[0])
    kl = tc = 0.0
    for j in range(rows):
        joint, marginals = 0.0, [0.0] * latents
        for i in range(rows):
            product = 1.0
            for k in range(latents):
                variance = math.exp(logvar[i][k])
                density = math.exp(-((sample[j][k] - mean[i][k]) ** 2) / (2 * variance))
                density /= math.sqrt(2 * math.pi * variance)
                product *= density
                marginals[k] += density
            joint += product
        tc += math.log(joint) - sum(math.log(marginal) for marginal in marginals)
        for m, v in zip(mean[j], logvar[j], strict=True):
            kl += (m * m + math.exp(v) - 1 - v) / 2
    return kl / rows + (strength - 1) * tc / rows


batches = given(
    strength=st.floats(0, 20),
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 5),
    latents=st.integers(1, 4),
)


@batches
def test_penalty_agrees_with_three_loops(strength, seed, rows, latents):
    parts = drawn(seed, rows, latents)
    objective = BetaTCVAE(strength, latents)
    penalty = objective.penalty(code(*parts), 0, torch.Generator())
    expected = regulariser(strength, parts)
    assert float(penalty.regulariser) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert penalty.adversary is None and objective.adversary_optimiser() is None


@batches
@settings(max_examples=20, deadline=None)
def test_gradients_reach_means_variances_and_samples_in_full(strength, seed, rows, latents):
    parts = drawn(seed, rows, latents)
    leaves = [torch.tensor(part, requires_grad=True) for part in parts]
    penalty = BetaTCVAE(strength, latents).penalty(code(*leaves), 0, torch.Generator())
    gradients = torch.autograd.grad(penalty.regulariser, leaves)
    found = torch.stack(gradients).numpy()
    for place in np.ndindex(parts.shape):
        nudge = np.zeros_like(parts)
        nudge[place] = 1e-5
        slope = (regulariser(strength, parts + nudge) - regulariser(strength, parts - nudge)) / 2e-5
        assert found[place] == pytest.approx(slope, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("latents", [1, 10])
def test_at_strength_1_it_is_the_vae(latents):
    parts = code(*drawn(3, 64, latents))
    plain = BetaVAE(1, latents).penalty(parts, 0, torch.Generator())
    found = BetaTCVAE(1, latents).penalty(parts, 0, torch.Generator())
    assert torch.equal(found.regulariser, plain.regulariser)


def test_one_latent_has_no_total_correlation():
    assert float(total_correlation(code(*drawn(5, 40, 1)))) == 0


def estimate(covariance: np.ndarray, seed: int) -> float:
    """Of a q(z) that is N(0, covariance): posteriors of variance 0.2 around correlated means.

    With the constant that the estimate leaves out, and as for the weights: in float32.
    """
    rng, latents = np.random.default_rng(seed), len(covariance)
    factor = np.linalg.cholesky(covariance - 0.2 * np.eye(latents))
    mean = rng.normal(size=(ROWS, latents)) @ factor.T
    sample = mean + math.sqrt(0.2) * rng.normal(size=(ROWS, latents))
    parts = np.stack([mean, np.full_like(mean, math.log(0.2)), sample]).astype(np.float32)
    return float(total_correlation(code(*parts))) + (latents - 1) * math.log(ROWS)


@pytest.mark.parametrize(
    ("correlations", "scales"),
    [
        ((0.0, 0.0, 0.0), (1, 1, 1)),
        ((0.3, 0.0, 0.0), (1, 1, 1)),
        ((0.75, 0.0, 0.0), (1, 1, 1)),
        ((-0.7, 0.5, -0.4), (1, 1, 1)),
        ((-0.7, 0.5, -0.4), (3, 1, 0.8)),
    ],
)
def test_with_a_large_batch_it_is_the_total_correlation_of_gaussians(correlations, scales):
    r = np.eye(3)
    r[0, 1], r[0, 2], r[1, 2] = correlations
    r = r + r.T - np.eye(3)
    closed_form = -0.5 * math.log(np.linalg.det(r))
    covariance = r * np.outer(scales, scales)
    found = np.mean([estimate(covariance, seed) for seed in range(4)])
    # One batch scatters by up to 0.03; every sample's own posterior adds 0.01.
    assert found == pytest.approx(closed_form, abs=0.08 if closed_form else 0.03)


def test_dependent_codes_cost_more_than_independent_ones():
    r = np.array([[1, 0.75], [0.75, 1]])
    for seed in range(5):
        more = estimate(r, seed) - estimate(np.eye(2), seed)
        assert more == pytest.approx(-0.5 * math.log(1 - 0.75**2), abs=0.1)  # 0.41


def test_posteriors_far_apart_reach_the_estimate_s_ceiling():
    """A batch of n cannot tell of more than (latents − 1) · ln n nats, here left out."""
    mean, logvar, sample = drawn(7, 12, 3)
    apart = 1000 * np.arange(12.0)[:, None]
    assert float(total_correlation(code(mean, logvar, sample))) < -0.1
    assert float(total_correlation(code(mean + apart, logvar, sample + apart))) == 0
