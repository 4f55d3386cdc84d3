"""What Prefect receives about the run of a study."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from threading import Timer
from typing import Any
from uuid import uuid4

import pytest
from prefect._internal.engine import resolve_custom_flow_run_name
from prefect.exceptions import TerminationSignal, UnfinishedRun
from prefect.futures import PrefectConcurrentFuture
from prefect.states import Failed, Pending, State

import flows.study
from flows.open_study import OpenStudy
from flows.study import INTERRUPTED, RunResult, complete_study, study_flow
from flows.worker import StoreNotMounted
from infra.drivers.lock import DriverLock
from infra.store import Store
from infra.workers import Stopped
from tasks.study.reading import parse_study
from tasks.study.survey import survey
from tests.flows.trained import made_up


def test_a_key_in_a_stores_uri_is_not_sent_to_prefect() -> None:
    store = Store("s3://KEY:SECRET@bucket/x?scheme=http&endpoint_override=127.0.0.1:1")
    assert "SECRET" in store.uri
    study = parse_study({"name": "n", "data": ["dsprites"], "methods": {"beta_vae": [1]}})
    parameters = {"study": study, "store": store, "holder": DriverLock(store, 1.0, print)}
    sent = json.dumps(study_flow.serialize_parameters(parameters))
    assert "dsprites" in sent
    assert "KEY" not in sent and "SECRET" not in sent


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(15), TerminationSignal(15), Stopped()]
)
def test_a_run_that_was_told_to_end_is_cancelled_with_our_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    study, store = made_up(tmp_path / "store")

    def interrupted(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(flows.study, "complete_study", interrupted)
    opened, result = OpenStudy(study, store, [], finished=False), RunResult()
    state = study_flow.fn(study, opened, None, None, result)
    assert (state.name, state.message) == ("Cancelled", INTERRUPTED)
    assert result.interrupted


def test_a_stage_that_was_stopped_is_cancelled_and_the_run_stops() -> None:
    class StudyRun:
        def score(self, name: str) -> None:
            raise Stopped

    state = flows.study.score.fn(StudyRun(), "a cell")
    assert state.name == "Cancelled"
    with pytest.raises(Stopped):
        flows.study.wait_for_stages([ended(None), *(ended(state) for _ in range(600))])


def stage() -> PrefectConcurrentFuture[Any]:
    """A stage that Prefect was given and that has not ended."""
    return PrefectConcurrentFuture(uuid4(), Future())


def ended(state: State[Any] | None) -> PrefectConcurrentFuture[Any]:
    future = stage()
    future.wrapped_future.set_result(state)
    return future


def test_an_error_of_a_stage_ends_the_run_while_earlier_stages_go_on() -> None:
    slow, quick = stage(), stage()
    error = StoreNotMounted("--store", "/drive", "another")
    fails = Timer(0.1, quick.wrapped_future.set_result, [Failed(data=error)])
    ends = Timer(10, slow.wrapped_future.set_result, [None])
    fails.start()
    ends.start()
    try:
        with pytest.raises(StoreNotMounted):
            flows.study.wait_for_stages([slow, *(ended(None) for _ in range(600)), quick])
        assert not slow.wrapped_future.done()
    finally:
        ends.cancel()


def test_the_error_is_that_of_the_stage_that_failed_not_of_those_that_wait_for_it() -> None:
    failed = ended(Failed(data=StoreNotMounted("--store", "/drive", "another")))
    waiting = [ended(Pending(name="NotReady")) for _ in range(100)]
    with pytest.raises(StoreNotMounted):
        flows.study.wait_for_stages([failed, *waiting])
    with pytest.raises(StoreNotMounted):
        flows.study.wait_for_stages([*waiting, failed])
    with pytest.raises(UnfinishedRun):
        flows.study.wait_for_stages(waiting)


def test_a_run_has_the_name_of_its_store(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "dash1")
    parameters = {"study": study, "opened": OpenStudy(study, store, [], finished=False)}
    assert study.name != "dash1"
    assert resolve_custom_flow_run_name(study_flow, parameters) == "dash1"


@pytest.mark.parametrize("took_over", [False, True])
def test_a_driver_that_took_over_closes_the_crashed_runs_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, took_over: bool
) -> None:
    study, store = made_up(tmp_path / "store")
    events: list[str] = []

    def record(name: str) -> Callable[..., str]:
        return lambda *_, **__: events.append(name) or name

    for name in ("run_stages", "close_crashed_runs", "close_ended_tasks", "report"):
        monkeypatch.setattr(flows.study, name, record(name))
    for name in ("StartedWorkers", "kept_updated", "displayed", "DashboardPage"):
        monkeypatch.setattr(flows.study, name, lambda *_: nullcontext())
    lock = DriverLock(store, 1.0, print)
    if took_over:
        lock.watch.removed.add("a dead driver's id")
    opened = OpenStudy(study, store, survey(study, store), finished=False, lock=lock)
    complete_study(study, opened)
    before = ["close_crashed_runs", "run_stages", "report"]
    assert events == [*before, *(["close_crashed_runs"] if took_over else []), "close_ended_tasks"]
