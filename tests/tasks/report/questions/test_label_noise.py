"""Correlations of scores with label noise and without, where the answer is planted."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr

from tasks.report.frames import CELL
from tasks.report.published import LABEL_NOISE
from tasks.report.questions import Figures, Sentence, Table
from tasks.report.questions.label_noise import (
    NO_NOISE,
    Correlation,
    Robustness,
    answer,
    correlation,
    hardest_regime,
    noisy,
    pearson,
    robustness,
)
from tasks.report.results import Column, read_results
from tasks.words import number
from tests.tasks.report.conftest import Grid, MakeStore, blank_column

A, B, C = (Column(name, name.upper()) for name in "abc")
GRID = Grid(
    data=("dsprites",),
    methods={"beta_vae": (1.0, 4.0, 16.0)},
    seeds=6,
    metrics=("mig", "factor_vae", "unsupervised"),
    label_noise=("low", "high"),
    pictures=False,
    curves=False,
)


def models_of(seeds: int) -> pd.DataFrame:
    keys = product(("dsprites",), ("beta_vae", "factor_vae"), (1.0, 2.0, 4.0), range(seeds))
    models = pd.DataFrame(keys, columns=["data", "method", "strength", "seed"])
    models = models.assign(source="redrawn")
    return models.assign(**{name: 0 for name in CELL if name not in models})


def planted(seeds: int, rho: float) -> pd.DataFrame:
    """Clean and noisy scores of a correlation rho, and noisy scores that are scaled only."""
    draws = np.random.default_rng(5)
    models = models_of(seeds)
    clean, other = draws.normal(size=(2, len(models)))
    models[A.id] = clean
    models[noisy(A, "low").id] = 3 + 0.1 * clean
    models[noisy(A, "high").id] = rho * clean + np.sqrt(1 - rho**2) * other
    return models


def test_planted_correlations_and_their_intervals() -> None:
    models = planted(400, 0.5)
    (of_a,) = robustness(models, [A], ["low", "high"], "test")
    assert of_a.by_regime["low"].r == pytest.approx(1) and of_a.by_regime["low"].n == 2400
    high = of_a.by_regime["high"]
    assert high.r == pytest.approx(0.5, abs=4 * 0.75 / np.sqrt(2400))
    assert high.r == pytest.approx(pearsonr(models[A.id], models[noisy(A, "high").id])[0])
    assert high.interval is not None and high.interval.low < high.r < high.interval.high
    # Fisher's z: a deviation of (1 - r²) / sqrt(n)
    width = high.interval.high - high.interval.low
    assert width == pytest.approx(2 * 1.96 * (1 - high.r**2) / np.sqrt(2400), rel=0.15)
    assert of_a.mean == pytest.approx((1 + high.r) / 2)


def test_seeds_are_drawn_again_within_their_cells() -> None:
    """Cells of equal models: whatever seeds are drawn, the correlation is the same."""
    models = models_of(4)
    models[A.id] = models["strength"] * np.where(models["method"] == "beta_vae", 1, 3)
    models[noisy(A, "low").id] = models[A.id] ** 2
    of_a = correlation(models, A.id, noisy(A, "low").id, "test")
    assert of_a.interval is not None
    assert of_a.interval == pytest.approx((of_a.r, of_a.r))


def test_two_seeds_have_no_interval_and_few_or_equal_models_no_correlation() -> None:
    column = noisy(A, "high").id
    assert correlation(planted(2, 0.5), A.id, column, "test").interval is None
    few = correlation(planted(1, 0.5).iloc[:4], A.id, column, "test")
    assert (few.r, few.n) == (None, 4)
    equal = correlation(planted(3, 0.5).assign(**{A.id: 0.1}), A.id, column, "test")
    assert (equal.r, equal.n) == (None, 18)
    gaps = planted(3, 0.5)
    gaps.loc[gaps["seed"] == 0, column] = np.nan
    assert correlation(gaps, A.id, column, "test").n == 12


def test_pearson_by_hand() -> None:
    assert pearson(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])) == pytest.approx(0.5)
    rows = pearson(np.array([[1.0, 2, 3], [0.1, 0.1, 0.1]]), np.array([[3.0, 2, 1], [1, 2, 3]]))
    assert rows[0] == -1 and np.isnan(rows[1])


def test_the_finding_names_the_metrics_that_change_least_and_most(make_store: MakeStore) -> None:
    results = read_results(make_store(GRID), GRID.study())
    said = answer(results)
    _, finding, table, figures = said.content
    assert isinstance(finding, Sentence) and finding.kind == "finding"
    assert isinstance(table, Table) and isinstance(figures, Figures)
    titles = [row.cells[0].text for row in table.rows]
    assert titles == ["MIG", "FactorVAE score"], "the total correlation reads no labels"
    values = {row.cells[0].text: [cell.value for cell in row.cells[1:]] for row in table.rows}
    models = results.with_parts([noisy(m, r) for m in results.metrics for r in ("low", "high")])
    for metric in results.metrics[:2]:
        for place, regime in enumerate(("low", "high")):
            r = pearsonr(models[metric.id], models[noisy(metric, regime).id])[0]
            assert values[metric.title][place] == pytest.approx(r)
    low, high = np.array(list(values.values()), float).T
    assert (low > high).all()
    least, most = sorted(values, key=lambda title: -float(str(values[title][1])))
    assert "<b>dSprites</b>, label noise “high”: of 2 metrics" in finding.text
    assert f"of 2 metrics {least} changes least, r = {number(high.max(), 2)} (" in finding.text
    assert f"; {most} changes most, r = {number(high.min(), 2)} (" in finding.text
    assert len(figures.groups[0].figures[0].data) == 4
    assert "p, low: shape 0.05, scale 0.1" in table.caption


def test_the_finding_is_of_the_regime_that_changes_most() -> None:
    def of(name: str, **r: float | None) -> Robustness:
        return Robustness(Column(name, name), {k: Correlation(v, 9) for k, v in r.items()})

    planted = [of("a", low=0.9, high=0.5), of("b", low=0.8, high=0.7), of("c", low=0.0, high=None)]
    assert hardest_regime(planted[:2]) == "high"
    assert hardest_regime(planted) == "low", "0.57 on average, 0.6 in the other"
    assert hardest_regime([of("c", low=None)]) is None


def test_headlines_stay_the_clean_scores(make_store: MakeStore) -> None:
    """Nothing that reads headlines takes a score with noise for one."""
    plain = replace(GRID, label_noise=())
    with_noise = read_results(make_store(GRID), GRID.study())
    without = read_results(make_store(plain), plain.study())
    assert with_noise.columns == without.columns
    pd.testing.assert_frame_equal(with_noise.models, without.models)
    pd.testing.assert_frame_equal(with_noise.frames.scores, without.frames.scores)


def test_the_papers_numbers_are_beside_ours_and_never_judged(make_store: MakeStore) -> None:
    grid = replace(GRID, steps=300_000)
    rows = answer(read_results(make_store(grid), grid.study())).published
    assert len(rows) == len(LABEL_NOISE) + 3
    ours = [row for row in rows if row.ours is not None]
    assert {row.published for row in ours} == {0.84, 0.63, 0.86, 0.67}, "of mig and factor_vae"
    for row in rows:
        assert row.place == "Holtz et al. 2022, Table 3" and row.why_not and row.grid != "full"
    by_construction = [row for row in rows if row.published == 1.0]
    assert len(by_construction) == 3 and "by construction" in by_construction[0].why_not


def test_a_study_without_noise_says_how_to_have_it(make_store: MakeStore) -> None:
    plain = replace(GRID, label_noise=())
    said = answer(read_results(make_store(plain), plain.study()))
    assert said.is_missing and said.content == (Sentence(NO_NOISE, "missing"),)
    assert all(row.ours is None and row.grid == "not computed" for row in said.published)
    store = make_store(GRID)
    blank_column(store, "scores", "value", None)
    assert answer(read_results(store, GRID.study())).is_missing
