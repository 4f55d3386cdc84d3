"""Stability of training dynamics by strength and latents, where the answer is planted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from metrics.dynamics import mmd
from tasks.report.dynamics import Cells, compared_cells, copies, subsets
from tasks.report.dynamics_trends import smallest_of, trend_of
from tasks.report.kendall import tau_between, tau_matrix
from tasks.report.questions import Answer, Figures, Sentence, Table
from tasks.report.questions.dynamics import answer
from tasks.report.results import DYNAMICS, Results, read_results
from tasks.report.swept_grids import HOLTZ, objectives, sweeps_latents
from tests.tasks.report.conftest import Grid, MakeStore, fill_dynamics

GRID = Grid(
    data=("dsprites",),
    methods={"beta_vae": (1.0, 4.0, 16.0)},
    latents=(2, 4, 8),
    seeds=4,
    metrics=("mig",),
    curves=False,
    pictures=False,
)
OF_LATENTS = {2: 0.2, 4: 0.1, 8: 0.3, 10: 0.0}


def planted(cell: Mapping[str, Any], one: int, other: int) -> float:
    """Lowest at 4 latents, rising with strength; pairs of distant seeds differ a little more."""
    return OF_LATENTS[cell["latents"]] + 0.01 * cell["strength"] + 0.001 * (other - one)


SEEDS = 0.001 * np.mean([other - one for one, other in combinations(range(4), 2)])


def results_of(make_store: MakeStore, grid: Grid = GRID, mmd2: Any = planted) -> Results:
    store = make_store(grid)
    fill_dynamics(store, mmd2)
    return read_results(store, grid.study())


def findings(answered: Answer) -> list[str]:
    return [c.text for c in answered.content if isinstance(c, Sentence) and c.kind == "finding"]


def figures(answered: Answer) -> list[Any]:
    drawn = [c for c in answered.content if isinstance(c, Figures)]
    return [figure for one in drawn for group in one.groups for figure in group.figures]


def table(answered: Answer, id_: str) -> Table:
    return next(c for c in answered.content if isinstance(c, Table) and c.id == id_)


def test_the_most_stable_cell_is_the_one_with_the_lowest_score(make_store: MakeStore) -> None:
    answered = answer(results_of(make_store))
    best, rise, smallest = findings(answered)
    assert "the most stable cell is β-VAE, 4 latents, β = 1, 0.112 (" in best
    assert "the least stable is β-VAE, 8 latents, β = 16, 0.462" in best
    assert "τ of β and the score is 1.00 (1.00 to 1.00)" in rise
    assert "3 numbers of latents; at 3 of them the score rises" in rise
    assert "lowest with 4 latents; with redrawn seeds it is so in 100% of draws" in smallest
    rows = table(answered, "dynamics-table").rows
    assert len(rows) == 9
    scores = [float(str(row.cells[2].value)) for row in rows]
    assert scores == sorted(scores)
    assert scores[0] == pytest.approx(0.11 + SEEDS)
    claims = next(c for c in answered.content if isinstance(c, Table) and not c.id)
    assert [row.cells[1].text for row in claims.rows] == [
        "The mean over strengths is lowest with 4.",
        "They do at 3 of 3, mean τ 1.00.",
    ]


def test_scores_that_fall_are_said_to_fall(make_store: MakeStore) -> None:
    falling = results_of(make_store, mmd2=lambda cell, *_: 1 / cell["strength"])
    _, rise, _ = findings(answer(falling))
    assert "score is −1.00" in rise and "at 0 of them" in rise
    equal = answer(results_of(make_store, mmd2=lambda *_: 0.5))
    assert not any("τ" in text for text in findings(equal))


def test_what_varies_is_drawn(make_store: MakeStore) -> None:
    """A figure against latents and one against strength; only those along which cells differ."""

    def titles(**changes: Any) -> list[str]:
        grid = replace(GRID, **changes)
        return [figure.title for figure in figures(answer(results_of(make_store, grid)))]

    assert [title.rpartition(" ")[2] for title in titles()] == ["latents", "β"]
    assert [t.rpartition(" ")[2] for t in titles(latents=(4,))] == ["β"]
    assert [t.rpartition(" ")[2] for t in titles(methods={"beta_vae": (4.0,)})] == ["latents"]
    assert titles(methods={"beta_vae": (4.0,)}, latents=(4,)) == []
    two = {"beta_vae": (1.0, 4.0), "factor_vae": (10.0, 40.0)}
    assert len(titles(methods=two, data=("dsprites", "cars3d"))) == 8


def test_a_figure_has_the_planted_numbers(make_store: MakeStore) -> None:
    of_latents, _ = figures(answer(results_of(make_store)))
    at = of_latents.data.set_index(["latents", "strength"])["dynamics"]
    for (latents, strength), score in at.items():
        assert score == pytest.approx(OF_LATENTS[latents] + 0.01 * strength + SEEDS)
    assert of_latents.drawing.points is not None and len(of_latents.drawing.points.rows) == 9
    assert len(set(of_latents.models)) == 36


def test_small_scores_are_drawn_times_a_power_of_ten(make_store: MakeStore) -> None:
    """3.2·10⁻⁵ would be five zeros on the scale."""
    results = results_of(make_store, mmd2=lambda cell, *_: 2e-6 * cell["strength"])
    answered = answer(results)
    assert "β = 16, 3.20·10⁻⁵ (3.20·10⁻⁵ to 3.20·10⁻⁵)" in findings(answered)[0]
    of_latents, _ = figures(answered)
    assert of_latents.title == "β-VAE: score × 10⁵ against latents"
    assert of_latents.data["dynamics"].max() == pytest.approx(3.2e-5), "as it is in the table"
    assert max(of_latents.drawing.points.values["Score × 10⁵"]) == pytest.approx(3.2)


def test_without_a_sweep_of_latents_they_are_not_named(make_store: MakeStore) -> None:
    best, rise = findings(answer(results_of(make_store, replace(GRID, latents=(10,)))))
    assert "the most stable cell is β-VAE, β = 1, " in best and "latents" not in best + rise
    assert "τ of β and the score is 1.00" in rise


def test_two_seeds_have_no_interval(make_store: MakeStore) -> None:
    answered = answer(results_of(make_store, replace(GRID, seeds=2)))
    assert not any(" to " in text for text in findings(answered))
    assert {row.cells[3].text for row in table(answered, "dynamics-table").rows} == {"–"}


def test_without_the_table_it_says_what_to_run(make_store: MakeStore) -> None:
    grid = replace(GRID, seeds=1)
    answered = answer(results_of(make_store, grid))
    assert answered.is_missing and "traces" in answered.content[0].text  # type: ignore[union-attr]


def test_every_model_of_a_cell_has_its_score(make_store: MakeStore) -> None:
    results = results_of(make_store)
    assert results.dynamics == DYNAMICS
    of_cell = results.models.groupby(["method", "strength"])[DYNAMICS.id]
    assert (of_cell.nunique() == 1).all()
    without = read_results(make_store(GRID), GRID.study())
    assert without.dynamics is None and without.models[DYNAMICS.id].isna().all()


def cells_of(make_store: MakeStore, **changes: Any) -> Cells:
    return compared_cells(results_of(make_store, replace(GRID, **changes)))


def test_redrawn_scores_are_those_of_the_drawn_seeds(make_store: MakeStore) -> None:
    """As metrics.dynamics draws them: two copies of one model are no pair."""
    cell = cells_of(make_store).compared[0]
    pairs = cell.pairs
    drawn = copies(4, 50, np.random.default_rng(0))
    for row, score in zip(drawn, cell.redrawn(drawn), strict=True):
        seeds = np.repeat(np.arange(4), row.astype(int))
        of_pairs = [pairs[a, b] for a, b in combinations(seeds, 2) if a != b]
        assert score == pytest.approx(np.mean(of_pairs)) if of_pairs else np.isnan(score)
    every = cell.redrawn(np.ones((1, 4)))[0]
    assert every == pytest.approx(mmd.mean_of_pairs(np.nan_to_num(pairs)))
    some = subsets(4, 3, 40, np.random.default_rng(1))
    assert (some.sum(axis=1) == 3).all() and len(np.unique(some, axis=0)) == 4


def test_the_share_of_draws_says_how_sure_the_lowest_is(make_store: MakeStore) -> None:
    """Where pairs differ far more than numbers of latents do, no number is sure."""

    def noisy(cell: Mapping[str, Any], one: int, other: int) -> float:
        name = f"{cell['latents']} {cell['strength']} {one} {other}"
        return 0.5 + np.random.default_rng(list(name.encode())).normal(0, 0.2)

    cells = compared_cells(results_of(make_store, mmd2=noisy))
    smallest, trend = smallest_of(cells, "x"), trend_of(cells, "x")
    assert smallest and smallest.share is not None and 0.2 < smallest.share < 1
    assert trend and trend.interval and trend.interval.low < trend.mean < trend.interval.high


def test_only_cells_of_the_paper_bear_on_its_claims(make_store: MakeStore) -> None:
    """2 and 4 of these latents are the paper's, 3 is not; 1 and 16 of the strengths, 5 is not."""
    methods = {"beta_vae": (1.0, 5.0, 16.0), "factor_vae": (10.0,)}
    models = results_of(
        make_store, replace(GRID, methods=methods, latents=(2, 3, 4)), lambda *_: 0.1
    ).models
    theirs = HOLTZ.members(models)
    assert set(objectives(theirs)) == {"beta_vae"}
    assert set(theirs["latents"]) == {2, 4} and set(theirs["strength"]) == {1, 16}
    assert sweeps_latents(models) and not sweeps_latents(models[models["latents"] == 3])


def test_tau_is_scipys() -> None:
    draws = np.random.default_rng(0)
    scores = draws.integers(0, 6, (5, 30)).astype(float)
    scores[0, :4] = np.nan
    scores[4] = 1.0
    tau = tau_matrix(scores)
    for one, other in combinations(range(5), 2):
        both = np.isfinite(scores[one]) & np.isfinite(scores[other])
        expected = kendalltau(scores[one][both], scores[other][both]).statistic
        np.testing.assert_allclose(tau[one, other], expected)
        np.testing.assert_allclose(tau_between(scores[[one]], scores[[other]])[0, 0], expected)
    assert np.isnan(tau[4]).all(), "all equal"


def test_one_swap_of_neighbours_among_36() -> None:
    order = np.arange(36.0)
    swapped = order.copy()
    swapped[[7, 8]] = swapped[[8, 7]]
    assert tau_matrix(np.stack([order, swapped]))[0, 1] == pytest.approx(1 - 2 / 630)


def test_the_paper_gives_a_frame_of_cells_by_name() -> None:
    named = pd.DataFrame(
        {"method": ["beta_vae-latents_4", "beta_vae", "pca-latents_4"], "latents": [4, 4, 2]}
    )
    assert list(objectives(named)) == ["beta_vae", "beta_vae", "pca-latents_4"]
