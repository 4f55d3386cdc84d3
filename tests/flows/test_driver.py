"""How a stage handles what its workers return, without Ray."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ray.exceptions import RayTaskError, WorkerCrashedError

from flows.driver import StudyRun
from flows.worker import StoreNotMounted
from infra.errors import RUN_AGAIN, WrongInput
from infra.store import Store
from infra.workers import Decision, Resources, Workers
from tasks.log import model_log
from tasks.model_row import write_row
from tasks.study.model import TRAINED, Model
from tasks.study.reading import parse_study
from tasks.study.spec import Study
from tasks.study.survey import survey
from tasks.study.under_way import write_steps
from tests.flows.conftest import TINY
from tests.flows.trained import Inline, made_up, models_of
from tests.processes import wait_until


class FromAWorker(Exception):
    """Ray's way of handing on an error: the original is its cause."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def no_patience(**changes: Any) -> Study:
    return parse_study({**TINY, "running": {"storage_minutes": 0}, **changes})


def opened(study: Study, place: Path, does: Callable[..., object]) -> tuple[StudyRun, Any]:
    """A run over an empty store, and workers whose calls return what `does` returns."""
    store, workers = Store(place), Inline(does)
    run = StudyRun(study, store, survey(study, store))
    run.open(workers)  # type: ignore[arg-type]
    return run, workers


def raising(error: Exception) -> Callable[..., object]:
    def call(*_: object) -> object:
        raise error

    return call


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
@pytest.mark.parametrize("wrap", [lambda error: error, FromAWorker])
def test_a_full_disk_stops_the_run_and_no_model_is_blamed(
    tmp_path: Path, number: int, wrap: Callable[[Exception], Exception]
) -> None:
    error = wrap(OSError(number, "as the disk says"))
    run, workers = opened(no_patience(), tmp_path, raising(error))
    for stage, name in (("train", "dsprites-beta_vae-1"), ("compare", "dsprites-beta_vae")):
        with pytest.raises(WrongInput, match=RUN_AGAIN):
            getattr(run, stage)(workers, name)
        for state in run.cells.values():  # or there is nothing to compare
            state.status.update({model.id: "trained" for model in state.cell.models})
    assert run.store.read("models").num_rows == 0


def test_a_machine_without_the_store_s_drive_stops_the_run_and_no_model_is_blamed(
    tmp_path: Path,
) -> None:
    error = FromAWorker(StoreNotMounted("--store", "/drive", "another"))
    run, workers = opened(no_patience(), tmp_path, raising(error))
    with pytest.raises(WrongInput, match="--store: found '/drive'"):
        run.train(workers, "dsprites-beta_vae-1")
    assert len(workers.called) == 1
    assert run.store.read("models").num_rows == 0


def test_the_first_trained_and_the_first_scored_model_are_told_at_once(tmp_path: Path) -> None:
    told: list[str] = []
    run, workers = opened(no_patience(), tmp_path, lambda *_: "trained")
    run.progress.announce = told.append
    for cell in ("dsprites-beta_vae-4", "dsprites-beta_vae-1"):
        run.train(workers, cell)
        run.score(cell)
    of = "dsprites-beta_vae-4, seed 0"
    assert told == [f"First model trained: {of}", f"First model scored: {of}"]


def test_only_what_takes_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    run, _ = opened(no_patience(), tmp_path, lambda *_: "trained")
    run.progress.announce = told.append
    with run.announced_if_slow("quick"):
        pass
    monkeypatch.setattr("flows.driver.SLOW_SECONDS", 0.0)
    with run.announced_if_slow("slow"):
        wait_until(lambda: told, 30)
    assert told == ["slow"]


def test_a_disk_that_is_full_for_a_while_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.storage_wait.PROBE_SECONDS", 0.01)
    notes: list[str] = []
    asked: list[str] = []

    def train(uri: str, study: Study, model: Model) -> str:
        asked.append(model.id)
        notes.append(run.progress.note)
        if len(asked) < 4:
            raise FromAWorker(OSError(errno.ENOSPC, "full"))
        return "trained"

    run, workers = opened(parse_study(TINY), tmp_path, train)
    run.train(workers, "dsprites-beta_vae-1")
    first, second = (model.id for model in run.cells["dsprites-beta_vae-1"].cell.models)
    assert asked == [first, second, first, second, first], "each until it was done"
    assert run.cells["dsprites-beta_vae-1"].status == {first: "trained", second: "trained"}
    assert "No space left" in notes[3]
    assert "waiting up to 10 min" in notes[3]
    assert run.progress.note == "", "what is over is no longer shown"
    assert not list(tmp_path.glob("*.probe"))


def test_waiting_for_a_disk_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.storage_wait.PROBE_SECONDS", 0.01)
    study = no_patience(running={"storage_minutes": 0.005})
    run, workers = opened(study, tmp_path, raising(OSError(errno.EROFS, "")))
    with pytest.raises(WrongInput, match="Read-only file system"):
        run.train(workers, "dsprites-beta_vae-1")
    assert 3 < len(workers.called) < 60


def test_a_lost_worker_is_a_failed_model(tmp_path: Path) -> None:
    run, workers = opened(no_patience(), tmp_path, raising(WorkerCrashedError()))
    run.train(workers, "dsprites-beta_vae-1")
    rows = run.store.read("models").to_pylist()
    assert [row["status"] for row in rows] == ["failed", "failed"]
    beginning = "its worker died 4 times: WorkerCrashedError: "
    assert all(row["reason"].startswith(beginning) for row in rows)


@pytest.mark.parametrize(
    "error",
    [
        FromAWorker(ImportError("No module named 'torch'")),
        RayTaskError("train", "ImportError: No module named 'torch'", ImportError()),
    ],
)
def test_a_call_that_raised_is_a_failed_model_whose_worker_did_not_die(
    tmp_path: Path, error: Exception
) -> None:
    run, workers = opened(no_patience(), tmp_path, raising(error))
    run.train(workers, "dsprites-beta_vae-1")
    rows = run.store.read("models").to_pylist()
    assert [row["status"] for row in rows] == ["failed", "failed"]
    assert all("No module named 'torch'" in row["reason"] for row in rows)
    assert not any("died" in row["reason"] for row in rows)


def test_the_last_log_line_of_a_dead_worker_is_the_reason(tmp_path: Path) -> None:
    def train(uri: str, study: Study, model: Model) -> str:
        model_log(Store(uri), model.id).end("not done within 5 minutes", "here")
        raise WorkerCrashedError

    run, workers = opened(no_patience(running={"tries": 2}), tmp_path, train)
    run.train(workers, "dsprites-beta_vae-1")
    for row in run.store.read("models").to_pylist():
        assert row["reason"] == "its worker died 2 times: not done within 5 minutes"


def test_a_model_that_was_done_when_its_worker_died_is_not_given_up(tmp_path: Path) -> None:
    def train(uri: str, study: Study, model: Model) -> str:
        write_row(model, Store(uri), "trained")
        raise WorkerCrashedError

    run, workers = opened(no_patience(), tmp_path, train)
    run.train(workers, "dsprites-beta_vae-1")
    assert set(run.cells["dsprites-beta_vae-1"].status.values()) == {"trained"}
    assert set(run.store.read("models")["status"].to_pylist()) == {"trained"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"training": {"cpus_per_model": 3}}, "training.cpus_per_model: found 3.0; .* at most 2"),
        ({"metrics": {"memory_per_model": 9}}, "metrics.memory_per_model: found 9.0; .* at most 8"),
    ],
)
def test_resources_that_this_machine_lacks_are_refused_at_once(
    tmp_path: Path, changes: dict[str, Any], field: str
) -> None:
    study = no_patience(**changes)
    run = StudyRun(study, Store(tmp_path), survey(study, Store(tmp_path)))
    machines = [{"CPU": 2.0, "memory": 8 * 2.0**30}]
    workers = Workers(2, machines=machines)
    with pytest.raises(WrongInput, match=field):
        run.check(workers)
    workers.close()
    workers.cluster = "head:6379"
    run.check(workers)
    assert "no machine of the cluster has" in run.progress.note, "one may still come"


def test_what_is_trained_is_scored_beside_and_what_failed_is_not(tmp_path: Path) -> None:
    scored = []

    def train(uri: str, study: Study, model: Model) -> str:
        return "trained" if model.seed == 0 else "diverged"

    def score(uri: str, study: Study, model: Model) -> str:
        scored.append(model.seed)
        return "scored"

    study, store, workers = no_patience(), Store(tmp_path), Inline()
    calls = SimpleNamespace(train=train, score=score)
    run = StudyRun(study, store, survey(study, store), calls=calls)
    run.open(workers)  # type: ignore[arg-type]
    cell = "dsprites-factor_vae-10"
    run.train(workers, cell)
    assert run.progress.todo["score"] == 6 - 1
    run.score(cell)
    assert scored == [0]
    assert run.progress.done == {"train": 2, "score": 1}


def test_a_run_counts_the_steps_that_its_workers_report(tmp_path: Path) -> None:
    study, store = made_up(tmp_path)
    models = models_of(study)
    steps = models[0].recipe.steps
    write_steps(store, models[0].id, 1)  # of an earlier run
    run = StudyRun(study, store, survey(study, store))
    assert (run.progress.steps, run.progress.steps_done) == (8 * steps, 1), "FactorVAE's count 2"
    write_steps(store, models[0].id, steps // 2)
    write_steps(store, models[5].id, 3)
    with run.counting_steps(every=0.01):
        deadline = time.monotonic() + 30
        while run.progress.steps_done == 1 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert run.progress.steps_done == steps // 2 + 6
    assert "train 0/6 (6% of steps)" in run.progress.line()
    run.open(Inline())  # type: ignore[arg-type]
    run.train(Inline(lambda *_: TRAINED), run.cells[models[0].cell].cell.name)  # type: ignore[arg-type]
    assert run.progress.steps_done == 2 * steps + 6, "what was reported before counts once"


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("seeds", [(10, 0), (1, 0), (4, 0), (10, 1), (1, 1), (4, 1)]),  # FactorVAE takes longer
        ("cells", [(1, 0), (1, 1), (4, 0), (4, 1), (10, 0), (10, 1)]),
    ],
)
def test_models_are_ordered_as_the_spec_asks(
    tmp_path: Path, order: str, expected: list[tuple[float, int]]
) -> None:
    study = no_patience(running={"order": order})
    run, _ = opened(study, tmp_path, lambda *_: "trained")
    models = [model for cell in study.cells() for model in cell.models]
    ordered = sorted(models, key=lambda model: run.priorities[model.id])
    assert [(model.strength, model.seed) for model in ordered] == expected


def test_a_call_has_what_the_spec_gives_it(tmp_path: Path) -> None:
    study = no_patience(
        training={
            **TINY["training"],
            "cpus_per_model": 2,
            "gpus_per_model": 0.25,
            "memory_per_model": 1.5,
        },
        metrics={**TINY["metrics"], "memory_per_model": 3},
        running={"tries": 2},
    )
    needs: list[Resources] = []

    class Recording(Inline):
        def calls(self, function: Any, need: Any = None, *_: object, priority: int = 0) -> Any:
            needs.append(need)
            return super().calls(function)

    store, workers = Store(tmp_path), Recording(lambda *_: "trained")
    run = StudyRun(study, store, survey(study, store))
    run.open(workers)  # type: ignore[arg-type]
    run.train(workers, "dsprites-beta_vae-1")  # type: ignore[arg-type]
    assert needs[0] == Resources(cpus=1, gpus=0, memory_gib=3, tries=2), "scoring wants no GPU"
    assert needs[-1] == Resources(cpus=2, gpus=0.25, memory_gib=1.5, tries=2)


class Others:
    """Another driver holds these names for the first few times of asking."""

    def __init__(self, names: dict[str, int]) -> None:
        self.names = names
        self.mine: list[str] = []
        self.released: list[str] = []

    def claim(self, name: str) -> bool:
        self.names[name] = rounds = self.names.get(name, 0) - 1
        if rounds < 0:
            self.mine.append(name)
        return rounds < 0

    def release(self, name: str) -> None:
        self.released.append(name)


def test_work_that_another_driver_has_claimed_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.driver.CLAIM_SECONDS", 0.01)
    study, store = no_patience(), Store(tmp_path)
    others = Others({"merge-dsprites-beta_vae-1": 3})
    before: list[Any] = []

    class Asking(Inline):
        def calls(
            self, function: Any, need: Any = None, asked: Any = None, *_: object, priority: int = 0
        ) -> Any:
            before.append(asked)
            return super().calls(function)

    run = StudyRun(study, store, survey(study, store), others)  # type: ignore[arg-type]
    workers = Asking(lambda *_: "trained")
    run.open(workers)  # type: ignore[arg-type]
    run.train(workers, "dsprites-beta_vae-1")  # type: ignore[arg-type]
    first, second = run.cells["dsprites-beta_vae-1"].cell.models
    assert others.released == [f"models-{first.id}", f"models-{second.id}"]
    others.names[f"models-{first.id}"] = 1
    assert before[-1]("", study, first) is Decision.LATER
    assert before[-1]("", study, first) is Decision.NOW
    assert before[0]("", study, first) is Decision.NOW
    assert others.mine[-2:] == [f"models-{first.id}", f"scores-{first.id}"]
    run.score("dsprites-beta_vae-1")
    assert others.mine[-1] == others.released[-1] == "merge-dsprites-beta_vae-1"


def test_a_claim_on_a_full_disk_is_an_error_and_no_endless_wait(
    tmp_path: Path,
) -> None:
    study, store = no_patience(), Store(tmp_path)

    class Full(Others):
        def claim(self, name: str) -> bool:
            if super().claim(name):
                return True
            raise OSError(errno.EROFS, "Read-only file system")

    lock = Full({"merge-y": 10**6})
    run = StudyRun(study, store, survey(study, store), lock)  # type: ignore[arg-type]
    model = run.cells["dsprites-beta_vae-1"].cell.models[0]
    lock.names[f"models-{model.id}"] = 1
    decision = run._decide("models")("", study, model)
    assert isinstance(decision, OSError), "which is waited for as if its worker had said so"
    with pytest.raises(WrongInput, match="Read-only"), run._claimed("merge-y"):
        raise AssertionError("merged without a claim")
