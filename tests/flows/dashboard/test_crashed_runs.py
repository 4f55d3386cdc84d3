"""Runs that a crashed driver left Running. One that is killed is tested with `tolstoy serve`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.context import FlowRunContext
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.dashboard.crashed_runs import (
    CRASHED,
    END_NOT_RECEIVED,
    close_all_runs,
    close_crashed_runs,
    close_ended_tasks,
    tags_of,
)
from infra.store import Store
from tests.flows.serving import Server


def test_the_tags_name_the_store_wherever_it_is_called_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tags = tags_of(Store("studies/a"))
    assert tags == tags_of(Store(f"{tmp_path}/studies/a"))
    assert tags[0] == f"store:file://{tmp_path}/studies/a"
    assert set(tags).isdisjoint(tags_of(Store("studies/b")))


def test_neither_a_copy_nor_another_store_of_the_same_place_has_both_tags(tmp_path: Path) -> None:
    tags = tags_of(Store(tmp_path / "a"))
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    copied = tags_of(Store(tmp_path / "copy"))
    assert tags[0] != copied[0] and tags[1] == copied[1]
    shutil.rmtree(tmp_path / "a")
    other = tags_of(Store(tmp_path / "a"))
    assert tags[0] == other[0] and tags[1] != other[1]


def test_a_key_in_a_uri_stays_out_of_the_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.dashboard.crashed_runs._id_of", lambda store: "id")
    tags = " ".join(tags_of(Store("s3://KEYID:s3cret@bucket/studies/a?region=eu-west-1")))
    assert "s3cret" not in tags
    assert "bucket/studies/a" in tags


@flow
def closing(store: str, alone: bool) -> int:
    return close_crashed_runs(Store(store), alone)


def run_with_a_task(server: Server, store: str, state: str = "RUNNING") -> dict[str, Any]:
    """A run with a task, as a driver that crashes leaves it."""
    number = server.call("POST", "/flows/", {"name": "study"})["id"]
    body = {"flow_id": number, "tags": tags_of(Store(store)), "state": {"type": state}}
    run: dict[str, Any] = server.call("POST", "/flow_runs/", body)
    body = {"flow_run_id": run["id"], "task_key": "train", "dynamic_key": "0"}
    run["task"] = server.call("POST", "/task_runs/", {**body, "state": {"type": state}})["id"]
    return run


def task_of(server: Server, run: dict[str, Any]) -> str:
    return str(server.call("GET", f"/task_runs/{run['task']}")["state"]["type"])


def test_only_runs_of_this_store_are_closed(server: Server, tmp_path: Path) -> None:
    mine, other = str(tmp_path / "mine"), str(tmp_path / "mine-too")
    crashed = [run_with_a_task(server, mine), run_with_a_task(server, mine, "CANCELLING")]
    others = run_with_a_task(server, other)
    ended = run_with_a_task(server, mine, "COMPLETED")
    late = run_with_a_task(server, mine, "COMPLETED")
    state = {"state": {"type": "RUNNING"}, "force": True}
    server.call("POST", f"/task_runs/{late['task']}/set_state", state)
    with temporary_settings({PREFECT_API_URL: f"{server.address}/api"}):
        assert closing(mine, False) == 0
        assert server.state(crashed[0])["type"] == "RUNNING", "with another driver none is closed"
        assert closing(mine, True) == 2
        assert closing(mine, True) == 0
    for run in crashed:
        assert (server.state(run)["type"], server.state(run)["message"]) == ("CRASHED", CRASHED)
        assert task_of(server, run) == "CRASHED"
    assert (server.state(others)["type"], task_of(server, others)) == ("RUNNING", "RUNNING")
    assert (server.state(ended)["type"], task_of(server, ended)) == ("COMPLETED", "COMPLETED")
    assert (server.state(late)["type"], task_of(server, late)) == ("COMPLETED", "CRASHED")
    wanted = {"flow_runs": {"tags": {"all_": tags_of(Store(mine))}, "name": None}}
    runs = server.call("POST", "/flow_runs/filter", wanted)
    assert len(runs) == 7, "the runs that looked are tagged as well"


def test_a_finished_store_has_its_runs_closed_where_no_run_is_made(
    server: Server, tmp_path: Path
) -> None:
    mine, other = str(tmp_path / "finished"), str(tmp_path / "other")
    crashed, others = run_with_a_task(server, mine), run_with_a_task(server, other)
    assert close_all_runs(Store(mine)) == 0, "a temporary server is asked nothing"
    with temporary_settings({PREFECT_API_URL: f"{server.address}/api"}):
        assert close_all_runs(Store(mine)) == 1
    assert (server.state(crashed)["type"], task_of(server, crashed)) == ("CRASHED", "CRASHED")
    assert (server.state(others)["type"], task_of(server, others)) == ("RUNNING", "RUNNING")


@flow
def losing_a_message(server: Server) -> tuple[str, int]:
    """A run with a task whose last message did not arrive."""
    context = FlowRunContext.get()
    assert context and context.flow_run
    body = {"flow_run_id": str(context.flow_run.id), "task_key": "score", "dynamic_key": "lost"}
    task = server.call("POST", "/task_runs/", {**body, "state": {"type": "RUNNING"}})
    return str(task["id"]), close_ended_tasks(seconds=1)


def test_a_task_whose_end_was_not_received_is_closed_at_the_end_of_its_run(server: Server) -> None:
    with temporary_settings({PREFECT_API_URL: f"{server.address}/api"}):
        task, closed = losing_a_message(server)
    state = server.call("GET", f"/task_runs/{task}")["state"]
    assert (closed, state["type"], state["message"]) == (1, "COMPLETED", END_NOT_RECEIVED)
