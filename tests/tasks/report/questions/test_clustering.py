"""Steps to learn a task beside UDR and scores, with planted orders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from tasks.report.questions import Figures, Sentence, Table
from tasks.report.questions.clustering import (
    BUDGET,
    DUAN,
    HOLTZ,
    LEARNED,
    OTHER_HUES,
    STEPS,
    SUCCESS,
    agreement,
    answer,
    reduction,
)
from tasks.report.results import Column, Results, read_results
from tests.tasks.report.conftest import Grid, MakeStore

UDR = Column("lasso", "UDR, same strength", "cell")
GRID = Grid(
    data=("scene",),
    sources={"scene": "look-alike"},
    methods={"beta_vae": (0.0, 0.01, 0.1, 1.0)},
    seeds=5,
    metrics=("mig", "jemmig", "clustering"),
    pictures=False,
    curves=False,
)


@pytest.fixture
def results(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> Results:
    """The higher a model's UDR the fewer steps, but the 4 lowest never learn: budget 3,000."""
    results = read_results(make_store(GRID), GRID.study())
    models = results.models.copy()
    order = np.random.default_rng(0).permutation(len(models))
    models[UDR.id] = (order + 1) / 100
    models[STEPS.id] = np.where(order < 4, 3000.0, 3000.0 - 100.0 * order)
    models["metric mig"], models["metric jemmig"] = order * 1.0, order * 1.0
    planted = models.assign(
        **{LEARNED.id: np.where(order < 4, 0.0, 1.0), BUDGET.id: 3000.0, SUCCESS.id: order / 20}
    )
    monkeypatch.setattr(
        Results,
        "with_parts",
        lambda self, wanted: planted.reindex(
            columns=[*planted.columns, *({c.id for c in wanted} - set(planted.columns))]
        ),
    )
    return replace(results, models=models)


def test_planted_order(results: Results) -> None:
    """Ties at the budget share a rank; what less is better of is turned."""
    of_udr = agreement(results.models, UDR)
    wanted = spearmanr(results.models[UDR.id], results.models[STEPS.id]).statistic
    assert (of_udr.rho, of_udr.n) == (pytest.approx(wanted), 20) and -1 < wanted < -0.99
    assert agreement(results.models, Column("mig", "MIG")).rho == pytest.approx(wanted)
    turned = agreement(results.models, Column("jemmig", "JEMMIG", direction=-1))
    assert turned.rho == pytest.approx(-wanted)


def test_reduction_from_the_lowest_udr_to_the_highest(results: Results) -> None:
    assert reduction(results.models, UDR) == (3000, 1100)
    equal = results.models.assign(**{UDR.id: 0.5})
    assert reduction(equal, UDR) is None
    two_best = results.models.assign(**{UDR.id: results.models[UDR.id].clip(upper=0.19)})
    assert reduction(two_best, UDR) == (3000, 1150)


def test_what_the_page_says(results: Results) -> None:
    content = answer(results).content
    finding = next(c.text for c in content if isinstance(c, Sentence) and c.kind == "finding")
    assert "with 16 of 20 models within 3,000 steps" in finding
    assert "needs 63% fewer than that with the lowest (1,100 and 3,000)" in finding
    assert "<b>−1.00</b>" in finding
    tables = [c for c in content if isinstance(c, Table)]
    assert len(tables[0].rows) == 4 and {row.cells[2].value for row in tables[0].rows} == {5}
    steps = [row.cells[3].value for row in tables[0].rows]
    by_cell = results.models.groupby("strength", sort=False)[STEPS.id].mean()
    assert steps == pytest.approx(by_cell.tolist())
    rhos = {row.cells[0].text: row.cells[1].value for row in tables[1].rows}
    assert rhos["MIG"] == pytest.approx(agreement(results.models, UDR).rho)
    assert rhos["JEMMIG"] == pytest.approx(-agreement(results.models, UDR).rho)


def test_where_no_agent_learned_success_is_compared(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = results.models.assign(**{STEPS.id: 3000.0, LEARNED.id: 0.0, BUDGET.id: 3000.0})
    never = never.assign(**{SUCCESS.id: 1 - never[UDR.id], OTHER_HUES.id: 0.0})
    monkeypatch.setattr(Results, "with_parts", lambda self, wanted: never)
    said = answer(replace(results, models=never))
    finding = next(c.text for c in said.content if isinstance(c, Sentence) and c.kind == "finding")
    assert "with 0 of 20 models within 3,000 steps. UDR and steps: no rank correlation" in finding
    assert "80% to 99% of the scenes of a model succeeded (of random clicks 5%)" in finding
    assert "UDR and this success: ρ = −1.00, n = 20 (" in finding
    figures = next(c for c in said.content if isinstance(c, Figures))
    assert SUCCESS.id in figures.groups[0].figures[0].data
    rows = {row.what: row for row in said.published}
    udr = rows["Rank correlation of UDR with steps to learn clustering"]
    assert udr.ours is None and udr.why_not.startswith("no rank correlation: all values are equal")


def test_published_numbers_are_beside_the_papers_strengths(results: Results) -> None:
    """Duan et al. have no β = 0. MONets are never comparable with VAEs."""
    rows = {row.what: row for row in answer(results).published}
    udr = rows["Rank correlation of UDR with steps to learn clustering"]
    assert (udr.published, udr.n, udr.published_n) == (-0.56, 15, 30)
    assert udr.ours == pytest.approx(
        agreement(results.models[results.models["strength"] > 0], UDR).rho
    )
    mig = rows["Rank correlation of MIG with steps to learn clustering"]
    assert (mig.published, mig.n, mig.published_n) == (-0.48, 20, 40)
    assert udr.grid == mig.grid == "other architecture"
    assert "15 of 30 models" in udr.why_not
    missing = rows["Rank correlation of FactorVAE score with steps to learn clustering"]
    assert missing.ours is None and missing.why_not == "not scored"
    assert len(DUAN.members(results.models)) == 15 and len(HOLTZ.members(results.models)) == 20


def test_a_study_without_agents_says_what_it_needs(make_store: MakeStore) -> None:
    grid = replace(GRID, data=("dsprites",), sources={}, metrics=("mig",))
    said = answer(read_results(make_store(grid), grid.study()))
    assert said.is_missing and "duan-2020-clustering" in said.content[0].text
    assert all(row.ours is None and row.grid == "not computed" for row in said.published)
