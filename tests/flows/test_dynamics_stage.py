"""The stage of a run that compares training dynamics: growth, what goes wrong, a killed worker."""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from flows import worker
from flows.cli import main
from flows.commands.run import run_study
from flows.driver import StudyRun
from flows.study import _submitted
from infra.errors import RUN_AGAIN, WrongInput
from infra.store import Store
from metrics.dynamics import Settings
from tasks.dynamics import compare_cell
from tasks.log import comparison_log
from tasks.study.dynamics import all_compared
from tasks.study.spec import Running, Study
from tasks.study.survey import survey
from tests.flows.conftest import start, tolstoy
from tests.flows.trained import STUDY, Inline, made_up, models_of, train
from tests.processes import descendants
from tests.tasks.made_traces import SECTION, write_traces

CELLS = ["dsprites-beta_vae-1", "dsprites-beta_vae-4", "dsprites-factor_vae-10"]


@pytest.fixture
def full(tmp_path: Path) -> tuple[Study, Store]:
    study, store = made_up(tmp_path / "store", traces=SECTION)
    train(store, models_of(study))
    write_traces(store, models_of(study))
    return study, store


def staged(study: Study, store: Store, workers: Any = None, lock: Any = None) -> StudyRun:
    """The dynamics stage of a run over all cells."""
    run = StudyRun(study, store, survey(study, store), lock)
    for cell in run.cells:
        run.dynamics(workers or Inline(), cell)
    return run


def stands(study: Study, store: Store) -> bool:
    return all_compared(study, store, survey(study, store))


def times(store: Store) -> dict[str, int]:
    return dict(store.listing("tables", "dynamics"))


def test_every_cell_is_compared_once(full: tuple[Study, Store]) -> None:
    study, store = full
    workers = Inline()
    run = staged(study, store, workers)
    assert workers.functions == ["dynamics"] * 3 and run.progress.troubles == []
    assert run.progress.todo["dynamics"] == run.progress.done["dynamics"] == 3
    assert "dynamics 3/3" in run.progress.line()
    assert store.parts("dynamics") == CELLS and stands(study, store)
    before, again = times(store), Inline()
    run = staged(study, store, again)
    assert again.called == [] and times(store) == before
    assert run.progress.done["dynamics"] == 3


def test_only_what_changed_is_compared_again(full: tuple[Study, Store]) -> None:
    study, store = full
    staged(study, store)
    grown = study.model_copy(update={"seeds": 3})
    new = [model for model in models_of(grown) if model.seed == 2 and model.strength != 4]
    train(store, new)
    write_traces(store, new)
    workers = Inline()
    staged(grown, store, workers)
    assert [call[2] for call in workers.called] == [CELLS[0], CELLS[2]]
    assert stands(grown, store)
    other, workers = grown.model_copy(update={"dynamics": Settings(t=3)}), Inline()
    staged(other, store, workers)
    assert [call[2] for call in workers.called] == CELLS and stands(other, store)


def test_a_study_without_traces_has_no_such_stage(
    full: tuple[Study, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store = full
    submitted = []
    for name in ("prepare", "train", "score", "compare", "dynamics"):
        stage = SimpleNamespace(submit=lambda *_, of=name, **__: submitted.append(of))
        monkeypatch.setattr(f"flows.study.{name}", stage)
    for traces, expected in ((SECTION, 3), (None, 0)):
        submitted.clear()
        with_traces = study.model_copy(update={"traces": traces})
        run = StudyRun(with_traces, store, survey(study, store))
        _submitted(run, Inline())  # type: ignore[arg-type]
        assert submitted.count("train") == 3 and submitted.count("dynamics") == expected
        assert run.progress.todo["dynamics"] == expected
        assert ("dynamics" in run.progress.line()) == bool(expected)


def test_models_without_traces_are_named(full: tuple[Study, Store]) -> None:
    study, store = full
    grown = study.model_copy(update={"seeds": 3})
    train(store, models_of(grown))
    lost = [models_of(grown)[2], *models_of(grown)[3:5]]
    write_traces(store, [model for model in models_of(grown) if model not in lost])
    for model in lost:
        store.write_bytes(b"damaged", "models", model.id, "traces.npz")
    run = staged(grown, store)
    assert run.progress.troubles == [
        f"1 of the 3 models of {CELLS[0]} have no readable traces ({lost[0].id}) and are left out "
        "of its dynamics",
        f"2 of the 3 models of {CELLS[1]} have no readable traces ({lost[1].id}, {lost[2].id}), "
        "so its dynamics are not compared",
    ]
    assert store.parts("dynamics") == [CELLS[0], CELLS[2]]


def test_what_fails_is_one_line_and_the_next_run_does_it(
    full: tuple[Study, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store = full
    with monkeypatch.context() as patched:
        patched.setattr("tasks.dynamics.free_memory_bytes", lambda: 5e4)
        run = staged(study, store)
    assert len(run.progress.troubles) == 3 and run.progress.done["dynamics"] == 3
    assert run.progress.troubles[0].startswith(
        f"{CELLS[0]} is not compared by its dynamics: dynamics: found {CELLS[0]}, which takes"
    )
    assert "--set dynamics.snapshots=... takes fewer" in run.progress.troubles[0]
    run = staged(study, store)
    assert run.progress.troubles == [] and stands(study, store)


def test_the_last_log_line_of_a_dead_worker_is_the_reason(full: tuple[Study, Store]) -> None:
    study, store = full

    def dies(uri: str, study: Study, cell: str, models: Any) -> None:
        comparison_log(Store(uri), cell).end("not done within 5 minutes", "here")
        raise OSError("the worker died")

    run = staged(study, store, Inline(dies))
    expected = f"{CELLS[0]} is not compared by its dynamics: not done within 5 minutes"
    assert run.progress.troubles[0] == expected


def test_a_full_disk_stops_the_run_and_no_cell_is_blamed(full: tuple[Study, Store]) -> None:
    study, store = full
    impatient = study.model_copy(update={"running": Running(storage_minutes=0)})

    def finds_it_full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "as the disk says")

    run = StudyRun(impatient, store, survey(impatient, store))
    run.storage.stopped = lambda: False
    with pytest.raises(WrongInput, match=RUN_AGAIN):
        run.dynamics(Inline(finds_it_full), CELLS[0])  # type: ignore[arg-type]
    assert run.progress.troubles == []


def test_the_status_counts_compared_cells(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = full
    run = StudyRun(study, store, survey(study, store))
    run.dynamics(Inline(), CELLS[1])  # type: ignore[arg-type]
    assert main(["status", store.root]) == 0
    assert "6 scored, 1 of 3 cells compared by dynamics, 0 left" in capsys.readouterr().out
    assert main(["status", store.root, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells_compared_by_dynamics"] == 1
    store.write_json(
        study.model_copy(update={"traces": None}).model_dump(mode="json"), "study.json"
    )
    assert main(["status", store.root]) == 0
    assert "dynamics" not in capsys.readouterr().out


def test_cells_without_a_score_are_named_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path, seeds=1, traces=SECTION, udr={"pools": []})
    train(store, models_of(study))
    assert run_study(study, store.root) == 0
    (line,) = [row for row in capsys.readouterr().err.splitlines() if "dynamics" in row]
    assert line == (
        "3 of 3 cells have no score of their training dynamics, as fewer than two of their models "
        f"have traces: {', '.join(CELLS)}."
    )


def test_memory_that_no_worker_has_is_one_line(
    full: tuple[Study, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store = full
    asked: list[Any] = []

    class Recording(Inline):
        def calls(self, function: Any, need: Any = None, *_: object, priority: int = 0) -> Any:
            asked.append(need)
            return super().calls(function)

    staged(study, store, Recording())
    assert {need.memory_gib for need in asked} == {0.125}
    store.remove_part("dynamics", CELLS[1])
    monkeypatch.setattr("tasks.dynamics_memory.memory_bytes", lambda *_: 9 * 2.0**30)
    workers = Inline()
    run = staged(study, store, workers)
    assert workers.called == []
    assert run.progress.troubles == [
        f"{CELLS[1]} is not compared by its dynamics: that takes 9.0 GiB of memory, and a worker "
        "can have 4.0. With --set dynamics.snapshots=... it takes less"
    ]


def test_a_cell_that_another_driver_compares_is_waited_for(
    full: tuple[Study, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.driver.CLAIM_SECONDS", 0.01)
    study, store = full

    class Other:
        """Holds a cell, and has compared it when it is asked for the third time."""

        asked = 0

        def claim(self, name: str) -> bool:
            if name == f"dynamics-{CELLS[1]}":
                self.asked += 1
                if self.asked == 3:
                    worker.dynamics(store.uri, study, CELLS[1], list(study.cells()[1].models))
                return self.asked > 3
            return True

        def release(self, name: str) -> None:
            pass

    workers = Inline()
    staged(study, store, workers, Other())
    assert [call[2] for call in workers.called] == [CELLS[0], CELLS[2]]


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_a_finished_study_starts_none(tmp_path: Path) -> None:
    spec, shape = tmp_path / "spec.yaml", (20, 150, 16)
    changes = {"traces": SECTION, "seeds": 4, "methods": {"beta_vae": [1]}, "udr": {"pools": []}}
    spec.write_text(yaml.safe_dump({**STUDY, **changes, "dynamics": {"points": 0}}))
    study, store = made_up(tmp_path / "store", **changes, dynamics={"points": 0})
    (cell,) = study.cells()
    train(store, cell.models)
    for model in cell.models:
        traces = np.random.default_rng(model.seed).normal(size=shape).astype(np.float32)
        write_traces(
            store,
            [model],
            traces=traces,
            steps=np.arange(shape[0]),
            layers=np.full(shape[2], "deep"),
            factors=np.zeros((shape[1], 2), np.int64),
        )
    process = start("run", spec, "--store", store.root, "--workers", 2)
    killed, deadline = 0, time.monotonic() + 120
    while not killed and time.monotonic() < deadline:
        for pid, name in descendants(process.pid):
            if name.startswith("ray::dynamics"):
                os.kill(pid, signal.SIGKILL)
                killed = pid
        time.sleep(0.02)
    out, err = process.communicate(timeout=240)
    assert killed and process.returncode == 0, err
    assert "dynamics 1/1" in err and "tolstoy rank" in out and "--by dynamics" in out
    expected = compare_cell(store, study.dynamics, cell.name, cell.models).result
    assert expected is not None
    rows = store.read("dynamics").to_pylist()
    assert [row["dynamics"] for row in rows] == [pytest.approx(expected.score, rel=1e-9)] * 4
    before = times(store)
    again = tolstoy("run", spec, "--store", store.root)
    assert again.returncode == 0 and "nothing to train, score or compare" in again.stderr
    assert times(store) == before
