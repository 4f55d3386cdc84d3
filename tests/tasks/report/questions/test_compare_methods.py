"""Interquartile means, wins and their intervals, where the answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, trim_mean

from tasks.report.figures.profiles import share_above
from tasks.report.questions.compare_methods import comparisons, interquartile_means, wins_of
from tasks.report.results import Column

MIG = Column("mig", "MIG")


def models_of(draws: np.random.Generator, lead: float, seeds: int = 20) -> pd.DataFrame:
    """Two methods at three strengths; the second scores higher by `lead` deviations of seeds."""
    keys = pd.MultiIndex.from_product([["a", "b"], [1.0, 2.0, 4.0], range(seeds)])
    models = keys.to_frame(index=False, name=["method", "strength", "seed"])
    models[MIG.id] = draws.normal(size=len(models)) + lead * (models["method"] == "b")
    return models.assign(data="dsprites", source="redrawn")


@pytest.mark.parametrize("n", [4, 8, 40])
def test_interquartile_means_are_trimmed_means(n: int) -> None:
    values = np.random.default_rng(0).normal(size=(3, 2, n // 2))
    wanted = trim_mean(values.reshape(3, -1), 0.25, axis=1)
    assert interquartile_means(values) == pytest.approx(wanted)
    ragged = np.concatenate([values, np.full((3, 2, 1), np.nan)], axis=2)
    assert interquartile_means(ragged) == pytest.approx(wanted)


def test_a_quarter_of_six_takes_half_of_the_model_at_its_edge() -> None:
    values = np.array([[[0.0, 1.0, 2.0, 3.0, 4.0, 50.0]]])
    assert interquartile_means(values) == pytest.approx([(0.5 * 1 + 2 + 3 + 0.5 * 4) / 3])
    assert interquartile_means(np.array([[[7.0]]])) == pytest.approx([7])


def test_wins_are_counted_pair_by_pair() -> None:
    draws = np.random.default_rng(1)
    one, other = draws.integers(5, size=(2, 3, 7)).astype(float), draws.integers(5, size=(2, 2, 9))
    pairs = one.reshape(2, -1, 1) - other.reshape(2, 1, -1)
    wanted = ((pairs > 0) + 0.5 * (pairs == 0)).mean(axis=(1, 2))
    assert wins_of(one, other.astype(float)) == pytest.approx(wanted)


def test_the_better_method_comes_first_and_its_wins_are_covered() -> None:
    lead = 0.8
    truth = norm.cdf(lead / np.sqrt(2))
    draws, covered, studies = np.random.default_rng(2), 0, 100
    for _ in range(studies):
        (row,) = comparisons(models_of(draws, lead), [MIG])
        assert [standing.method for standing in row.methods] == ["b", "a"]
        assert row.wins_interval is not None
        covered += row.wins_interval.low <= truth <= row.wins_interval.high
    assert 0.87 <= covered / studies < 1
    assert row.is_clear


def test_equal_methods_are_rarely_called_different() -> None:
    draws = np.random.default_rng(3)
    clear = sum(comparisons(models_of(draws, 0.0), [MIG])[0].is_clear for _ in range(60))
    assert clear <= 9, "the first of two is chosen by its scores: at most 1 of 10 is expected"


def test_two_seeds_have_no_interval() -> None:
    (row,) = comparisons(models_of(np.random.default_rng(4), 5.0, seeds=2), [MIG])
    assert row.wins == pytest.approx(1, abs=0.05)
    assert row.wins_interval is None and not row.is_clear
    assert all(standing.interval is None for standing in row.methods)


def test_a_profile_falls_from_all_to_none() -> None:
    scores = np.array([0.1, 0.5, 0.5, 0.9])
    assert share_above(scores, np.array([0.0, 0.1, 0.5, 0.6, 1.0])).tolist() == [
        *(1.0, 1.0, 0.75, 0.25, 0.0)
    ]
