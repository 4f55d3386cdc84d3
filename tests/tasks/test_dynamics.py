"""The dynamics of a cell, as the functions compute them from its models' traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.errors import WrongInput
from infra.store import Store
from metrics.dynamics import Dynamics, Settings, dynamics
from tasks.dynamics import compare_cell, score_cell
from tasks.dynamics_memory import first_shape, memory_gib
from tasks.streams import stream
from tasks.study.model import Cell
from tasks.study.spec import Study
from tests.flows.trained import made_up
from tests.tasks.made_traces import SAMPLES, SECTION, SNAPSHOTS, UNITS, traces_of, write_traces


@pytest.fixture
def made(tmp_path: Path) -> tuple[Study, Store, Cell]:
    """A study of three cells with three models each, and the cell whose models differ a little."""
    study, store = made_up(tmp_path / "store", seeds=3, traces=SECTION)
    write_traces(store, [model for cell in study.cells() for model in cell.models])
    return study, store, study.cells()[0]


def by_hand(traces: Any, **changed: Any) -> Dynamics:
    return dynamics(traces, Settings(**changed), lambda purpose: stream("dynamics", purpose))


def with_dynamics(study: Study, **changed: Any) -> Study:
    return study.model_copy(update={"dynamics": Settings(**changed)})


def test_rows_are_those_of_the_function(made: tuple[Study, Store, Cell]) -> None:
    study, store, cell = made
    assert score_cell(store, study, cell.name, cell.models) == []
    assert store.parts("dynamics") == [cell.name]
    expected = by_hand([traces_of(model) for model in cell.models])
    rows = store.read("dynamics").to_pylist()
    ids = [model.id for model in cell.models]
    assert [row["model_id"] for row in rows] == ids
    for place, row in enumerate(rows):
        others = [other for other in range(3) if other != place]
        assert row["dynamics"] == expected.score
        assert (row["low"], row["high"]) == expected.interval
        assert row["models"] == 3 and row["dimensions"] == 2 and row["samples"] == SAMPLES
        assert row["partners"] == [ids[other] for other in others]
        assert row["mmd2"] == [expected.pairs[place, other] for other in others]
        assert row["steps"] == [0, 100, 200, 300]
        assert row["factor_names"] == ["shape", "position"]
        factors = np.reshape(row["factors"], (SAMPLES, 2))
        np.testing.assert_array_equal(factors[:, 1], np.arange(SAMPLES))
        np.testing.assert_array_equal(factors[:, 0], np.arange(SAMPLES) % 3)
        points = np.reshape(row["embedding"], (SNAPSHOTS, SAMPLES, 2))
        np.testing.assert_allclose(points, expected.embeddings[place], rtol=1e-6)
        assert row["bandwidth"] == expected.bandwidth and row["residual"] == expected.residual
        assert Settings(**json.loads(row["settings"])) == study.dynamics
        assert row["seconds"] > 0


def test_models_that_share_a_base_are_more_stable(made: tuple[Study, Store, Cell]) -> None:
    study, store, _ = made
    scores = []
    for cell in study.cells():
        result = compare_cell(store, study.dynamics, cell.name, cell.models).result
        assert result is not None
        scores.append(result.score)
    assert scores[0] < scores[1] < scores[2]
    assert scores[0] < scores[2] / 100


def test_a_cell_does_not_depend_on_the_others_nor_on_the_order_of_its_models(
    made: tuple[Study, Store, Cell],
) -> None:
    study, store, cell = made
    score_cell(store, study, cell.name, cell.models)
    before = store.read("dynamics").drop_columns(["seconds"])
    for other in study.cells():
        score_cell(store, study, other.name, other.models)
    score_cell(store, study, cell.name, cell.models[::-1])
    assert store.read("dynamics", keys=[cell.name]).drop_columns(["seconds"]) == before


def test_settings_of_the_study_are_used(made: tuple[Study, Store, Cell]) -> None:
    study, store, cell = made
    changed = {"t": 3, "snapshots": 2, "layers": ("shallow",), "dimensions": 1}
    score_cell(store, with_dynamics(study, **changed), cell.name, cell.models)
    expected = by_hand(
        [traces_of(model)[..., 3:] for model in cell.models], **{**changed, "layers": None}
    )
    row = store.read("dynamics").to_pylist()[0]
    assert row["dynamics"] == pytest.approx(expected.score)
    assert row["steps"] == [0, 300] and len(row["embedding"]) == 2 * SAMPLES
    assert json.loads(row["settings"])["layers"] == ["shallow"]


def test_half_precision_is_read(made: tuple[Study, Store, Cell]) -> None:
    study, store, cell = made
    half = {model.id: traces_of(model).astype(np.float16) for model in cell.models}
    for model in cell.models:
        write_traces(store, [model], traces=half[model.id])
    result = compare_cell(store, study.dynamics, cell.name, cell.models).result
    assert result is not None
    assert result.score == by_hand([half[model.id] for model in cell.models]).score


@pytest.mark.parametrize("harm", ["missing", "cut", "not numbers", "other shape", "no npz"])
def test_models_without_readable_traces_are_left_out(
    harm: str, made: tuple[Study, Store, Cell]
) -> None:
    study, store, cell = made
    first, lost, last = cell.models
    place = ("models", lost.id, "traces.npz")
    if harm == "missing":
        store.remove(*place)
    elif harm == "cut":
        store.write_bytes(store.read_bytes(*place)[:-300], *place)
    elif harm == "not numbers":
        write_traces(store, [lost], traces=np.full((SNAPSHOTS, SAMPLES, UNITS), np.nan))
    elif harm == "other shape":
        write_traces(store, [lost], layers=np.array(["deep"]))
    else:
        store.write_bytes(b"traces", *place)
    assert score_cell(store, study, cell.name, cell.models) == [lost.id]
    rows = store.read("dynamics").to_pylist()
    assert [row["model_id"] for row in rows] == [first.id, last.id]
    assert rows[0]["dynamics"] == by_hand([traces_of(first), traces_of(last)]).score
    assert rows[0]["low"] is None and rows[0]["high"] is None
    store.write_bytes(b"", "models", last.id, "traces.npz")
    store.remove_part("dynamics", cell.name)
    assert score_cell(store, study, cell.name, cell.models) == [lost.id, last.id]
    assert store.parts("dynamics") == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"steps": np.arange(SNAPSHOTS)}, "other steps of"),
        ({"factors": np.zeros((SAMPLES, 2), np.int64)}, "other samples of"),
    ],
)
def test_traces_of_other_steps_or_samples_are_refused(
    changed: dict[str, Any], words: str, made: tuple[Study, Store, Cell]
) -> None:
    study, store, cell = made
    write_traces(store, [cell.models[1]], **changed)
    with pytest.raises(WrongInput, match=words) as raised:
        score_cell(store, study, cell.name, cell.models)
    assert cell.models[1].id in str(raised.value)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"snapshots": 9}, "dynamics.snapshots: found 9, for dsprites-beta_vae-1; .* at most 4"),
        ({"neighbours": 12}, "dsprites-beta_vae-1, traces: found 12 samples"),
        (
            {"layers": ("top",)},
            "dynamics.layers: found top, not in the traces; accepted: deep, shallow",
        ),
    ],
)
def test_settings_that_do_not_fit_the_traces(
    changed: dict[str, Any], line: str, made: tuple[Study, Store, Cell]
) -> None:
    study, store, cell = made
    with pytest.raises(WrongInput, match=line):
        score_cell(store, with_dynamics(study, **changed), cell.name, cell.models)
    assert store.parts("dynamics") == []


def test_what_does_not_fit_into_memory_is_refused_before_it_is_read(
    made: tuple[Study, Store, Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store, cell = made
    monkeypatch.setattr("tasks.dynamics.free_memory_bytes", lambda: 50_000.0)
    monkeypatch.setattr("tasks.dynamics.read_traces", lambda *_: pytest.fail("was read"))
    line = r"found dsprites-beta_vae-1, which takes .* of memory.* --set dynamics.snapshots=\.\.\."
    with pytest.raises(WrongInput, match=line):
        score_cell(store, study, cell.name, cell.models)


def test_memory_is_known_from_a_header(
    made: tuple[Study, Store, Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store, cell = made
    assert first_shape(store, cell.models) == (SNAPSHOTS, SAMPLES, UNITS)
    assert memory_gib(store, study.dynamics, cell.models) == 0.125
    store.write_bytes(b"no archive", "models", cell.models[0].id, "traces.npz")
    assert first_shape(store, cell.models) == (SNAPSHOTS, SAMPLES, UNITS)
    monkeypatch.setattr("tasks.dynamics_memory.memory_bytes", lambda *_: 3.3 * 2**30)
    assert memory_gib(store, study.dynamics, cell.models) == 3.375
    assert memory_gib(store, study.dynamics, cell.models[:1]) == 0
