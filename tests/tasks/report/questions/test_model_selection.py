"""What each score would choose, and Kendall's τ between scores, where the orders are planted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from infra.store import Store
from tasks.report.figures.heat import heat_map
from tasks.report.intervals import of_kendall
from tasks.report.model_choices import REVIEW, Ranking, chosen, rankings_of, signs_of
from tasks.report.questions import Figures, Sentence, Table
from tasks.report.questions.model_selection import answer
from tasks.report.results import Results, read_results
from tasks.report.swept_grids import CARBONNEAU
from tests.tasks.report.conftest import Grid, MakeStore

GRID = Grid(
    data=("cars3d", "smallnorb"),
    methods={"beta_vae": CARBONNEAU.strengths},
    latents=CARBONNEAU.latents,
    seeds=1,
    metrics=("mig", "sap", "modularity", "dcimig"),
    curves=False,
    pictures=False,
)
PLACES = {
    (strength, latents): 6 * i + j
    for i, strength in enumerate(CARBONNEAU.strengths)
    for j, latents in enumerate(CARBONNEAU.latents)
}


def place_of(row: Mapping[str, Any]) -> int:
    """Of a cell in the grid: 0 to 35."""
    return PLACES[row["strength"], row["latents"]]


Planted = Mapping[str, Callable[[Mapping[str, Any]], float]]


def plant(store: Store, planted: Planted, part: str = "score") -> None:
    for key in store.parts("scores"):
        rows = store.read("scores", keys=[key]).to_pylist()
        for row in rows:
            if row["metric"] in planted and row["part"] == part and row["factor"] is None:
                row["value"] = float(planted[row["metric"]](row))
        store.write_part("scores", key, {name: [row[name] for row in rows] for name in rows[0]})


def swapped(row: Mapping[str, Any]) -> int:
    """One swap of neighbours."""
    return {7: 8, 8: 7}.get(place_of(row), place_of(row))


ORDERS: Planted = {
    "mig": place_of,
    "sap": swapped,
    "modularity": lambda row: -place_of(row),
    "dcimig": lambda row: 0.5,
}


def results_of(make_store: MakeStore, planted: Planted = ORDERS, grid: Grid = GRID) -> Results:
    store = make_store(grid)
    plant(store, planted)
    return read_results(store, grid.study())


def tau_of(ranking: Ranking, one: str, other: str) -> float:
    place = {column.name: number for number, column in enumerate(ranking.columns)}
    return float(ranking.tau[place[one], place[other]])


def texts(results: Results) -> list[str]:
    content = answer(results).content
    return [c.text for c in content if isinstance(c, Sentence) and c.kind == "finding"]


def test_tau_of_planted_orders(make_store: MakeStore) -> None:
    cars, norb = rankings_of(results_of(make_store))
    for ranking in (cars, norb):
        assert len(ranking.cells) == 36 and ranking.unit == "36 models"
        assert tau_of(ranking, "mig", "sap") == pytest.approx(1 - 2 / 630)
        assert tau_of(ranking, "mig", "modularity") == pytest.approx(-1)
        assert np.isnan(tau_of(ranking, "mig", "dcimig")), "all equal: none"
        assert len(ranking.pairs) == 3


def test_equal_scores_are_ties(make_store: MakeStore) -> None:
    results = results_of(make_store, {**ORDERS, "sap": lambda row: place_of(row) // 6})
    ranking, _ = rankings_of(results)
    order = np.arange(36)
    expected = kendalltau(order, order // 6).statistic
    assert tau_of(ranking, "mig", "sap") == pytest.approx(expected)
    places = {column.name: chosen(ranking)[column.id] for column in ranking.columns}
    at = ranking.cells[["strength", "latents"]].apply(tuple, axis=1)
    assert [at[place] for place in places["mig"]] == [(100, 64)]
    assert {at[place] for place in places["sap"]} == {(100, n) for n in CARBONNEAU.latents}
    assert [at[place] for place in places["modularity"]] == [(0.001, 2)]
    assert places["dcimig"] == ()
    table = answer(results).content[-1]
    assert isinstance(table, Table)
    cells = {row.cells[0].text: row.cells[1].text for row in table.rows}
    assert cells["MIG"] == "β-VAE, 64 latents, β = 100"
    assert cells["SAP"].endswith("β-VAE, 8 latents, β = 100 and 3 more")
    assert cells["DCIMIG"] == "–"


def test_findings_name_pairs_and_choices(make_store: MakeStore) -> None:
    first, second, *_ = texts(results_of(make_store))
    assert first.startswith(
        "<b>Cars3D</b>: over 36 models the mean τ of 3 pairs of scores is −0.33"
    )
    assert "; 2 are below 0. SAP and MIG agree most, τ = 1.00 (0.99 to 1.00); " in first
    assert "Modularity agree least, τ = −1.00 (−1.00 to −0.99)" in first
    assert "3 scores choose 2 different cells of 36; 2 of them choose β-VAE, 64 latents" in second


def test_signs_are_compared_across_data_sets(make_store: MakeStore) -> None:
    """On SmallNORB one score is turned around: of three pairs two change their sign."""
    turned = {
        **ORDERS,
        "modularity": lambda row: (1 if row["data"] == "smallnorb" else -1) * place_of(row),
    }
    results = results_of(make_store, turned)
    signs = signs_of(*rankings_of(results))
    assert signs is not None
    assert (signs.same, signs.pairs, signs.same_strong, signs.strong) == (1, 3, 1, 3)
    assert (
        "the same sign on both for 1 of 3 pairs of scores, and for 1 of the 3" in texts(results)[-1]
    )
    claims = next(c for c in answer(results).content if isinstance(c, Table))
    assert [row.cells[1].text for row in claims.rows] == [
        "Different cells that are chosen: 2 on Cars3D; 1 on SmallNORB.",
        "2 of 6 τ are below 0.3, 2 below 0.",
        "1 of 3 signs are the same, 1 of 3 of the strong ones.",
    ]


def test_what_the_paper_says_is_compared_with_its_method_alone(make_store: MakeStore) -> None:
    """FactorVAE's scores are all higher, so that over both methods no two scores disagree."""

    def claims(grid: Grid, sign: int) -> list[str]:
        def higher(row: Mapping[str, Any]) -> int:
            return sign * place_of(row) + 1000 * ("factor_vae" in row["method"])

        planted = {"mig": lambda row: abs(higher(row)), "modularity": higher}
        content = answer(results_of(make_store, planted, grid)).content
        table = next(part for part in content if isinstance(part, Table))
        return [row.cells[1].text for row in table.rows]

    both = replace(GRID, methods={**GRID.methods, "factor_vae": CARBONNEAU.strengths})
    assert claims(both, -1) == claims(GRID, -1) != claims(GRID, 1)


def test_jemmig_is_its_normalised_part_and_more_is_better(make_store: MakeStore) -> None:
    grid = replace(GRID, metrics=("mig", "jemmig", "fairness"))
    store = make_store(grid)
    plant(
        store,
        {"mig": place_of, "jemmig": lambda r: -place_of(r), "fairness": lambda r: -place_of(r)},
    )
    plant(store, {"jemmig": place_of}, "normalised")
    ranking, _ = rankings_of(read_results(store, grid.study()))
    assert [c.title for c in ranking.columns] == ["MIG", "JEMMIG, normalised", "Unfairness"]
    assert tau_of(ranking, "mig", "jemmig") == pytest.approx(1)
    assert tau_of(ranking, "mig", "fairness") == pytest.approx(1), "less is better: turned"


def test_the_papers_17_columns_are_there(make_store: MakeStore) -> None:
    """And of our headlines those in another order than their parts."""
    names = tuple(dict.fromkeys(metric for metric, _ in REVIEW))
    grid = replace(GRID, metrics=(*names, "dci"))
    ranking, _ = rankings_of(results_of(make_store, {"irs": swapped}, grid))
    titles = [column.title for column in ranking.columns]
    assert titles[:17] == list(REVIEW.values())
    assert titles[17:] == ["IRS", "DCI disentanglement"]


def test_several_seeds_are_taken_at_their_median(make_store: MakeStore) -> None:
    """A third seed is far off: the mean would be in another order."""
    grid = replace(GRID, seeds=3)
    off = {
        **ORDERS,
        "sap": lambda row: place_of(row) if row["seed"] else 1000 - 99 * place_of(row),
    }
    ranking, _ = rankings_of(results_of(make_store, off, grid))
    assert ranking.unit == "36 medians of cells"
    assert tau_of(ranking, "mig", "sap") == pytest.approx(1)


def test_the_figure_has_every_tau(make_store: MakeStore) -> None:
    drawn = next(c for c in answer(results_of(make_store)).content if isinstance(c, Figures))
    figure = drawn.groups[0].figures[0]
    svg = figure.drawing.svg
    assert svg.count("<rect") == len(figure.data) == 9
    assert svg.count(">−100<") == 4, "the swap rounds to 100"
    assert "MIG</text>" in svg
    escaped = heat_map(["a<b"], np.array([[1.0]]), "x").svg
    assert "a&lt;b" in escaped


def test_without_a_sweep_of_latents_it_says_what_to_run(make_store: MakeStore) -> None:
    grid = replace(GRID, latents=(4,))
    one = answer(read_results(make_store(grid), grid.study()))
    assert one.is_missing and "tolstoy run carbonneau-2022" in one.content[0].text  # type: ignore[union-attr]
    few = replace(GRID, latents=(2, 4), methods={"beta_vae": (1.0,)})
    assert answer(read_results(make_store(few), few.study())).is_missing


def test_intervals_of_tau_hold_the_tau_of_the_population() -> None:
    """Of normal pairs with correlation r, τ is 2 / π · asin(r); 36 models."""
    draws = np.random.default_rng(0)
    r, held = 0.5, 0
    truth = 2 / np.pi * np.arcsin(r)
    for _ in range(400):
        x = draws.normal(size=36)
        y = r * x + np.sqrt(1 - r * r) * draws.normal(size=36)
        interval = of_kendall(float(kendalltau(x, y).statistic), 36)
        assert interval is not None
        held += interval.low <= truth <= interval.high
    assert 0.92 < held / 400 < 0.98
    whole = of_kendall(1.0, 36)
    assert whole is not None and whole.high == 1 and whole.low < 1 - 2 / 630
    assert of_kendall(0.5, 4) is None
