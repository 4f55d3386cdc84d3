"""One rank correlation, against scipy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from tasks.report.spearman import ENOUGH, correlation_matrix, rank_correlations, spearman


def test_spearman_leaves_out_what_is_missing_and_shares_ties() -> None:
    one = pd.Series([1.0, 2.0, 2.0, 3.0, np.nan, 9.0, 4.0])
    other = pd.Series([2.0, 1.0, 5.0, 5.0, 7.0, np.nan, 3.0])
    correlation = spearman(one, other)
    assert correlation.n == 5
    complete = [0, 1, 2, 3, 6]
    assert correlation.rho == pytest.approx(spearmanr(one[complete], other[complete]).statistic)


def test_spearman_refuses_too_few_and_constants() -> None:
    few = pd.Series(range(ENOUGH - 1), dtype=float)
    assert spearman(few, few).rho is None
    assert "too few" in str(spearman(few, few))
    enough = pd.Series(range(ENOUGH), dtype=float)
    assert spearman(enough, enough).rho == pytest.approx(1)
    assert spearman(enough, enough * 0).rho is None


def test_rank_correlations_are_scipys() -> None:
    draws = np.random.default_rng(3)
    rankings = np.round(draws.random((6, 30)), 1)
    metrics = np.round(draws.random((30, 5)), 1)
    metrics[:9, 1] = np.nan
    metrics[4:, 2] = np.nan  # four models are too few
    metrics[:, 3] = 0.5
    rankings[5] = 0.25
    rankings[0, 29] = np.nan  # left out everywhere, so that all draws are of the same models
    correlations = rank_correlations(rankings, metrics.T)
    assert correlations.shape == (6, 5)
    for i in range(6):
        for j in range(5):
            complete = np.isfinite(metrics[:, j]) & (np.arange(30) < 29)
            if j in (2, 3) or i == 5:
                assert np.isnan(correlations[i, j])
            else:
                wanted = spearmanr(rankings[i, complete], metrics[complete, j]).statistic
                assert correlations[i, j] == pytest.approx(wanted)


def test_a_matrix_is_of_pairs_each_over_the_models_that_have_both() -> None:
    draws = np.random.default_rng(4)
    scores = pd.DataFrame(np.round(draws.random((20, 3)), 1), columns=list("abc"))
    scores.loc[:6, "a"] = np.nan
    scores.loc[10:, "c"] = np.nan  # three models have both a and c
    rho, n = correlation_matrix(scores)
    for i, one in enumerate("abc"):
        for j, other in enumerate("abc"):
            both = scores[[one, other]].dropna().to_numpy()
            assert n[i, j] == len(both)
            if len(both) < ENOUGH:
                assert np.isnan(rho[i, j])
            else:
                assert rho[i, j] == pytest.approx(spearmanr(both[:, 0], both[:, -1]).statistic)
