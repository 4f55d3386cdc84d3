"""How far models in training are: written by their workers, read by whoever waits."""

from __future__ import annotations

from pathlib import Path

from infra.store import Store
from tasks.study.survey import survey, totals
from tasks.study.under_way import FOLDER, forget_steps, steps_under_way, write_steps
from tests.flows.trained import made_up, models_of, train


def test_steps_are_read_until_they_are_forgotten(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert steps_under_way(store) == {}
    write_steps(store, "a", 20)
    write_steps(store, "b", 40)
    write_steps(store, "a", 60)
    assert steps_under_way(store) == {"a": 60, "b": 40}
    forget_steps(store, "a")
    forget_steps(store, "a")
    assert steps_under_way(store) == {"b": 40}


def test_a_damaged_file_and_a_store_that_cannot_be_written_raise_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write_bytes(b"\x00", FOLDER, "a")
    write_steps(store, "b", 40)
    assert steps_under_way(store) == {"b": 40}
    (tmp_path / "file").write_text("")
    store.root = str(tmp_path / "file" / "below")
    write_steps(store, "c", 1)
    forget_steps(store, "c")


def test_a_survey_counts_steps_of_models_that_ended_and_of_those_under_way(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store")
    models = models_of(study)
    steps = models[0].recipe.steps
    train(store, models[:1])
    write_steps(store, models[0].id, 1)  # it ended: what it reported before does not count
    write_steps(store, models[1].id, steps // 4)
    write_steps(store, models[2].id, 10 * steps)  # of a study with more steps
    states = survey(study, store)
    assert states[0].steps_left == steps - steps // 4
    assert states[1].steps_left == steps
    now = totals(states)
    assert (now["steps"], now["steps_left"]) == (6 * steps, 4 * steps - steps // 4)
