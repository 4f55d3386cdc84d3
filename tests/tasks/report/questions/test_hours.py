"""The hours of training and of each metric, memory and tries are those of the store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.store import Store
from tasks.log import model_log
from tasks.report import failed_tries as module
from tasks.report.failed_tries import KILLED, failed_tries
from tasks.report.questions import Sentence, Table
from tasks.report.questions.hours import answer
from tasks.report.results import read_results
from tasks.words import duration
from tests.tasks.report.conftest import Grid, MakeStore, blank_column


def test_hours_are_summed_per_method_and_metric(make_store: MakeStore) -> None:
    methods = {"beta_vae": (1.0, 4.0, 8.0), "factor_vae": (10.0,)}
    grid = Grid(methods=methods, seeds=4, steps=36_000, pictures=False, curves=False)
    store = make_store(grid)
    per_model = 0.07 * grid.steps
    content = answer(read_results(store, grid.study())).content
    finding, training, scored, metrics, slowest = content[1], *content[3:7]
    assert finding.text == (
        f"Training took {duration(32 * per_model)}, {duration(per_model)} per model; "
        "the metrics 64 seconds, of which FactorVAE score 50%."
    )
    assert [[cell.value for cell in row.cells[1:]] for row in training.rows] == [
        [12 * per_model] * 2,
        [4 * per_model] * 2,
    ]
    assert [[cell.value for cell in row.cells[1:]] for row in scored.rows] == [[24, 24], [8, 8]]
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


SMALL = Grid(
    data=("dsprites",), seeds=3, methods={"beta_vae": (1.0, 4.0)}, pictures=False, curves=False
)


def texts(store: Store, grid: Grid = SMALL) -> list[str]:
    content = answer(read_results(store, grid.study())).content
    return [part.text for part in content if isinstance(part, Sentence)]


def tables(store: Store, grid: Grid = SMALL) -> dict[str, Table]:
    content = answer(read_results(store, grid.study())).content
    return {
        part.caption or part.headings[0].text: part for part in content if isinstance(part, Table)
    }


def change(store: Store, column: str, values: list[object]) -> None:
    """Give the models of the first part other values."""
    part = store.parts("models")[0]
    rows = store.read("models", keys=[part]).to_pylist()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    store.write_part("models", part, columns | {column: values})


def test_memory_is_the_median_and_the_largest(make_store: MakeStore) -> None:
    store = make_store(SMALL)
    change(store, "memory_mb", [700.0, None, 1500.0])
    assert "The largest of 5 models took 1.5 GB of memory, the median 500 MB." in texts(store)
    of = tables(store)
    assert [cell.value for cell in of["Memory, median"].rows[0].cells] == ["beta_vae", 500.0]
    largest = of["The 5 models that took most memory"]
    assert [row.cells[2].value for row in largest.rows] == [1500.0, 700.0, 500.0, 500.0, 500.0]


def test_stores_of_older_versions_have_neither_memory_nor_tries(make_store: MakeStore) -> None:
    store = make_store(SMALL)
    blank_column(store, "models", "memory_mb", None)
    blank_column(store, "models", "tries", None)
    assert not [text for text in texts(store) if "memory" in text.lower()]
    assert texts(store)[-1] == "The store has no logs of tries."


def test_tries_are_grouped_by_the_reason_in_the_logs(make_store: MakeStore) -> None:
    grid = replace(SMALL, diverged={("dsprites", "beta_vae", 1.0, 2): "loss is not finite at 7"})
    store = make_store(grid)
    first = store.read("models", keys=store.parts("models")[:1])["model_id"].to_pylist()
    change(store, "tries", [3, 2, 1])
    for model_id, ends in zip(
        first, (["", "limit of 5 minutes"], ["limit of 8 minutes"]), strict=False
    ):
        log = model_log(store, model_id)
        for end in ends:
            log.add("training from step 0 of 9")
            if end:
                log.end(end, "no answer")
        log.add("training from step 3 of 9")
        log.add("trained, 3.0 s in all")
    tries = failed_tries(store, read_results(store, grid.study()).frames.models)
    assert [(r.reason, r.tries, r.models) for r in tries.reasons] == [
        ("limit of # minutes", 2, 2),
        ("diverged: loss is not finite at 7", 1, 1),
        (KILLED, 1, 1),
    ]
    assert (tries.known, tries.count) == (9, 4)
    assert "4 of 9 tries ended without weights." in texts(store, grid)
    table = tables(store, grid)["Tries that ended without weights"]
    assert first[0] in table.rows[0].cells[3].text


def test_only_so_many_logs_are_read(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_store(SMALL)
    blank_column(store, "models", "tries", 2)
    monkeypatch.setattr(module, "MOST_LOGS", 4)
    tries = failed_tries(store, read_results(store, SMALL.study()).frames.models)
    assert (tries.unread, tries.known, tries.count) == (2, 12, 0)
    assert texts(store)[-1].endswith("with its weights, as far as logs were read.")


def test_without_failed_tries_no_log_is_read(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store(SMALL)
    monkeypatch.delattr(module, "model_log")
    assert texts(store)[-1] == "Every try to train a model ended with its weights."
