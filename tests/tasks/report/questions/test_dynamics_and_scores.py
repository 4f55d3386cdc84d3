"""Rank correlations of dynamics with scores, over cells with few or all seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from tasks.report import dynamics_correlations
from tasks.report.dynamics import Cells, compared_cells
from tasks.report.dynamics_correlations import correlations, seed_numbers
from tasks.report.published import DYNAMICS_WITH_SCORES
from tasks.report.questions import Sentence, Table
from tasks.report.questions.dynamics_and_scores import answer
from tasks.report.results import Column, Results, read_results
from tasks.report.swept_grids import HOLTZ
from tests.tasks.report.conftest import Grid, MakeStore, fill_dynamics

GRID = Grid(
    data=("dsprites",),
    methods={"beta_vae": (1.0, 2.0, 4.0, 8.0, 16.0)},
    latents=(4,),
    seeds=7,
    metrics=("mig", "jemmig", "unsupervised"),
    curves=False,
    pictures=False,
)


def made_up(cell: Mapping[str, Any], one: int, other: int) -> float:
    name = f"{cell['method']} {cell['strength']} {one} {other}"
    return 0.1 * np.log2(cell["strength"]) + np.random.default_rng([*name.encode()]).normal(0, 0.2)


def results_of(make_store: MakeStore, mmd2: Any = made_up, grid: Grid = GRID) -> Results:
    store = make_store(grid)
    fill_dynamics(store, mmd2)
    return read_results(store, grid.study())


def column(results: Results, name: str) -> Column:
    return next(metric for metric in results.metrics if metric.name == name)


def cells_and(results: Results, name: str = "mig") -> tuple[Cells, Column]:
    metric = column(results, name)
    return compared_cells(results, [metric]), metric


def slow(cells: Cells, metric: Column, drawn: list[tuple[int, ...]]) -> float:
    """Means over the drawn seeds of each cell, pair by pair."""
    stable, scores = [], []
    for cell, seeds in zip(cells.compared, drawn, strict=True):
        pairs = [cell.pairs[one, other] for one, other in combinations(seeds, 2)]
        stable.append(-np.mean(pairs))
        scores.append(metric.direction * cell.models[metric.id].iloc[list(seeds)].mean())
    return float(spearmanr(stable, scores).statistic)


def test_with_all_seeds_it_is_the_correlation_of_the_table(make_store: MakeStore) -> None:
    results = results_of(make_store)
    for name in ("mig", "jemmig"):
        cells, metric = cells_and(results, name)
        last = correlations(cells, metric, "x")[-1]
        expected = slow(cells, metric, [tuple(range(7))] * 5)
        assert last.rho == pytest.approx(expected)
        signed = metric.direction * cells.table[metric.id]
        assert last.rho == pytest.approx(spearmanr(-cells.table["dynamics"], signed).statistic)
        assert (last.seeds, last.every, last.cells) == (7, True, 5)
        assert last.interval and last.interval.low <= last.rho <= last.interval.high


def test_with_fewer_seeds_it_is_the_mean_over_draws(make_store: MakeStore) -> None:
    """Of 3 seeds with 2 drawn there are 3 pairs a cell: all 243 studies can be counted."""
    cells, metric = cells_and(results_of(make_store, grid=replace(GRID, seeds=3)))
    every = [
        slow(cells, metric, list(drawn)) for drawn in product(combinations(range(3), 2), repeat=5)
    ]
    monkey = pytest.MonkeyPatch()
    monkey.setattr(dynamics_correlations, "SEEDS", (2, 3, 5))
    monkey.setattr(dynamics_correlations, "DRAWS", 5000)
    few, all_ = correlations(cells, metric, "x")
    monkey.undo()
    assert (few.seeds, few.every, all_.seeds, all_.every) == (2, False, 3, True)
    assert few.rho == pytest.approx(np.mean(every), abs=4 * np.std(every) / np.sqrt(5000))
    assert few.deviation == pytest.approx(np.std(every), rel=0.05)


def test_numbers_of_seeds_are_the_papers_and_all(make_store: MakeStore) -> None:
    def numbers(seeds: int) -> list[int]:
        return seed_numbers(cells_and(results_of(make_store, grid=replace(GRID, seeds=seeds)))[0])

    assert [numbers(seeds) for seeds in (2, 5, 7, 11)] == [[2], [5], [5, 7], [5, 10, 11]]


def planted(make_store: MakeStore, sign: int) -> Results:
    """Cells as stable as their mean MIG is high, or the reverse."""
    grid = replace(GRID, metrics=("mig",))
    good = read_results(make_store(grid), grid.study()).models
    mig = good.groupby("strength")["metric mig"].mean()
    return results_of(make_store, lambda c, *_: 2 - sign * mig[c["strength"]], grid)


@pytest.mark.parametrize("sign", [1, -1])
def test_stable_cells_with_good_scores_agree(make_store: MakeStore, sign: int) -> None:
    answered = answer(planted(make_store, sign))
    finding, _, table = answered.content
    assert isinstance(finding, Sentence) and isinstance(table, Table)
    rho = {1: "1.00", -1: "−1.00"}[sign]
    assert (
        f"over 5 cells the stability of dynamics agrees most with MIG, ρ = {rho} (" in finding.text
    )
    assert [heading.text for heading in table.headings[3:]] == ["5 seeds", "7 seeds"]
    assert table.rows[0].cells[-1].value == pytest.approx(sign)


def test_several_methods_have_rows_of_their_own(make_store: MakeStore) -> None:
    methods = dict.fromkeys(("beta_vae", "beta_tcvae"), (1.0, 2.0, 4.0, 8.0, 16.0))
    table = answer(results_of(make_store, grid=replace(GRID, methods=methods))).content[-1]
    assert isinstance(table, Table)
    assert [(row.cells[1].text, row.cells[2].text) for row in table.rows] == list(
        product(("all methods", "β-VAE", "β-TCVAE"), ("MIG", "JEMMIG"))
    )


def test_few_cells_have_no_rank_correlation(make_store: MakeStore) -> None:
    few = answer(results_of(make_store, grid=replace(GRID, methods={"beta_vae": (1.0, 4.0)})))
    assert few.is_missing and "5 cells" in few.content[0].text  # type: ignore[union-attr]
    equal = answer(results_of(make_store, lambda *_: 0.5))
    assert equal.is_missing


def test_the_papers_numbers_stand_beside_ours(make_store: MakeStore) -> None:
    rows = answer(results_of(make_store)).published
    assert len(rows) == 9
    assert {row.published for row in rows} == {
        rho for of_seeds in DYNAMICS_WITH_SCORES.values() for rho, _ in of_seeds.values()
    }
    by_what = {row.what: row for row in rows}
    mig = by_what["Rank correlation of dynamics and MIG, 5 seeds"]
    assert mig.ours is not None and mig.published == 0.60 and mig.deviation == 0.07
    assert "of 625 models of the paper" in mig.why_not
    assert by_what["Rank correlation of dynamics and MIG, 10 seeds"].why_not.endswith(
        "has 7 models, not 10"
    )
    assert (
        by_what["Rank correlation of dynamics and BetaVAE score, 5 seeds"].why_not == "not scored"
    )


def test_over_the_papers_whole_grid_numbers_are_comparable(make_store: MakeStore) -> None:
    grid = replace(
        GRID,
        latents=HOLTZ.latents,
        seeds=25,
        steps=300_000,
        metrics=("mig",),
        pools=(),
        sources={"dsprites": "redrawn"},
    )
    study = grid.study().model_copy(update={"metrics": Grid().study().metrics})
    store = make_store(grid)
    fill_dynamics(store, made_up)
    rows = [row for row in answer(read_results(store, study)).published if row.ours is not None]
    assert [row.n for row in rows] == [25, 25, 25]
    assert {row.grid for row in rows} == {"full"}
    assert all(row.interval and row.published_interval for row in rows)
