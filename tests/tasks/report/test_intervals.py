"""Intervals against closed forms, and how often they cover what is true."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, norm

from tasks.report import intervals

STUDIES = 200
SHARE_OF_95 = (0.90, 0.99)  # of 200 studies: 0.95 within three and a half standard errors


def test_a_share_has_wilsons_interval() -> None:
    for count, n in ((0, 5), (3, 7), (60, 60), (400, 1000)):
        wanted = binomtest(count, n).proportion_ci(method="wilson")
        assert intervals.of_share(count, n) == pytest.approx((wanted.low, wanted.high), abs=1e-9)
    assert intervals.of_share(0, 0) is None


def test_rank_correlations_are_covered() -> None:
    """Of two normal scores, whose true rank correlation is known."""
    r, n = 0.6, 40
    rho = 6 / np.pi * np.arcsin(r / 2)
    draws = np.random.default_rng(1)
    covered = 0
    for _ in range(STUDIES):
        one = draws.normal(size=n)
        other = r * one + np.sqrt(1 - r * r) * draws.normal(size=n)
        ranks = pd.DataFrame({"one": one, "other": other}).rank()
        bounds = intervals.of_rank_correlation(float(ranks["one"].corr(ranks["other"])), n)
        assert bounds is not None
        covered += bounds.low <= rho <= bounds.high
    assert SHARE_OF_95[0] <= covered / STUDIES <= SHARE_OF_95[1]
    assert intervals.of_rank_correlation(None, 40) is None
    assert intervals.of_rank_correlation(0.5, 4) is None
    few, many = (intervals.of_rank_correlation(-1.0, n) for n in (9, 900))
    assert few is not None and many is not None
    assert few.low == many.low == -1 and few.high > -0.9 and many.high < -0.999


def test_bootstrapped_means_are_covered_and_as_wide_as_they_should_be() -> None:
    draws = np.random.default_rng(2)
    centres = np.arange(8.0)[:, None]
    widths, covered = [], 0
    for _ in range(STUDIES):
        table = centres + draws.normal(size=(8, 20))
        bounds = intervals.bootstrap(table, lambda drawn: drawn.mean(axis=(1, 2)), draws)
        assert bounds is not None
        covered += bounds.low <= centres.mean() <= bounds.high
        widths.append(bounds.high - bounds.low)
    assert SHARE_OF_95[0] <= covered / STUDIES <= SHARE_OF_95[1]
    wanted = 2 * norm.ppf(0.975) / np.sqrt(8 * 20)
    assert np.mean(widths) == pytest.approx(wanted, rel=0.06), "cells do not widen it"


def test_cells_of_unequal_size_are_redrawn_each_from_its_own() -> None:
    models = pd.DataFrame(
        {
            "method": ["b"] * 3 + ["a"] * 2 + ["c"],
            "strength": 1.0,
            "score": [1.0, 2.0, np.nan, 30.0, 40.0, np.nan],
        }
    )
    keys, table = intervals.by_cell(models, "score", ["method", "strength"])
    assert keys["method"].tolist() == ["b", "a"]
    assert table.tolist() == [[1, 2], [30, 40]]
    ragged = np.array([[1.0, 2.0, 3.0], [10.0, np.nan, np.nan]])
    drawn = intervals.redrawn(ragged, np.random.default_rng(0), 50)
    assert set(drawn[:, 0].ravel()) == {1, 2, 3}
    assert set(drawn[:, 1, 0]) == {10} and np.isnan(drawn[:, 1, 1:]).all()
    assert not intervals.enough_seeds(np.ones((4, 2))) and intervals.enough_seeds(np.ones((4, 3)))
