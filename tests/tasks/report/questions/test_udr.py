"""Rank correlations of UDR and the scores."""

from __future__ import annotations

import pytest
from scipy.stats import spearmanr

from tasks.report.questions.udr import agreements
from tasks.report.results import read_results
from tests.tasks.report.conftest import Grid, MakeStore

GRID = Grid(seeds=8, pictures=False)


def test_correlations_are_scipys(make_store: MakeStore) -> None:
    store = make_store(GRID)
    results = read_results(store, GRID.study())
    rows = agreements(results.models, results.columns, list(GRID.methods))
    assert len(rows) == 2 * 2 * 2  # data sets, pools, metrics
    ranks, scores = store.read("ranks").to_pandas(), store.read("scores").to_pandas()
    scores = scores[(scores.part == "score") & scores.factor.isna()]
    for row in rows:
        both = ranks[(ranks.data == row.data) & (ranks.pool == row.udr.pool)].merge(
            scores[scores.metric == row.metric.name][["model_id", "value"]], on="model_id"
        )
        assert row.overall.n == len(both) == 32
        assert row.overall.rho == pytest.approx(spearmanr(both.udr, both.value).statistic)
        for method, correlation in zip(GRID.methods, row.per_method, strict=True):
            part = both[both.method == method]
            assert correlation is not None
            assert correlation.n == 16
            assert correlation.rho == pytest.approx(spearmanr(part.udr, part.value).statistic)
