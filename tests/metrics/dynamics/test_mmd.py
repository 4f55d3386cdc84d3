"""MMD² in closed form and by loops, its bandwidth, and the interval over seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metrics.dynamics.mmd import interval, mean_of_pairs, median_distance, pairwise_mmd
from tests.metrics.dynamics import brute_force

Array = np.ndarray[Any, Any]


def closed_form(apart: float, deviation: float, other: float, bandwidth: float) -> float:
    """Of two Gaussians in one dimension: E k(x, y) of a normal difference x - y."""

    def mean(difference: float, variance: float) -> float:
        spread = bandwidth**2 + variance
        return float(bandwidth / np.sqrt(spread) * np.exp(-(difference**2) / (2 * spread)))

    within = mean(0, 2 * deviation**2) + mean(0, 2 * other**2)
    return within - 2 * mean(apart, deviation**2 + other**2)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_two_gaussians_in_closed_form(estimator: Any) -> None:
    draws = np.random.default_rng(0)
    x, y = draws.normal(0, 1, (2000, 1)), draws.normal(1.5, 0.5, (2000, 1))
    expected = closed_form(1.5, 1, 0.5, 0.7)
    assert pairwise_mmd([x, y], 0.7, estimator)[0, 1] == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_clouds_are_compared_as_by_hand(estimator: Any) -> None:
    clouds = list(np.random.default_rng(0).normal(size=(3, 7, 2)) + np.arange(3)[:, None, None])
    pairs = pairwise_mmd(clouds, 1.3, estimator)
    for r in range(3):
        for s in range(3):
            by_hand = brute_force.mmd(clouds[r], clouds[s], 1.3, estimator == "unbiased")
            assert pairs[r, s] == pytest.approx(by_hand if r != s else 0)


def test_draws_of_one_distribution_have_an_unbiased_mmd_of_0_on_average() -> None:
    draws = np.random.default_rng(0).normal(size=(40, 30, 1))
    biased, unbiased = (pairwise_mmd(list(draws), 1.0, e) for e in ("biased", "unbiased"))  # type: ignore[arg-type]
    assert abs(mean_of_pairs(unbiased)) < 0.008 < 0.02 < mean_of_pairs(biased)


def test_the_bandwidth_is_the_median_distance() -> None:
    rng = np.random.default_rng(0)
    assert median_distance(np.array([[0.0], [1.0], [3.0]]), rng) == 2
    assert median_distance(np.array([[0.0], [0.0], [0.0], [0.0], [4.0]]), rng) == 4
    assert median_distance(np.ones((5, 2)), rng) == 1
    many = np.random.default_rng(1).normal(size=(4000, 2))
    assert median_distance(many, rng) == pytest.approx(np.sqrt(4 * np.log(2)), rel=0.05)


def test_the_interval_is_of_all_draws_of_seeds_without_pairs_of_copies() -> None:
    """Of three seeds the 27 draws have seven means, which are known."""
    pairs = np.array([[0, 1, 2], [1, 0, 6], [2, 6, 0]], float)
    assert mean_of_pairs(pairs) == 3
    means = [1.0] * 6 + [2.0] * 6 + [6.0] * 6 + [3.0] * 6  # two copies: one pair; all: the mean
    low, high = interval(pairs, 20_000, 0.4, np.random.default_rng(0)) or (0, 0)
    assert (low, high) == tuple(np.quantile(means, [0.3, 0.7]))
    low, high = interval(pairs, 500, 0.95, np.random.default_rng(0)) or (0, 0)
    assert (low, high) == (1, 6)


def test_the_interval_contains_the_mean_and_shrinks_with_seeds() -> None:
    widths = []
    for seeds in (5, 10, 40):
        noise = np.random.default_rng(seeds).normal(size=(seeds, 2))
        pairs = np.linalg.norm(noise[:, None] - noise[None], axis=2)
        low, high = interval(pairs, 1000, 0.95, np.random.default_rng(0)) or (0, 0)
        assert low < mean_of_pairs(pairs) < high
        widths.append(high - low)
    assert widths[0] > widths[1] > widths[2]


def test_two_seeds_have_no_interval() -> None:
    assert interval(np.ones((2, 2)), 100, 0.95, np.random.default_rng(0)) is None
