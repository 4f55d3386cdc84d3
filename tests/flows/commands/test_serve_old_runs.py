"""`tolstoy serve --keep-days` removes runs that ended long ago, and no others."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.commands.serve import ServeOptions
from flows.dashboard.limits import Limits
from infra.errors import WrongInput
from infra.prefect_server import removal_of_old_runs
from tests.flows.serving import Server
from tests.processes import wait_until

DAYS = 30
RUNS = {  # state, and how many days ago it ended, or began if it has not ended
    "old and completed": ("COMPLETED", DAYS + 1),
    "old and crashed": ("CRASHED", 400),
    "old and running": ("RUNNING", 400),
    "old and scheduled": ("SCHEDULED", 400),
    "new and completed": ("COMPLETED", DAYS - 1),
    "new and failed": ("FAILED", 0),
}
REMOVED = {"old and completed", "old and crashed"}


def add(server: Server, name: str, state: str) -> str:
    """A run with a task, a line in its log and an artifact."""
    flow = server.call("POST", "/flows/", {"name": "study"})
    asked = {"flow_id": flow["id"], "name": name, "state": {"type": state}}
    run = str(server.call("POST", "/flow_runs/", asked)["id"])
    ended = {"state": {"type": state, "name": state.title()}, "force": True}
    server.call("POST", f"/flow_runs/{run}/set_state", ended)
    task = {"flow_run_id": run, "task_key": "train", "dynamic_key": name, "name": name}
    server.call("POST", "/task_runs/", task)
    line = {"name": "a", "level": 20, "message": name, "timestamp": "2026-01-01T00:00:00Z"}
    server.call("POST", "/logs/", [{**line, "flow_run_id": run}])
    key = name.replace(" ", "-")
    server.call("POST", "/artifacts/", {"key": key, "data": name, "flow_run_id": run})
    return run


def make_older(server: Server, run: str, days: int) -> None:
    """Set a run's times back, which no request can do."""
    back = f"-{days} days"
    with closing(sqlite3.connect(server.home / "prefect" / "prefect.db", timeout=30)) as database:
        for column in ("end_time", "start_time", "created"):
            text = f"{column} = strftime('%Y-%m-%d %H:%M:%f', {column}, ?)"
            changed = database.execute(
                f"UPDATE flow_run SET {text} WHERE id = ?", (back, run)
            ).rowcount
            assert changed == 1
        database.commit()


def there(server: Server) -> dict[str, set[str]]:
    """The names of the runs of studies, of their tasks, logs and artifacts."""
    runs: list[Any] = server.call("POST", "/flow_runs/filter", {})
    return {
        "runs": {run["name"] for run in runs},
        "tasks": {task["name"] for task in server.call("POST", "/task_runs/filter", {})},
        "logs": {log["message"] for log in server.call("POST", "/logs/filter", {})},
        "artifacts": {a["data"] for a in server.call("POST", "/artifacts/filter", {})},
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_runs_that_ended_long_ago_are_removed(tmp_path: Path) -> None:
    server = Server(tmp_path)
    try:
        ids = {name: add(server, name, state) for name, (state, _) in RUNS.items()}
        wait_until(lambda: all(names == RUNS.keys() for names in there(server).values()), 30)
        assert server.end() == 0
        for name, (_, days) in RUNS.items():
            make_older(server, ids[name], days)
        server.options = ("--keep-days", str(DAYS))
        server.start()
        kept = RUNS.keys() - REMOVED
        wait_until(lambda: there(server)["artifacts"] == kept, 60)
        assert there(server) == dict.fromkeys(("runs", "tasks", "logs", "artifacts"), kept)
    finally:
        server.end()


def test_the_server_is_told_by_its_own_settings() -> None:
    """Prefect reads them: of other names or values it would not say anything."""
    from prefect.settings.models.server.services import ServerServicesDBVacuumSettings

    with pytest.MonkeyPatch.context() as patch:
        for name, value in removal_of_old_runs(DAYS).items():
            patch.setenv(name, value)
        settings = ServerServicesDBVacuumSettings()
    assert settings.enabled_vacuum_types == {"events", "flow_runs", "orphans"}
    assert settings.retention_period == timedelta(days=DAYS)


@pytest.mark.parametrize("days", [0, -1, 10**9])
def test_wrong_days_are_refused(days: int) -> None:
    options = ServeOptions("127.0.0.1", 4200, Limits(), None, "smoke", keep_days=days)
    with pytest.raises(WrongInput, match=f"--keep-days: found {days}; accepted: a number of days"):
        options.check()


def test_the_database_of_another_server_is_that_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://10.0.0.1:4200/api")
    options = ServeOptions("127.0.0.1", 4200, Limits(), None, "smoke", keep_days=7)
    with pytest.raises(WrongInput) as refused:
        options.check()
    assert "DB_VACUUM_ENABLED=events,flow_runs" in str(refused.value)
    assert "DB_VACUUM_RETENTION_PERIOD=604800" in str(refused.value)
