"""UDR and fairness, with planted rank correlations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from tasks.report.published import FOUR, FOUR_WITH_FAIRNESS, UDR_WITH_FAIRNESS
from tasks.report.questions import Figures, Sentence
from tasks.report.questions.fairness import FAIRNESS, answer, mean_of, panels, with_fairness
from tasks.report.results import Column, Results, read_results
from tests.tasks.report.conftest import Grid, MakeStore

UDR = Column("lasso", "UDR, same strength", "cell")
UNFAIR = Column("fairness", "").id
GRID = Grid(
    data=("dsprites", "shapes3d"),
    methods=dict.fromkeys(("beta_vae", "beta_tcvae", "dip_vae_ii"), (1.0, 2.0)),
    seeds=5,
    steps=300_000,
    metrics=(*FOUR, "fairness"),
    pictures=False,
    curves=False,
)


@pytest.fixture
def results(make_store: MakeStore) -> Results:
    """UDR orders the models of dsprites by fairness and those of shapes3d against it."""
    results = read_results(make_store(GRID), GRID.study())
    models = results.models.copy()
    draws = np.random.default_rng(1)
    models[UDR.id] = draws.random(len(models))
    turned = models["data"].eq("shapes3d")
    models[UNFAIR] = np.where(turned, models[UDR.id] ** 3, 1 - models[UDR.id] ** 3)
    for name in FOUR:  # of shapes3d against fairness, too, of dsprites by chance
        metric = Column(name, "").id
        models[metric] = np.where(turned, models[UNFAIR], draws.random(len(models)))
    return replace(results, models=models)


def test_planted_signs(results: Results) -> None:
    """Fairness is the other way round from the metric's unfairness."""
    scores = [metric for metric in results.metrics if metric.name in FOUR]
    models = with_fairness(results.models)
    every = panels(models, [UDR, *scores])
    assert len(every) == 2 * 3
    for panel in every:
        rows = models[(models["data"] == panel.data) & (models["method"] == panel.method)]
        sign = -1 if panel.data == "shapes3d" else 1
        assert (panel.agreements[0].rho, panel.agreements[0].n) == (pytest.approx(sign), 10)
        assert panel.redrawn[:, 0] == pytest.approx(np.full(len(panel.redrawn), sign))
        for metric, agreement in zip(scores, panel.agreements[1:], strict=True):
            wanted = spearmanr(rows[metric.id], 1 - rows[UNFAIR]).statistic
            assert agreement.rho == pytest.approx(wanted)
    udr = mean_of(every, [0])
    assert udr and (udr.rho, udr.correlations, udr.models) == (pytest.approx(0), 6, 60)
    of_dsprites = mean_of(every[:3], [0])
    assert of_dsprites and of_dsprites.interval
    assert tuple(of_dsprites.interval) == (pytest.approx(1), pytest.approx(1))
    four = mean_of(every, [1, 2, 3, 4])
    assert four and four.interval and four.correlations == 24
    assert four.interval.low < four.rho < four.interval.high and four.interval.high < 0


def test_a_panel_per_method_and_data_set_and_the_papers_numbers(results: Results) -> None:
    answered = answer(results)
    (figures,) = (content for content in answered.content if isinstance(content, Figures))
    assert [len(group.figures) for group in figures.groups] == [3, 3]
    first = figures.groups[0].figures[0]
    assert (first.title, first.subtitle) == ("β-VAE", "ρ = 1.00, n = 10")
    assert (first.data[FAIRNESS.id] + results.models[UNFAIR]).dropna().eq(1).all()
    finding = answered.content[0]
    assert isinstance(finding, Sentence) and "<b>0.00</b>" in finding.text
    udr, four = answered.published
    assert (udr.published, four.published) == (UDR_WITH_FAIRNESS, FOUR_WITH_FAIRNESS)
    assert (udr.ours, udr.n) == (pytest.approx(0, abs=1e-12), 60)
    assert udr.grid == "partial grid", "two strengths of six"
    three = tuple(column for column in results.columns if column.name != "mig")
    udr, four = answer(replace(results, columns=three)).published
    assert four.ours is None and four.why_not == "3 of the four metrics are scored"


def test_without_fairness_it_says_so(results: Results) -> None:
    without = results.models.assign(**{UNFAIR: np.nan})
    answered = answer(replace(results, models=without))
    assert answered.is_missing and "fairness" in answered.content[0].text  # type: ignore[union-attr]
