"""The automations of docs/dashboard.md: runs without heartbeats, and messages of failures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
import yaml

from tests.flows.conftest import write_spec
from tests.flows.serving import COMMAND, Server
from tests.processes import descendants, wait_until
from tests.tree import ROOT

DEPLOY = ROOT / "infra" / "deploy"
PAGE = (ROOT / "docs" / "dashboard.md").read_text(encoding="utf-8")
HEARTBEAT, WITHIN = 30, 45  # seconds; the shortest that Prefect allows, and less than two of it
BLOCK_ID = "00000000-0000-0000-0000-000000000000"
ADDRESS = "https://hooks.example/T0/B0"
ALIVE = "import time, prefect; prefect.flow(name='alive')(lambda: time.sleep(600))()"


@pytest.mark.parametrize("name", ["automations.yaml", "notify.yaml"])
def test_prefect_takes_the_files(name: str) -> None:
    from prefect.events.schemas.automations import AutomationCore

    automations = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))["automations"]
    for automation in automations:
        read = AutomationCore.model_validate(automation)
        assert read.enabled and read.actions
        assert read.model_dump(include={"name"}) == {"name": automation["name"]}


def test_the_deadline_is_three_heartbeats_of_the_default() -> None:
    from prefect.settings.models.flows import FlowsSettings

    (automation,) = yaml.safe_load((DEPLOY / "automations.yaml").read_text())["automations"]
    default = FlowsSettings.model_fields["heartbeat_frequency"].default
    assert f"each {default} s" in PAGE
    assert 3 * default < automation["trigger"]["within"] < 4 * default


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Of its own: automations see all runs of their server."""
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.end()


def environment_of(server: Server) -> dict[str, str]:
    heartbeat = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT)}
    return {**server.environment, **heartbeat, "PREFECT_API_URL": f"{server.address}/api"}


def create(server: Server, name: str, text: str) -> None:
    """Create an automation as the page says."""
    assert f"prefect automation create --from-file infra/deploy/{name}" in PAGE
    file = server.home / name
    file.write_text(text)
    prefect = [sys.executable, "-m", "prefect", "automation", "create", "--from-file", str(file)]
    subprocess.run(prefect, check=True, env=environment_of(server), capture_output=True, timeout=90)


def runs(server: Server) -> dict[str, Any]:
    return {run["name"]: run for run in server.call("POST", "/flow_runs/filter", {})}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_without_heartbeats_is_closed_and_one_with_them_is_not(own_server: Server) -> None:
    text = (DEPLOY / "automations.yaml").read_text(encoding="utf-8")
    create(own_server, "automations.yaml", text.replace("within: 600", f"within: {WITHIN}"))
    environment = environment_of(own_server)
    training = {"steps": 100_000, "batch_size": 8}
    spec = write_spec(own_server.home / "tiny.yaml", training=training)
    study = [*COMMAND, "run", str(spec), "--workers", "1", "--store", str(own_server.home / "tiny")]
    killed = subprocess.Popen(study, env=environment, cwd=own_server.home)
    alive = subprocess.Popen([sys.executable, "-c", ALIVE], env=environment)
    try:
        training_began = ("ray::train",)
        wait_until(lambda: any(n.startswith(training_began) for _, n in descendants(killed.pid)))
        killed.kill()
        killed.wait()
        died = time.monotonic()
        wait_until(lambda: runs(own_server)["tiny"]["state"]["type"] == "CRASHED", 240)
        assert time.monotonic() - died > WITHIN - HEARTBEAT - 1, (
            "the last heartbeat was before that"
        )
        assert "No heartbeat" in runs(own_server)["tiny"]["state"]["message"]
        wait_until(lambda: time.monotonic() > died + 2 * WITHIN, 240)
        (other,) = [run for name, run in runs(own_server).items() if name != "tiny"]
        assert other["state"]["type"] == "RUNNING"
    finally:
        for process in (killed, alive):
            process.kill()
            process.wait()


class Receiver(BaseHTTPRequestHandler):
    """What a chat's address does with a message."""

    messages: list[Any] = []  # noqa: RUF012

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.messages.append(json.loads(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_failures_are_sent_to_an_address(own_server: Server) -> None:
    receiver = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    try:
        (snippet,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
        assert ADDRESS in snippet
        snippet = snippet.replace(ADDRESS, f"http://127.0.0.1:{receiver.server_port}/")
        made = subprocess.run(
            [sys.executable, "-c", snippet],
            env=environment_of(own_server),
            capture_output=True,
            text=True,
            timeout=90,
            check=True,
        )
        text = (DEPLOY / "notify.yaml").read_text(encoding="utf-8")
        create(own_server, "notify.yaml", text.replace(BLOCK_ID, made.stdout.split()[-1]))
        for name, state in (("good", "COMPLETED"), ("bad", "FAILED"), ("gone", "CRASHED")):
            flow = own_server.call("POST", "/flows/", {"name": "study"})
            asked = {"flow_id": flow["id"], "name": name, "state": {"type": "RUNNING"}}
            place = f"/flow_runs/{own_server.call('POST', '/flow_runs/', asked)['id']}/set_state"
            ended = {"type": state, "name": state.title(), "message": f"{name} has ended"}
            own_server.call("POST", place, {"state": ended})
        wait_until(lambda: len(Receiver.messages) >= 2, 90)
        texts = sorted(message["text"] for message in Receiver.messages)
        assert len(texts) == 2, texts
        assert texts[0].startswith("bad: Failed\nbad has ended\n"), texts
        assert texts[1].startswith("gone: Crashed\ngone has ended\n"), texts
    finally:
        receiver.shutdown()
