"""The hours of training and of each metric are those of the tables."""

from __future__ import annotations

from tasks.report.questions.hours import answer
from tasks.report.results import read_results
from tasks.words import duration
from tests.tasks.report.conftest import Grid, MakeStore, blank_column


def test_hours_are_summed_per_method_and_metric(make_store: MakeStore) -> None:
    methods = {"beta_vae": (1.0, 4.0, 8.0), "factor_vae": (10.0,)}
    grid = Grid(methods=methods, seeds=4, steps=36_000, pictures=False, curves=False)
    store = make_store(grid)
    per_model = 0.07 * grid.steps
    _, finding, training, metrics, slowest = answer(read_results(store, grid.study())).content
    assert finding.text == (
        f"Training took {duration(32 * per_model)}, {duration(per_model)} per model; "
        "the metrics 64 seconds, of which FactorVAE score 50%."
    )
    assert [[cell.value for cell in row.cells[1:]] for row in training.rows] == [
        [12 * per_model] * 2,
        [4 * per_model] * 2,
    ]
    assert [[cell.value for cell in row.cells[1:]] for row in metrics.rows] == [[32, 1], [32, 1]]
    assert len(slowest.rows) == 5 and "../cells/" in slowest.rows[0].cells[0].text


def test_seconds_of_metrics_are_no_finding(make_store: MakeStore) -> None:
    grid = Grid(seeds=3, pictures=False, curves=False)
    finding = answer(read_results(make_store(grid), grid.study())).content[1]
    assert finding.text.endswith(" per model."), "48 seconds"


def test_without_times_it_says_so(make_store: MakeStore) -> None:
    grid = Grid(pictures=False, curves=False)
    store = make_store(grid)
    blank_column(store, "models", "seconds", 0.0)
    assert answer(read_results(store, grid.study())).is_missing
