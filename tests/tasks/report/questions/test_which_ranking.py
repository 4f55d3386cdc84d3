"""Rankings without labels side by side, where it is planted how far each agrees with labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata

from tasks.report.questions import Sentence
from tasks.report.questions.which_ranking import answer
from tasks.report.results import read_results
from tasks.report.side_by_side import CELLS, MODELS, Comparison, compare
from tasks.report.weighted_ranks import choices, places, weighted_ranks
from tests.tasks.report.conftest import Grid, MakeStore, fill_dynamics, without

GRID = Grid(
    data=("dsprites",),
    methods={"beta_vae": (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)},
    seeds=4,
    metrics=("mig", "fairness"),
    curves=False,
    pictures=False,
)


def compared(make_store: MakeStore, grid: Grid = GRID, sign: int = 1) -> list[Comparison]:
    """ELBO as MIG, a reconstruction error that is least where MIG is, UDR as it is made up, and
    cells as stable as their mean MIG is high (or low, where the sign is -1)."""
    store = make_store(grid)
    first = read_results(store, grid.study()).models
    mean = first.groupby(["data", "strength"])["metric mig"].mean()
    fill_dynamics(store, lambda cell, *_: 5 - sign * mean[cell["data"], cell["strength"]])
    results = read_results(store, grid.study())
    mig = results.models["metric mig"]
    models = results.models.assign(elbo=mig, reconstruction=mig)
    return compare(replace(results, models=models))


def rho(comparison: Comparison, title: str, score: str = "MIG") -> float:
    row = [ranking.title for ranking in comparison.rankings].index(title)
    column = [s.title for s in comparison.scores].index(score)
    return float(comparison.once.rho[0, row, column])


@pytest.mark.parametrize("sign", [1, -1])
def test_signs_are_turned_so_that_1_is_agreement(make_store: MakeStore, sign: int) -> None:
    over = {comparison.unit: comparison for comparison in compared(make_store, sign=sign)}
    for comparison in over.values():
        assert rho(comparison, "ELBO") == pytest.approx(1)
        assert rho(comparison, "Reconstruction") == pytest.approx(-1)
    assert rho(over[CELLS], "Training dynamics") == pytest.approx(sign)
    titles = [ranking.title for ranking in over[MODELS].rankings]
    assert "Training dynamics" not in titles, "models of a cell share their number"
    assert (over[MODELS].units, over[CELLS].units) == (24, 6)


def test_the_choice_of_a_perfect_ranking_is_the_best(make_store: MakeStore) -> None:
    for comparison in compared(make_store):
        titles = [ranking.title for ranking in comparison.rankings]
        place = comparison.once.place[0, :, 0]
        assert place[titles.index("ELBO")] == pytest.approx(1)
        assert place[titles.index("Reconstruction")] == pytest.approx(0)
        assert comparison.chosen[titles.index("ELBO"), 0] == pytest.approx(comparison.best[0])


def test_intervals_hold_the_number(make_store: MakeStore) -> None:
    for comparison in compared(make_store):
        for row in range(len(comparison.rankings)):
            for column in range(len(comparison.scores)):
                interval = comparison.rho_interval(row, column)
                value = comparison.once.rho[0, row, column]
                assert (interval is None) == bool(np.isnan(value))
                if interval:
                    assert interval.low - 1e-9 <= value <= interval.high + 1e-9


def test_without_dynamics_cells_are_compared_by_the_others(make_store: MakeStore) -> None:
    store = make_store(GRID)
    without("dynamics")(store)
    results = read_results(store, GRID.study())
    for comparison in compare(results):
        assert all(not ranking.of_cells for ranking in comparison.rankings)
    notes = [c.text for c in answer(results).content if isinstance(c, Sentence)]
    assert any("section `traces`" in text and "[centrality]" in text for text in notes)


def test_each_data_set_is_compared_by_itself(make_store: MakeStore) -> None:
    grid = replace(GRID, data=("dsprites", "cars3d"))
    found = [(c.key[0], c.unit) for c in compared(make_store, grid)]
    assert sorted(found) == sorted((d, u) for d in grid.data for u in (MODELS, CELLS))


def test_ranks_with_weights_are_those_of_repeated_units() -> None:
    draws = np.random.default_rng(0)
    values = draws.integers(0, 4, 9).astype(float)
    weights = draws.multinomial(9, np.full(9, 1 / 9), size=5).astype(float)
    for ranks, counts in zip(
        weighted_ranks(values[None], weights), weights.astype(int), strict=True
    ):
        repeated = rankdata(np.repeat(values, counts))
        assert np.repeat(ranks, counts) == pytest.approx(repeated)


def test_units_that_share_the_first_place_share_the_choice() -> None:
    values, ones = np.array([[1.0, 3.0, 3.0, 0.0]]), np.ones((1, 4))
    chosen = choices(values, ones)
    assert chosen.tolist() == [[0, 0.5, 0.5, 0]]
    assert places(chosen, np.array([[0.0, 1.0, 0.5, 0.2]]), ones).tolist() == [0.75]
    assert np.isnan(choices(np.ones((1, 4)), ones)).all(), "equal numbers choose nothing"
