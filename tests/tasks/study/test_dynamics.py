"""The section `dynamics` of a spec, and which cells count as compared."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from infra.errors import WrongInput
from infra.store import Store
from metrics.dynamics import Settings
from tasks.dynamics import score_cell
from tasks.study.dynamics import all_compared, cells_without_traces
from tasks.study.groups import is_finished
from tasks.study.reading import parse_study, read_study
from tasks.study.spec import Study, Udr
from tasks.study.stored import check_store, stored_study
from tasks.study.survey import survey
from tests.flows.trained import STUDY, made_up, models_of, train
from tests.tasks.made_traces import SECTION, write_traces


@pytest.fixture
def made(tmp_path: Path) -> tuple[Study, Store]:
    """A study all of whose models are trained, with traces."""
    study, store = made_up(tmp_path / "store", traces=SECTION)
    train(store, models_of(study))
    write_traces(store, models_of(study))
    return study, store


def stands(study: Study, store: Store) -> bool:
    return all_compared(study, store, survey(study, store))


def score(study: Study, store: Store) -> None:
    trained = {model.id for state in survey(study, store) for model in state.trained}
    for cell in study.cells():
        models = [model for model in cell.models if model.id in trained]
        score_cell(store, study, cell.name, models)


def test_settings_have_the_defaults_of_the_function_and_survive_a_store(tmp_path: Path) -> None:
    assert parse_study(STUDY).dynamics == Settings()
    changes = {"t": 20, "neighbours": 5, "layers": ["deep"], "kernel_bandwidth": None}
    study, store = made_up(tmp_path, dynamics=changes)
    assert study.dynamics == Settings(t=20, neighbours=5, layers=("deep",))
    plain = store.read_json("study.json")["dynamics"]
    assert plain["t"] == 20 and plain["layers"] == ["deep"] and plain["level"] == 0.95
    assert stored_study(store) == study


def test_an_older_store_has_the_defaults(tmp_path: Path) -> None:
    study, store = made_up(tmp_path)
    older = store.read_json("study.json")
    del older["dynamics"], older["traces"]
    store.write_json(older, "study.json")
    assert stored_study(store) == study
    assert store.read("dynamics").num_rows == 0 and stands(study, store)


def test_settings_are_set_on_the_command_line() -> None:
    study = read_study("smoke", ["dynamics.t=3", "dynamics.layers=deep"])
    assert study.dynamics == Settings(t=3, layers=("deep",))


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ({"t": 0}, "dynamics.t: found 0; accepted: a whole number from 1"),
        ({"t": "3"}, "dynamics.t: found '3'"),
        ({"neighbour": 3}, r"dynamics.neighbour: .*did you mean neighbours\?"),
        ({"level": 2.0}, "dynamics.level: found 2.0"),
        ([], "dynamics: found .*; accepted: a mapping"),
        (None, "dynamics: found None; accepted: a mapping"),
    ],
)
def test_what_is_wrong_is_named(section: Any, line: str) -> None:
    with pytest.raises(WrongInput, match=line):
        parse_study({**STUDY, "dynamics": section})


def test_other_settings_may_go_into_a_store_and_change_no_model(made: tuple[Study, Store]) -> None:
    study, store = made
    other = study.model_copy(update={"dynamics": Settings(t=3)})
    assert check_store(other, store), "the study file is written again"
    assert models_of(other) == models_of(study)


def test_a_spec_is_read_without_scipy() -> None:
    code = "import sys, tasks.study.reading; sys.exit('scipy' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_cell_counts_if_it_was_made_from_just_its_models_and_settings(
    made: tuple[Study, Store],
) -> None:
    study, store = made
    assert not stands(study, store)
    score(study, store)
    assert stands(study, store)
    assert not stands(study.model_copy(update={"dynamics": Settings(t=3)}), store)
    grown = study.model_copy(update={"seeds": 3})
    assert stands(grown, store), "its third models are not trained yet"
    new = [model for model in models_of(grown) if model.seed == 2]
    train(store, new)
    assert stands(grown, store), "as long as the new ones have no traces"
    write_traces(store, new)
    assert not stands(grown, store)
    score(grown, store)
    assert stands(grown, store)
    assert {row["models"] for row in store.read("dynamics").to_pylist()} == {3}


def test_a_study_is_finished_when_its_dynamics_are_compared(made: tuple[Study, Store]) -> None:
    study, store = made
    study = study.model_copy(update={"udr": Udr(similarities=())})
    assert not is_finished(study, store, survey(study, store))
    assert is_finished(study.model_copy(update={"traces": None}), store, survey(study, store))
    score(study, store)
    assert is_finished(study, store, survey(study, store))


def test_models_without_traces_are_not_waited_for(made: tuple[Study, Store]) -> None:
    study, store = made
    score(study, store)
    lost = study.cells()[0].models[0]
    store.remove("models", lost.id, "traces.npz")
    assert stands(study, store), "what was compared from it stays"
    store.remove_part("dynamics", lost.cell)
    assert stands(study, store), "one model cannot be compared"
    assert cells_without_traces(study, store, survey(study, store)) == [lost.cell]


@pytest.mark.parametrize("harm", ["lost", "cut"])
def test_a_lost_part_is_noticed(harm: str, made: tuple[Study, Store]) -> None:
    study, store = made
    score(study, store)
    name = store.parts("dynamics")[1]
    if harm == "lost":
        store.remove_part("dynamics", name)
    else:
        place = ("tables", "dynamics", f"{name}.parquet")
        store.write_bytes(store.read_bytes(*place)[:-20], *place)
    assert not stands(study, store)
    assert cells_without_traces(study, store, survey(study, store)) == []


def test_embeddings_are_not_read_to_know_that_all_is_compared(
    made: tuple[Study, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store = made
    score(study, store)
    states = survey(study, store)
    monkeypatch.setattr(Store, "read_bytes", lambda *_: pytest.fail("a whole file was read"))
    monkeypatch.setattr(Store, "exists", lambda *_: pytest.fail("a file was looked for"))
    assert all_compared(study, store, states)
    monkeypatch.setattr(Store, "narrow_part", lambda *_: pytest.fail("a part was read"))
    without = study.model_copy(update={"traces": None})
    assert all_compared(without, store, states)
