"""`tolstoy serve` as a user starts it, and its API as a dashboard calls it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from data.base.cache import folder
from tests.processes import descendants, wait_until

COMMAND = (sys.executable, "-m", "flows.cli")
FIELD = {"study": "study", "plan": "study", "rank": "ranking", "report": "report"}
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
TINY = {
    "store": "tiny",
    "data": ["dsprites"],
    "methods": [{"method": "beta_vae", "strengths": [1]}],
    "seeds": 2,
    "training_steps": 60,
    "metrics": ["mig"],
    "changes": ["probe=64", "training.batch_size=8", "metrics.points=64"],
}


class Server:
    """One server with its own home folder, and the requests of its dashboard."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home, self.options = home, options
        self.port = free_port()
        self.start()

    @property
    def studies(self) -> Path:
        return self.home / "work" / "studies"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The caller's environment without settings of Prefect and Ray, with an empty home."""
        ours = {k: v for k, v in os.environ.items() if not re.match("PREFECT_|RAY_|TOLSTOY_", k)}
        home = {"HOME": str(self.home), "PREFECT_HOME": str(self.home / "prefect")}
        return {**ours, **home, "TOLSTOY_DATA": str(folder())}

    def start(self) -> None:
        (self.home / "work").mkdir(parents=True, exist_ok=True)
        self.log = self.home / "serve.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "serve", "--port", str(self.port), *self.options],
                cwd=self.home / "work",
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(lambda: "Ctrl-C ends" in self.log.read_text() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()

    def end(self, how: signal.Signals = signal.SIGINT) -> int:
        """End the server as a terminal does: a Ctrl-C goes to the whole process group."""
        if self.process.poll() is None:
            if how == signal.SIGINT:
                os.killpg(self.process.pid, how)
            else:
                self.process.send_signal(how)
        return self.process.wait(60)

    def processes(self) -> list[int]:
        return [pid for pid, _ in descendants(self.process.pid)]

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The answer of the API; for an error, its status code and text.

        While its SQLite file is locked it answers 503, and Prefect's own clients ask again as well.
        """
        for _ in range(20):
            answer = self._asked(method, path, body)
            if not (isinstance(answer, tuple) and answer[0] == 503):
                break
            time.sleep(0.5)
        return answer

    def _asked(self, method: str, path: str, body: object) -> Any:
        request = urllib.request.Request(
            f"{self.address}/api{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def trigger(self, name: str, **form: Any) -> Any:
        deployment = self.call("GET", f"/deployments/name/{name}/{name}")
        parameters = {"parameters": {FIELD[name]: form}}
        place = f"/deployments/{deployment['id']}/create_flow_run"
        return self.call("POST", place, parameters)

    def state(self, run: dict[str, Any]) -> dict[str, Any]:
        return dict(self.call("GET", f"/flow_runs/{run['id']}")["state"])

    def ended(self, run: dict[str, Any]) -> dict[str, Any]:
        """The state in which a run ended."""
        assert isinstance(run, dict), run
        wait_until(lambda: self.state(run)["type"] in ENDED)
        return self.state(run)

    def artifacts(self, run: dict[str, Any]) -> dict[str, Any]:
        wanted = {"flow_runs": {"id": {"any_": [run["id"]]}}}
        return {a["key"]: a["data"] for a in self.call("POST", "/artifacts/filter", wanted)}

    def logs(self, run: dict[str, Any]) -> str:
        wanted = {"logs": {"flow_run_id": {"any_": [run["id"]]}}}
        return "\n".join(log["message"] for log in self.call("POST", "/logs/filter", wanted))


def free_port() -> int:
    """A port whose next one is free as well."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            try:
                second.bind(("127.0.0.1", first.getsockname()[1] + 1))
            except OSError:
                continue
            return int(first.getsockname()[1])


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that do not end it."""
    running = Server(tmp_path_factory.mktemp("server"), "--cron", "0 2 * * *", "--preset", "mini")
    yield running
    running.end()
