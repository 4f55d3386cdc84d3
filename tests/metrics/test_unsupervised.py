import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from metrics import OF_ALL_DATA
from metrics.base.gaussians import sample, total_correlation, wasserstein_correlation
from metrics.base.inputs import Inputs
from metrics.evaluate import reads_factors
from metrics.unsupervised import evaluate, pairwise_information, unsupervised

MEANS = {
    *("score", "gaussian_total_correlation_mean", "mutual_information"),
    *("gaussian_wasserstein_correlation", "gaussian_wasserstein_correlation_norm"),
}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def scores(*arguments, **named) -> dict[str, float]:
    rows = unsupervised(*arguments, **named)
    assert all(row.factor is None and type(row.value) is float for row in rows)
    assert rows[0].part == "score" and len({row.part for row in rows}) == len(rows)
    return {row.part: row.value for row in rows}


def bivariate(rho: float, points: int) -> np.ndarray:
    return rng().multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=points)


def by_definition(codes: np.ndarray, bins: int = 20) -> float:
    """Joint histograms by counting, in loops over ordered pairs."""
    labels = []
    for latent in codes.T.tolist():
        low, width = min(latent), max(latent) - min(latent)
        place = [int(bins * (z - low) / width) if width else 0 for z in latent]
        labels.append([min(p, bins - 1) for p in place])
    total, pairs = 0.0, 0
    for i, one in enumerate(labels):
        for j, other in enumerate(labels):
            if i == j:
                continue
            pairs += 1
            both = list(zip(one, other, strict=True))
            for a, b in set(both):
                joint, left, right = (
                    both.count((a, b)) / len(both),
                    one.count(a) / len(one),
                    other.count(b) / len(other),
                )
                total += joint * math.log(joint / (left * right))
    return total / pairs


@pytest.mark.parametrize("seed", range(4))
def test_mutual_information_is_that_of_the_joint_histogram(seed):
    codes = rng(seed).normal(size=(200, 4)) @ rng(seed + 9).normal(size=(4, 4))
    codes[:, 3] = 0.1  # a dead latent's pairs count, with 0
    assert pairwise_information(codes) == pytest.approx(by_definition(codes), abs=1e-9)
    assert pairwise_information(codes, 5) == pytest.approx(by_definition(codes, 5), abs=1e-9)
    assert 0.1 < pairwise_information(codes) < pairwise_information(codes[:, :3])


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.8, 0.95])
def test_mutual_information_of_gaussians(rho):
    codes = bivariate(rho, 200_000)
    found = pairwise_information(codes)
    # Exactly what the bins let through: a Gaussian's mass in each cell.
    edges = np.linspace(codes.min(axis=0), codes.max(axis=0), 21)
    edges[0], edges[-1] = -9, 9
    corners = np.stack(np.meshgrid(edges[:, 0], edges[:, 1], indexing="ij"), axis=-1)
    below = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf(corners)
    mass = np.maximum(np.diff(np.diff(below, axis=0), axis=1), 1e-300)
    apart = mass.sum(axis=1, keepdims=True) * mass.sum(axis=0)
    through = float((mass * np.log(mass / apart)).sum())
    assert found == pytest.approx(through, abs=0.006)
    # Bins half a deviation wide lose what is finer than they are, the more the closer to a line.
    closed = -0.5 * math.log(1 - rho**2)
    assert found == pytest.approx(closed, abs=0.002 + 0.12 * closed)
    assert total_correlation(codes) == pytest.approx(closed, abs=0.01)


def test_worked_example():
    # Two latents that take two values each: 0 0, 0 0, 2 0, 2 2. Correlation: deviations -1 -1 1 1
    # and -1/2 -1/2 -1/2 3/2, products sum to 2, squares to 4 and 3; so rho² = 4 / 12.
    codes = np.array([[0, 0], [0, 0], [2, 0], [2, 2]])
    logvar = np.log([[1, 4]] * 4)
    loss = [10, 20, 30, 40]
    found = scores(codes, rng(), logvar, loss)
    assert found["score"] == pytest.approx(-0.5 * math.log(2 / 3))
    assert found["gaussian_total_correlation_mean"] == found["score"]
    information = (
        0.5 * math.log(0.5 / (0.5 * 0.75))
        + 0.25 * math.log(0.25 / (0.5 * 0.75))
        + 0.25 * math.log(0.25 / (0.5 * 0.25))
    )
    assert found["mutual_information"] == pytest.approx(information)
    # KL per point (mean² + variance - ln variance - 1) / 2; the mean squares are 2 and 1
    kl = [(2 + 1 - 1) / 2, (1 + 4 - math.log(4) - 1) / 2]
    assert [found["kl latent 0"], found["kl latent 1"]] == pytest.approx(kl)
    assert found["kl"] == pytest.approx(sum(kl)) and found["informative_latents"] == 2
    assert found["reconstruction"] == 25 and found["elbo"] == pytest.approx(-25 - sum(kl))
    assert set(found) == MEANS | {
        *("gaussian_total_correlation_sampled", "mutual_information_sampled"),
        *("kl", "kl latent 0", "kl latent 1", "informative_latents", "reconstruction", "elbo"),
    }


def test_parts_are_there_as_far_as_inputs_are():
    codes = bivariate(0.5, 100)
    alone = scores(codes, rng())
    assert set(alone) == MEANS
    with_loss = scores(codes, rng(), reconstruction=np.ones(100))
    assert set(with_loss) == MEANS | {"reconstruction"}
    with_spread = scores(codes, rng(), np.zeros((100, 2)))
    assert "kl" in with_spread and not {"reconstruction", "elbo"} & set(with_spread)
    for more in (with_loss, with_spread):
        assert {part: more[part] for part in MEANS} == alone
    factors = np.zeros((100, 0), np.int64)
    rows = evaluate(
        Inputs(codes, factors, logvar=np.ones((100, 2)), reconstruction=codes[:, 0]), rng(3)
    )
    assert rows == unsupervised(codes, rng(3), np.ones((100, 2)), codes[:, 0])
    assert evaluate(Inputs(codes, factors), rng()) == unsupervised(codes, rng())


def test_the_sampled_scores_are_those_of_one_sample():
    codes, logvar = bivariate(0.9, 500), rng(1).normal(size=(500, 2))
    drawn = sample(codes, logvar, rng(7))
    found = scores(codes, rng(7), logvar)
    assert found["gaussian_total_correlation_sampled"] == total_correlation(drawn)
    assert found["mutual_information_sampled"] == pairwise_information(drawn)
    distance = wasserstein_correlation(codes)
    assert found["gaussian_wasserstein_correlation"] == distance[0]
    assert found["gaussian_wasserstein_correlation_norm"] == distance[1]
    other = scores(codes, rng(8), logvar)
    assert {part for part in found if found[part] != other[part]} == {
        *("gaussian_total_correlation_sampled", "mutual_information_sampled"),
    }


def test_noise_of_a_posterior_hides_correlated_means():
    # Means of variance v and correlation rho, noise of variance 1 - v: the sampled representation
    # has covariance v rho, variance 1, as a collapsed latent's means have (paper, section 5.1).
    v, rho = 0.2, 0.95
    codes = math.sqrt(v) * bivariate(rho, 200_000)
    found = scores(codes, rng(1), np.full(codes.shape, math.log(1 - v)))
    sampled = found["gaussian_total_correlation_sampled"]
    assert sampled == pytest.approx(-0.5 * math.log(1 - (v * rho) ** 2), abs=0.003)
    assert found["score"] == pytest.approx(-0.5 * math.log(1 - rho**2), abs=0.01)
    assert found["mutual_information_sampled"] < 0.05 < 0.9 < found["mutual_information"]


def test_informative_latents_have_a_kl_above_the_threshold():
    # a mean m with variance 1 has KL m² / 2
    codes = np.sqrt(2 * np.array([[0.0, 0.0099, 0.0101, 3.0]]))
    found = scores(codes, rng(), np.zeros((1, 4)))
    assert found["informative_latents"] == 2
    assert [found[f"kl latent {i}"] for i in range(4)] == pytest.approx([0, 0.0099, 0.0101, 3])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("codes", [np.ones((1, 3)), np.full((9, 3), 0.1), np.arange(9.0)[:, None]])
def test_nothing_to_correlate_scores_zero(codes):
    found = scores(codes, rng(), np.full(codes.shape, -1e9), np.zeros(len(codes)))
    for part in MEANS | {"gaussian_total_correlation_sampled", "mutual_information_sampled"}:
        assert found[part] == pytest.approx(0, abs=1e-14)
    assert all(np.isfinite(value) for value in found.values())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-149, 1e-5, 1e5, 1e149])
def test_any_scale_gives_finite_scores(scale):
    codes = bivariate(0.5, 50) / 5
    found = scores(codes * scale, rng(), np.full(codes.shape, 2 * math.log(scale)))
    assert all(np.isfinite(value) for value in found.values())
    plain = scores(codes, rng(), np.zeros(codes.shape))
    for part in ("score", "gaussian_total_correlation_sampled", "mutual_information_sampled"):
        assert found[part] == pytest.approx(plain[part])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"codes": np.ones(3)}, r"codes: found shape \(3,\)"),
        ({"codes": [[np.nan, 1]] * 3}, "codes: found nan in row 0, column 0"),
        (
            {"logvar": np.zeros((3, 1))},
            r"logvar: found shape \(3, 1\); accepted: \(3, 2\), as codes",
        ),
        ({"logvar": np.full((3, 2), np.inf)}, "logvar: found inf in row 0, column 0"),
        ({"logvar": np.full((3, 2), 692)}, r"logvar: found 692.0; accepted: numbers to 691"),
        ({"reconstruction": np.zeros((3, 1))}, r"reconstruction: found shape \(3, 1\)"),
        (
            {"reconstruction": np.zeros(2)},
            r"reconstruction: found shape \(2,\); accepted: \(3,\), as codes",
        ),
        ({"reconstruction": ["a"] * 3}, "reconstruction: found <U1; accepted: real"),
    ],
)
def test_what_is_wrong_is_named(changed, message):
    right = {"codes": np.ones((3, 2)), "logvar": np.ones((3, 2)), "reconstruction": np.ones(3)}
    with pytest.raises(ValueError, match=message):
        unsupervised(rng=rng(), **(right | changed))


def test_it_alone_reads_no_factors():
    assert [name for name in OF_ALL_DATA if not reads_factors(name)] == ["unsupervised"]
