"""Against closed forms: every covariance here is exactly that of the codes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.linalg import sqrtm
from scipy.stats import kstest, norm

from metrics.base.gaussians import LEAST, kl, sample, total_correlation, wasserstein_correlation


def with_covariance(covariance, points: int = 200, seed: int = 0) -> np.ndarray:
    """Codes whose covariance (n - 1) is this one, to rounding, about some mean."""
    rng = np.random.default_rng(seed)
    raw = rng.normal(size=(points, len(covariance)))
    white, _ = np.linalg.qr(raw - raw.mean(axis=0))
    codes = np.sqrt(points - 1) * white @ np.linalg.cholesky(np.asarray(covariance)).T
    np.testing.assert_allclose(np.cov(codes.T), covariance, atol=1e-12 * np.max(covariance))
    return codes + rng.normal(size=len(covariance))


def equicorrelated(latents: int, rho: float) -> np.ndarray:
    return np.full((latents, latents), rho) + (1 - rho) * np.eye(latents)


@pytest.mark.parametrize("rho", [-0.999, -0.5, 0, 0.3, 0.9, 0.9999])
def test_total_correlation_of_two_latents(rho):
    codes = with_covariance([[4.0, rho * 6], [rho * 6, 9.0]])
    assert total_correlation(codes) == pytest.approx(-0.5 * np.log(1 - rho**2), abs=1e-9)


@pytest.mark.parametrize("latents", [2, 3, 10])
@pytest.mark.parametrize("rho", [-0.1, 0.2, 0.7])
def test_total_correlation_of_equally_correlated_latents(latents, rho):
    # the eigenvalues are 1 + (k - 1) rho, once, and 1 - rho
    expected = -0.5 * (np.log(1 + (latents - 1) * rho) + (latents - 1) * np.log(1 - rho))
    found = total_correlation(with_covariance(equicorrelated(latents, rho)))
    assert found == pytest.approx(expected, abs=1e-10)


def test_total_correlation_is_the_divergence_from_the_marginals():
    # KL of N(0, C) from N(0, D), appendix C: (tr D^-1 C - k + ln det D - ln det C) / 2
    rng = np.random.default_rng(1)
    codes = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 5)) + rng.normal(size=5)
    covariance = np.cov(codes.T)
    apart = np.diag(np.diag(covariance))
    trace = np.trace(np.linalg.solve(apart, covariance)) - 5
    expected = 0.5 * (trace + np.log(np.linalg.det(apart) / np.linalg.det(covariance)))
    assert expected > 1 and total_correlation(codes) == pytest.approx(expected, abs=1e-10)


def test_worked_example_of_both():
    # Latents 0, 2, 0, 2 and 0, 0, 4, 4, and their sum over two: 0, 1, 2, 3. Deviations from the
    # means have sums of squares 4, 16 and 5, and of products 0, 2 (first, third) and 8.
    codes = np.array([[0, 0, 0], [2, 0, 1], [0, 4, 2], [2, 4, 3]], float)
    # first and third: correlation 2 / (2 · 2.2361), its square 1/5
    assert total_correlation(codes[:, [0, 2]]) == pytest.approx(-0.5 * np.log(4 / 5), abs=1e-12)
    # C = [[4/3, 2/3], [2/3, 5/3]], D = diag(4/3, 5/3); of D C, trace 16/9 + 25/9 = 41/9 and
    # determinant (20/9 - 4/9) · 20/9 = 320/81; the root's trace is (41/9 + 2 (320/81)^½)^½.
    distance = 2 * 3 - 2 * np.sqrt(41 / 9 + 2 * np.sqrt(320 / 81))
    found = wasserstein_correlation(codes[:, [0, 2]])
    assert distance > 0.1 and found == pytest.approx((distance, distance / 3), abs=1e-12)
    assert total_correlation(codes[:, :2]) == pytest.approx(0, abs=1e-12)
    assert wasserstein_correlation(codes[:, :2]) == pytest.approx((0, 0), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_wasserstein_correlation_is_the_released_formula(seed):
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)) * [0.1, 1, 3, 10]
    covariance = np.cov(codes.T)
    root = sqrtm(covariance * np.diag(covariance)[:, None])
    expected = 2 * np.trace(covariance) - 2 * np.trace(root).real
    distance, relative = wasserstein_correlation(codes)
    assert distance == pytest.approx(expected, rel=1e-8) and expected > 0.01
    assert relative == pytest.approx(expected / np.trace(covariance), rel=1e-8)


def test_wasserstein_correlation_of_two_latents():
    # With unit variances D is 1: 2 k - 2 sum of the root of the eigenvalues 1 ± rho
    distance, relative = wasserstein_correlation(with_covariance(equicorrelated(2, 0.6)))
    expected = 4 - 2 * (np.sqrt(1.6) + np.sqrt(0.4))
    assert (distance, relative) == pytest.approx((expected, expected / 2), abs=1e-10)


@st.composite
def correlated(draw: st.DrawFn) -> np.ndarray:
    latents, points = draw(st.integers(1, 6)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = rng.normal(size=(points, latents)) @ rng.normal(size=(latents, latents))
    return np.round(codes, draw(st.integers(0, 8)))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(codes=correlated(), seed=st.integers(0, 1000))
def test_order_sign_shift_and_a_dead_latent_change_nothing(codes, seed):
    rng = np.random.default_rng(seed)
    latents = codes.shape[1]
    changed = codes[:, rng.permutation(latents)] * rng.choice([-1, 1], latents)
    changed = np.insert(changed, rng.integers(latents + 1), 1e17 / 3, axis=1)
    expected = total_correlation(codes)
    assert expected >= 0 and total_correlation(changed) == pytest.approx(expected, abs=1e-5)
    expected = wasserstein_correlation(codes)
    assert min(expected) >= 0 and expected[1] <= 2
    assert wasserstein_correlation(changed + 0.5) == pytest.approx(expected, abs=1e-9)
    scaled = total_correlation(codes * 2.0 ** rng.integers(-30, 30, latents))
    assert scaled == pytest.approx(total_correlation(codes), abs=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-100, 1e-5, 1e149])
def test_any_scale(scale):
    codes = with_covariance(equicorrelated(3, 0.5))
    expected, relative = total_correlation(codes), wasserstein_correlation(codes)[1]
    one = codes * [scale, 1, 1]
    for changed in (codes * scale, one, codes / codes.std(axis=0) * [scale, 1, 1 / scale]):
        if np.isfinite(changed).all() and np.abs(changed).max() < 1e150:
            # the lowest are not normal numbers: some 13 digits are left
            assert total_correlation(changed) == pytest.approx(expected, rel=1e-9)
    distance, same = wasserstein_correlation(codes * scale)
    assert same == pytest.approx(relative, rel=1e-9) and np.isfinite(distance)
    if 1e-100 <= scale <= 1e100:
        assert distance == pytest.approx(scale**2 * 3 * relative)


def test_a_shift_so_large_that_the_mean_is_rounded():
    codes = np.random.default_rng(0).integers(-3, 4, size=(50, 3)).astype(float)
    codes[:, 2] += codes[:, 0]
    far = codes + 2.0**52  # still exact, unlike their mean
    assert total_correlation(far) == pytest.approx(total_correlation(codes), abs=1e-12)
    assert wasserstein_correlation(far) == pytest.approx(wasserstein_correlation(codes), abs=1e-12)


@pytest.mark.filterwarnings("error")
def test_latents_that_determine_each_other_are_counted_at_the_rounding_of_doubles():
    codes = with_covariance(np.eye(3))
    twin = np.column_stack([codes, -1e-7 * codes[:, 1] + 3])
    assert total_correlation(twin[:, [1, 3]]) == pytest.approx(-0.5 * np.log(2 * LEAST), abs=1e-6)
    assert total_correlation(twin) == pytest.approx(-0.5 * np.log(2 * LEAST), abs=1e-6)
    sums = np.column_stack([codes, codes[:, 0] + codes[:, 1]])
    # eigenvalues 2, 1 and 1 beside the one that is 0
    assert total_correlation(sums) == pytest.approx(-0.5 * np.log(2 * LEAST), abs=1e-6)
    assert 17 < total_correlation(twin) < 18


def test_nearly_equal_latents_are_told_from_equal_ones():
    noise = with_covariance(np.eye(2))
    values = []
    for apart in (1e-2, 1e-4, 1e-6):
        values.append(total_correlation(noise @ [[1, 1], [0, apart]]))
        assert values[-1] == pytest.approx(-0.5 * np.log(apart**2 / (1 + apart**2)), rel=1e-6)
    assert values == sorted(values) and values[-1] < -0.5 * np.log(2 * LEAST)


@pytest.mark.filterwarnings("error")
def test_fewer_points_than_latents():
    rng = np.random.default_rng(0)
    # two points lie on a line: one eigenvalue is 5, the others are 0
    two = total_correlation(rng.normal(size=(2, 5)))
    assert two == pytest.approx(-0.5 * (np.log(5) + 4 * np.log(LEAST)), abs=1e-6)
    for points in (3, 4, 5, 6):
        codes = rng.normal(size=(points, 5))
        values = np.maximum(np.linalg.eigvalsh(np.corrcoef(codes.T)), 0)
        largest = values[-min(points - 1, 5) :]
        missing = 5 - len(largest)
        expected = -0.5 * (np.log(largest).sum() + missing * np.log(LEAST))
        assert total_correlation(codes) == pytest.approx(expected, abs=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "codes",
    [
        np.ones((1, 1)),
        np.full((1, 4), 3.0),
        np.arange(5.0)[:, None],
        np.full((7, 3), 1e17 / 3),
        np.column_stack([np.arange(5.0), np.full((5, 2), 0.1)]),
    ],
)
def test_nothing_to_correlate(codes):
    assert total_correlation(codes) == 0
    assert wasserstein_correlation(codes) == pytest.approx((0, 0), abs=1e-14)


@pytest.mark.parametrize("mean", [0.0, -1.3, 2.0])
@pytest.mark.parametrize("logvar", [-4.0, 0.0, 1.0])
def test_kl_is_the_integral(mean, logvar):
    own, prior = norm(mean, np.exp(logvar / 2)), norm()
    wide = 12 * np.exp(logvar / 2)
    integral, _ = quad(
        lambda x: own.pdf(x) * (own.logpdf(x) - prior.logpdf(x)), mean - wide, mean + wide
    )
    assert kl(np.array(mean), np.array(logvar)) == pytest.approx(integral, abs=1e-8)


def test_kl_of_a_dead_latent_keeps_its_digits():
    assert kl(np.zeros(1), np.full(1, 1e-7)) == pytest.approx(0.25e-14, rel=1e-6, abs=0)
    assert kl(np.full(1, 1e-9), np.zeros(1)) == pytest.approx(0.5e-18, rel=1e-9, abs=0)


def test_samples_follow_their_gaussians_in_parts_as_at_once():
    mean, logvar = np.array([[1.0, -5.0]]), np.array([[2.0, -8.0]])
    many = sample(
        np.repeat(mean, 20_000, axis=0),
        np.repeat(logvar, 20_000, axis=0),
        np.random.default_rng(0),
    )
    for latent in range(2):
        own = norm(mean[0, latent], np.exp(logvar[0, latent] / 2))
        assert kstest(many[:, latent], own.cdf).pvalue > 0.01
    assert abs(np.corrcoef(many.T)[0, 1]) < 0.03
    rng = np.random.default_rng(0)
    parts = [
        sample(np.repeat(mean, count, axis=0), np.repeat(logvar, count, axis=0), rng)
        for count in (7, 19_993)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), many)
