"""Rank correlations of dynamics with UDR and unfairness over cells, where the order is planted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from scipy.stats import spearmanr

from tasks.report.questions import Figures, Sentence, Table
from tasks.report.questions.dynamics_and_udr import answer
from tasks.report.results import Results, read_results
from tests.tasks.report.conftest import Grid, MakeStore, blank_column, fill_dynamics

GRID = Grid(
    data=("dsprites",),
    methods={"beta_vae": (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)},
    latents=(4,),
    seeds=3,
    metrics=("mig", "jemmig", "fairness"),
    curves=False,
    pictures=False,
)


def results_of(make_store: MakeStore, column: str, sign: int, grid: Grid = GRID) -> Results:
    """Cells as stable as their mean of a column is high (or low, where the sign is -1)."""
    store = make_store(grid)
    mean = read_results(store, grid.study()).models.groupby("strength")[column].mean()
    fill_dynamics(store, lambda cell, *_: 5 - sign * mean[cell["strength"]])
    return read_results(store, grid.study())


def findings(results: Results) -> list[str]:
    content = answer(results).content
    return [c.text for c in content if isinstance(c, Sentence) and c.kind == "finding"]


def cells_of(results: Results) -> dict[tuple[str, str], Any]:
    table = next(c for c in answer(results).content if isinstance(c, Table))
    return {
        (row.cells[1].text, heading.text): cell.value
        for row in table.rows
        for heading, cell in zip(table.headings[2:], row.cells[2:], strict=True)
    }


@pytest.mark.parametrize("sign", [1, -1])
def test_stability_that_follows_udr_agrees_with_it(make_store: MakeStore, sign: int) -> None:
    with_udr, _ = findings(results_of(make_store, "udr lasso cell", sign))
    rho = {1: "ρ = 1.00", -1: "ρ = −1.00"}[sign]
    assert f"“UDR, same strength”, over 6 cells: {rho} (" in with_udr


def test_stable_and_fair_cells_are_below_0(make_store: MakeStore) -> None:
    """Unfairness is not turned: where the stable cells are fair it is low."""
    _, with_unfairness = findings(results_of(make_store, "metric fairness", -1))
    assert "unfairness (less is better), over 6 cells: ρ = −1.00 (" in with_unfairness


def test_every_row_is_turned_so_that_more_is_better(make_store: MakeStore) -> None:
    results = results_of(make_store, "udr lasso cell", 1)
    means = results.models.groupby("strength").mean(numeric_only=True)
    cells = cells_of(results)

    def rho(one: str, other: str) -> float:
        return float(spearmanr(means[one], means[other]).statistic)

    unfairness = "metric fairness"
    assert cells["MIG", "Unfairness"] == pytest.approx(rho("metric mig", unfairness))
    assert cells["JEMMIG", "Unfairness"] == pytest.approx(-rho("metric jemmig", unfairness))
    assert cells["Stability of dynamics", "Unfairness"] == pytest.approx(
        rho("udr lasso cell", unfairness)
    )
    assert cells["UDR, same strength", "UDR, same strength"] is None
    assert cells["UDR, all strengths", "UDR, same strength"] == pytest.approx(
        rho("udr lasso method", "udr lasso cell")
    )


def test_the_scatter_has_a_point_per_cell(make_store: MakeStore) -> None:
    drawn = answer(results_of(make_store, "udr lasso cell", 1)).content[-1]
    assert isinstance(drawn, Figures)
    (figure,) = drawn.groups[0].figures
    assert len(figure.data) == 6 and figure.subtitle == "stability and UDR: ρ = 1.00, n = 6"
    assert figure.models is not None and len(figure.models) == 18


def test_published_numbers_keep_the_papers_sign(make_store: MakeStore) -> None:
    """Over the paper's cells: the strength 32 is none of them."""
    grid = replace(GRID, metrics=("mig", "beta_vae", "fairness"))
    rows = {
        r.what: r for r in answer(results_of(make_store, "metric fairness", -1, grid)).published
    }
    ours = rows["Rank correlation of unfairness and stability of dynamics"]
    assert (ours.ours, ours.published, ours.n) == (pytest.approx(-1), -0.72, 5)
    assert "of 625 models" in ours.why_not
    assert rows["Rank correlation of unfairness and MIG"].published == -0.66
    assert rows["Rank correlation of unfairness and FactorVAE score"].ours is None


def test_without_udr_or_fairness_it_says_so(make_store: MakeStore) -> None:
    grid = replace(GRID, metrics=("mig",), pools=())
    neither = answer(results_of(make_store, "metric mig", 1, grid))
    assert neither.is_missing
    only_udr = findings(
        results_of(make_store, "udr lasso cell", 1, replace(GRID, metrics=("mig",)))
    )
    assert len(only_udr) == 1
    store = make_store(GRID)
    fill_dynamics(store)
    blank_column(store, "ranks", "udr", None)
    (only_fairness,) = findings(read_results(store, GRID.study()))
    assert "unfairness" in only_fairness
