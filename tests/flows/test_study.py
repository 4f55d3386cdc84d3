"""What Prefect receives about the run of a study."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

import flows.study
from flows.open_study import OpenStudy
from flows.study import study_flow
from infra.drivers.lock import DriverLock
from infra.store import Store
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
    for name in ("running_workers", "kept_updated", "displayed", "DashboardPage"):
        monkeypatch.setattr(flows.study, name, lambda *_: nullcontext())
    lock = DriverLock(store, 1.0, print)
    if took_over:
        lock.watch.removed.add("a dead driver's id")
    opened = OpenStudy(study, store, survey(study, store), finished=False, lock=lock)
    study_flow.fn(study, opened)
    before = ["close_crashed_runs", "run_stages", "report"]
    assert events == [*before, *(["close_crashed_runs"] if took_over else []), "close_ended_tasks"]
