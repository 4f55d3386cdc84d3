import numpy as np
import pytest

from metrics.base.inputs import Inputs
from metrics.irs import evaluate, irs


def scores(codes, factors, **settings):
    rows = irs(codes, factors, **settings)
    assert all(row.factor is None for row in rows)
    return {row.part: row.value for row in rows}


def by_definition(codes, factors, quantile, weighted):
    """One variant in loops over latents, factors and values: the score and the latents'."""

    def mean(values):
        return sum(values) / len(values)

    def percentile(values):
        """Between neighbours in order, on a straight line."""
        place = quantile * (len(values) - 1)
        below = int(place)
        low, high = sorted(values)[below], sorted(values)[min(below + 1, len(values) - 1)]
        return low + (place - below) * (high - low)

    found, weights = [], []
    for latent in codes.T.tolist():
        overall = max(abs(value - mean(latent)) for value in latent)
        robust = [0.0]
        for factor in factors.T.tolist():
            total = 0.0
            for level in set(factor):
                group = [z for z, own in zip(latent, factor, strict=True) if own == level]
                share = len(group) / len(factor) if weighted else 1 / len(set(factor))
                total += share * percentile([abs(value - mean(group)) for value in group])
            robust.append(1 - total / overall)
        found.append(max(robust))
        weights.append(overall)
    return sum(a * b for a, b in zip(found, weights, strict=True)) / sum(weights), found


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_the_definition(seed, kind):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, [3, 5, 2], size=(300, 3)) * 7 - 3
    codes = factors @ rng.normal(size=(3, 4)) + rng.normal(size=(300, 4)) ** 3
    codes = (codes * [0.1, 1, 5, 2]).astype(kind)
    quantile, latents = by_definition(codes, factors, 0.99, weighted=False)
    largest, _ = by_definition(codes, factors, 1, weighted=False)
    by_count, _ = by_definition(codes, factors, 1, weighted=True)
    assert len({round(value, 4) for value in (quantile, largest, by_count)}) == 3
    expected = {
        "score": quantile,
        "percentile_99": quantile,
        "max_deviation": largest,
        "max_deviation_weighted": by_count,
        **{f"irs latent {place}": value for place, value in enumerate(latents)},
    }
    assert scores(codes, factors) == pytest.approx(expected, abs=1e-12)
    found = evaluate(Inputs(codes, factors), rng)
    assert found[0].value == pytest.approx(quantile, abs=1e-12)
    half, _ = by_definition(codes, factors, 0.5, weighted=False)
    found = irs(codes, factors, diff_quantile=0.5)
    assert found[0].value == pytest.approx(half, abs=1e-12)


def test_worked_example():
    # One factor of two values, on three points and one. The first latent has mean 3 and deviates by
    # at most 5; where the factor is 0 its values -2, 4, 4 have mean 2, deviations 4, 2, 2; where it
    # is 1, one point, none. The second latent is 20 times the factor: overall 15, within values 0.
    factors = np.array([[0], [0], [0], [1]])
    codes = np.array([[-2.0, 0.0], [4.0, 0.0], [4.0, 0.0], [6.0, 20.0]])
    # 99th percentile of 2, 2, 4: at 0.98 between 2 and 4, which is 3.96; equally, (3.96 + 0) / 2.
    first = 1 - 3.96 / 2 / 5
    assert scores(codes, factors) == pytest.approx(
        {
            "score": (5 * first + 15 * 1) / 20,
            "percentile_99": (5 * first + 15 * 1) / 20,
            "max_deviation": (5 * (1 - 4 / 2 / 5) + 15) / 20,
            "max_deviation_weighted": (5 * (1 - 4 * 3 / 4 / 5) + 15) / 20,
            "irs latent 0": first,
            "irs latent 1": 1,
        }
    )


@pytest.mark.parametrize("values", [21, 57, 183])
def test_the_headline_cuts_factors_into_twenty_bins(values):
    """As the released code: edges of numpy's histogram, and digitize with all but the last."""
    rng = np.random.default_rng(values)
    factors = np.stack([rng.integers(values, size=2000), rng.integers(15, size=2000)], axis=1)
    codes = factors @ rng.normal(size=(2, 3)) / [1, 5, 20] + rng.normal(size=(2000, 3))
    binned = [np.digitize(f, np.histogram(f, 20)[1][:-1]) for f in factors.T]
    expected, latents = by_definition(codes, np.stack(binned, axis=1), 0.99, weighted=False)
    unbinned, _ = by_definition(codes, factors, 0.99, weighted=False)
    rows = scores(codes, factors)
    assert rows["score"] == pytest.approx(expected, abs=1e-12)
    assert [rows[f"irs latent {place}"] for place in range(3)] == pytest.approx(latents, abs=1e-12)
    assert rows["percentile_99"] == pytest.approx(unbinned, abs=1e-12)
    assert unbinned > expected + 0.001  # a code that follows a factor moves within a bin


def grid():
    return np.stack(np.meshgrid(range(3), range(4), range(5)), axis=-1).reshape(-1, 3)


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e-5, 1, 1e149])
def test_a_perfect_representation_scores_one_at_any_scale(scale):
    codes = grid()[:, [2, 0, 1, 0]] * [-1.0, 2.0, 0.5, 1.0] * scale
    assert scores(codes, grid()) == pytest.approx(
        dict.fromkeys(scores(codes, grid()), 1), abs=1e-12
    )
    mixed = (grid() @ np.array([[1.0, 1], [1, 2], [1, 0]])) + 0.1
    expected = scores(mixed, grid())
    assert 0.1 < expected["score"] < 0.9
    assert scores(mixed * scale, grid()) == pytest.approx(expected)


def test_a_dead_latent_has_no_weight():
    codes = grid() @ np.array([[1.0, 1], [1, 2], [1, 0]])
    alone, with_dead = (
        scores(points, grid()) for points in (codes, np.insert(codes, 1, 1e6 + 0.1, axis=1))
    )
    assert with_dead["irs latent 1"] == 0
    assert with_dead["irs latent 2"] == alone["irs latent 1"]
    for part in ("score", "max_deviation", "max_deviation_weighted"):
        assert with_dead[part] == pytest.approx(alone[part])


@pytest.mark.parametrize("rows", [1, 2, 500])
def test_dead_latents_alone_score_zero(rows):
    factors = np.arange(2 * rows).reshape(rows, 2) % 3
    assert set(scores(np.full((rows, 3), 1e17 / 3), factors).values()) == {0}


def test_a_latent_less_steady_than_overall_scores_zero():
    # Overall the mean is 0.5 and all deviate by 0.5; at each value of the factor, one point in a
    # hundred deviates by 0.99.
    codes = np.concatenate([np.eye(1, 100)[0], 1 - np.eye(1, 100)[0]])[:, None]
    factors = np.repeat([0, 1], 100)[:, None]
    assert scores(codes, factors)["max_deviation"] == 0
    assert scores(codes, factors, diff_quantile=1)["irs latent 0"] == 0
    assert scores(codes, factors)["score"] > 0.9  # the percentile does not see it


def test_a_factor_with_one_value_is_a_value_of_all_points():
    codes = np.arange(101.0)[:, None]
    found = scores(codes, np.zeros((101, 1), int))
    assert found["max_deviation"] == found["max_deviation_weighted"] == 0
    assert found["score"] == pytest.approx(1 - 49.5 / 50, abs=0.011)
    assert found["score"] == found["irs latent 0"] == found["percentile_99"]
