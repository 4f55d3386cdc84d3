"""`tolstoy serve` starts, accepts or refuses runs, shows them, and leaves no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from flows.commands.serve import ServeOptions, serve, serve_reports
from flows.dashboard.deployments import CANCELLED
from flows.dashboard.forms import StudyForm
from flows.dashboard.limits import Limits
from flows.dashboard.runner import POLL_SECONDS
from infra.errors import WrongInput
from infra.store import Store
from tasks.study.sources import with_sources
from tasks.study.stored import STUDY_FILE
from tests.flows.serving import COMMAND, TINY, Server, free_port
from tests.flows.trained import LATENTS, POINTS, compared, models_of, train
from tests.processes import all_end, descendants, is_alive, wait_until

MADE_UP = {**TINY, "changes": [f"probe={POINTS}", f"latents={LATENTS}", "sources=[redrawn]"]}


def made_up(studies: Path, name: str) -> None:
    """A finished study, as the form makes it."""
    study = with_sources(StudyForm.model_validate(MADE_UP).study(Limits()))
    store = Store(studies / name)
    store.write_json(study.model_dump(mode="json"), STUDY_FILE)
    train(store, models_of(study))
    compared(study, store)


def test_a_finished_study_is_shown_at_once(server: Server) -> None:
    made_up(server.studies, "done")
    run = server.trigger("study", **{**MADE_UP, "store": "done"})
    ended = server.ended(run)
    assert (ended["type"], ended["message"]) == ("COMPLETED", "2 models: 2 trained, 2 scored")
    assert server.call("GET", f"/flow_runs/{run['id']}")["name"] == "study done"
    artifacts = server.artifacts(run)
    (cell,) = json.loads(artifacts["done-cells"])
    assert (cell["cell"], cell["trained"], cell["left"]) == ("dsprites-beta_vae-1", 2, 0)
    assert json.loads(artifacts["done-scores"])[0]["mig"] == "0.010"
    assert artifacts["done-progress"] == 100
    address = f"http://127.0.0.1:{server.port + 1}/done/report/index.html"
    assert address in artifacts["done-report"]
    with urllib.request.urlopen(address) as page:
        assert b"<html" in page.read()
    assert not (server.studies / "tiny").exists()

    run = server.trigger("plan", **{**MADE_UP, "store": "done"})
    assert "done-plan" in server.ended(run)["message"]
    assert "2 = 1 cell × 2 seeds" in server.artifacts(run)["done-plan"]

    run = server.trigger("rank", store="done")
    assert server.ended(run)["message"] == "2 models are ranked"
    assert (
        models_of(with_sources(StudyForm.model_validate(MADE_UP).study(Limits())))[0].id
        in (server.artifacts(run)["done-ranking"])
    )
    wait_until(lambda: "Finished in state Completed" in server.logs(run), 20)


def test_what_is_wrong_is_refused(server: Server) -> None:
    for form, message in (
        ({"preset": "nope"}, "'nope' is not one of"),
        ({"seeds": -1}, "less than the minimum"),
        ({"ray": "10.0.0.1:6379"}, "Additional properties"),
    ):
        status, text = server.trigger("study", **form)
        assert status == 409
        assert message in text
    run = server.trigger("study", store="../outside")
    ended = server.ended(run)
    assert ended["type"] == "FAILED"
    assert ended["message"].startswith("store: found")
    run = server.trigger("report", store="not-there")
    assert "accepted: a folder with study.json" in server.ended(run)["message"]
    assert "Traceback" not in server.log.read_text()


def test_the_schedule_is_off_until_switched_on(server: Server) -> None:
    (schedule,) = server.call("GET", "/deployments/name/study/study")["schedules"]
    assert schedule["schedule"]["cron"] == "0 2 * * *"
    assert schedule["parameters"] == {"study": {"preset": "mini"}}
    assert schedule["active"] is False


def test_the_dashboard_talks_to_its_own_server_and_to_no_other_page(server: Server) -> None:
    with urllib.request.urlopen(f"{server.address}/ui-settings") as answer:
        settings = json.load(answer)
    assert settings["api_url"] == "/api", "whatever port or tunnel it is opened through"
    assert settings["default_ui"] == "v1", "the other one calls a company outside"
    asking = urllib.request.Request(
        f"{server.address}/api/health", headers={"Origin": "http://elsewhere.example"}
    )
    with urllib.request.urlopen(asking) as answer:
        assert answer.headers.get("Access-Control-Allow-Origin") is None


def test_the_server_listens_on_the_loopback_interface_only(server: Server) -> None:
    pids = {server.process.pid, *server.processes()}
    listing = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("no ss here")
    places = [
        line.split()[3]
        for line in listing.stdout.splitlines()
        if any(f"pid={pid}," in line for pid in pids)
    ]
    assert len(places) >= 2
    assert all(place.startswith("127.0.0.1:") for place in places), places


def wrong(**changes: Any) -> str:
    asked: dict[str, Any] = {"host": "127.0.0.1", "port": 4200, "cron": None, "preset": "smoke"}
    with pytest.raises(WrongInput) as refused:
        serve(ServeOptions(**{**asked, "limits": Limits(), **changes}))
    return str(refused.value)


@pytest.mark.parametrize("zone", [":/etc/localtime", "PST8", "Europe/Berlim"])
def test_a_time_zone_without_an_iana_name_is_refused_before_anything_starts(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {**os.environ, "TZ": zone})
    monkeypatch.setattr("signal.signal", lambda *_: None)
    os.environ.pop("PREFECT_API_URL", None)
    monkeypatch.setattr("flows.commands.serve.database_file", lambda: None)
    monkeypatch.setattr("flows.commands.serve.serve_reports", Mock(side_effect=AssertionError))
    message = wrong(cron="0 2 * * *", port=free_port())
    assert message.startswith(f"TZ: found '{zone}'; accepted: with --cron the IANA name")


def test_wrong_options_are_refused_before_anything_starts(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", dict(os.environ))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    os.environ.pop("PREFECT_API_URL", None)
    monkeypatch.setattr("flows.commands.serve.database_file", lambda: None)
    assert wrong(port=server.port).startswith("--port: found")
    os.environ.pop("PREFECT_API_URL", None)
    message = wrong(port=server.port - 1)
    assert f"next one is for the reports: found {server.port} on" in message
    os.environ.pop("PREFECT_API_URL", None)
    assert wrong(port=0).startswith("--port: found 0")
    assert wrong(host="203.0.113.1", port=free_port()).startswith("--host: found")
    os.environ.pop("PREFECT_API_URL", None)
    assert wrong(cron="99", port=free_port()).startswith("--cron: found")
    assert wrong(preset="smok").startswith("--preset: found")
    assert wrong(limits=Limits(workers=0)).startswith("--workers: found 0")
    assert wrong(limits=Limits(allow_data="/not/there")).startswith("--allow-data: found")
    assert wrong(limits=Limits(studies=__file__)).startswith("--studies: found '/")
    assert wrong(limits=Limits(studies=" ")).startswith("--studies: found ' '")
    os.environ["PREFECT_API_URL"] = "garbage"
    assert wrong(port=free_port()).startswith("PREFECT_API_URL: found garbage (")
    os.environ.pop("PREFECT_API_URL", None)
    assert wrong(limits=Limits(ray="127.0.0.1:1")).startswith("--ray: found")
    assert wrong(limits=Limits(ray="127.0.0.1")).startswith("--ray: found '127.0.0.1'; accepted")
    for name in ("https://my.example", "my.example:80", "*", ""):
        assert wrong(allow_host=(name,)).startswith(f"--allow-host: found {name!r}")
    for address in ("HOST:4201", "http://[", "https://"):
        assert wrong(reports=address).startswith(f"--reports: found {address!r}")


@pytest.mark.parametrize(
    ("reports", "address"),
    [
        (None, "http://127.0.0.1:{}"),
        ("https://tolstoy.example/reports/", "https://tolstoy.example/reports"),
    ],
)
def test_reports_are_where_browsers_find_them(
    tmp_path: Path, reports: str | None, address: str
) -> None:
    limits, port = Limits(studies=str(tmp_path)), free_port()
    with ExitStack() as running:
        options = ServeOptions("127.0.0.1", port, limits, None, "smoke", reports, ("My.Example",))
        assert serve_reports(options, running) == address.format(port + 1)
        page = urllib.request.Request(f"http://127.0.0.1:{port + 1}/")
        for name in ("127.0.0.1", "my.example", *(["tolstoy.example"] if reports else [])):
            page.add_header("Host", name)
            with urllib.request.urlopen(page) as answer:
                assert b"There is no study yet" in answer.read()
        page.add_header("Host", "elsewhere.example")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(page)


def test_a_second_server_is_refused_with_the_address_of_the_first(server: Server) -> None:
    """With the same database, or as a client of the first one's Prefect server."""
    for settings in ({}, {"PREFECT_API_URL": f"{server.address}/api"}):
        second = subprocess.run(
            [*COMMAND, "serve", "--port", str(free_port())],
            cwd=server.home,
            env={**server.environment, **settings},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert second.returncode == 2
        (line,) = second.stderr.splitlines()
        assert f"{server.address} of " in line and f"pid {server.process.pid}" in line


def test_a_page_with_a_name_of_its_own_cannot_call_the_api(server: Server) -> None:
    page = urllib.request.Request(f"{server.address}/api/health", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        urllib.request.urlopen(page)
    assert b"--allow-host" in refused.value.read()


def test_a_study_that_waits_has_the_name_of_its_store(server: Server) -> None:
    deployment = server.call("GET", "/deployments/name/study/study")["id"]
    for form, name in (({"store": "mine"}, "study mine"), ({"preset": "mini"}, "study mini")):
        later = {"type": "SCHEDULED", "state_details": {"scheduled_time": "2099-01-01T00:00:00Z"}}
        asked = {"parameters": {"study": form}, "state": later}
        run = server.call("POST", f"/deployments/{deployment}/create_flow_run", asked)
        place = f"/flow_runs/{run['id']}"
        wait_until(lambda place=place, name=name: server.call("GET", place)["name"] == name, 20)
        server.call("DELETE", place)
    services = server.call("GET", "/admin/settings")["server"]["services"]
    assert not services["late_runs"]["enabled"], "it waits for its turn and is not late"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_study_runs_is_cancelled_and_continues(tmp_path: Path) -> None:
    server = Server(tmp_path, "--workers", "2", "--cron", "0 2 * * *")
    try:
        long = {**TINY, "store": "long", "training_steps": 4000}
        run = server.trigger("study", **long)
        helpers = under_way(server)
        server.call("POST", f"/flow_runs/{run['id']}/set_state", {"state": {"type": "CANCELLING"}})
        assert server.ended(run)["message"] == CANCELLED
        time.sleep(2 * POLL_SECONDS)
        assert server.state(run)["message"] == CANCELLED, "Prefect's own does not replace it"
        all_end(helpers, 20)

        switched = server.call("GET", "/deployments/name/study/study")
        place = f"/deployments/{switched['id']}/schedules/{switched['schedules'][0]['id']}"
        server.call("PATCH", place, {"active": True})
        assert server.end() == 0
        server.start()
        (schedule,) = server.call("GET", "/deployments/name/study/study")["schedules"]
        assert schedule["active"], "what was switched on stays on"
        assert server.state(run)["type"] == "CANCELLED", "runs survive a restart"

        again = server.trigger("study", **long)
        assert server.ended(again)["message"] == "2 models: 2 trained, 2 scored"
        assert "long-traversals" in server.artifacts(again)
    finally:
        server.end()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_server_takes_all_it_started_with_it(tmp_path: Path, how: signal.Signals) -> None:
    server = Server(tmp_path)
    server.trigger("study", **{**TINY, "training_steps": 100_000})
    under_way(server)
    started = server.processes()
    code = server.end(how)
    assert code == (-signal.SIGKILL if how == signal.SIGKILL else 0)
    all_end(started, 60)
    if how != signal.SIGKILL:
        assert "Traceback" not in server.log.read_text()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_runs_of_a_killed_driver_are_closed_by_the_next_driver(tmp_path: Path) -> None:
    server = Server(tmp_path)
    spec = ["smoke", "--set", "data=[dsprites]", "--set", "methods={beta_vae: [1]}"]
    spec += ["--set", "training.steps=20000", "--set", "seeds=2", "--store", "killed"]
    environment = {**server.environment, "PREFECT_API_URL": f"{server.address}/api"}
    arguments = [sys.executable, "-m", "flows.cli", "run", *spec]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(arguments, cwd=tmp_path, env=environment)

    def runs(state: str) -> list[Any]:
        wanted = {"flow_runs": {"state": {"type": {"any_": [state]}}}}
        return list(server.call("POST", "/flow_runs/filter", wanted))

    other = running(server, ["store:elsewhere"])
    first = second = None
    try:
        first = start()
        wait_until(lambda: is_training(first.pid))
        first.kill()
        first.wait()
        (crashed,) = [run for run in runs("RUNNING") if run["id"] != other]
        second = start()
        wait_until(lambda: is_training(second.pid))
        assert server.state(crashed)["type"] == "CRASHED"
        (now,) = [run for run in runs("RUNNING") if run["id"] != other]
        assert now["id"] != crashed["id"]
        tasks = {"flow_runs": {"id": {"any_": [crashed["id"]]}}}
        states = {task["state"]["type"] for task in server.call("POST", "/task_runs/filter", tasks)}
        assert states <= {"CRASHED", "COMPLETED"}
    finally:
        for driver in (first, second):
            if driver and is_alive(driver.pid):
                driver.terminate()
                driver.wait()
        server.end()


def running(server: Server, tags: list[str]) -> str:
    """A run that some other driver has under way."""
    flow = server.call("POST", "/flows/", {"name": "study"})
    body = {"flow_id": flow["id"], "tags": tags, "state": {"type": "RUNNING"}}
    return str(server.call("POST", "/flow_runs/", body)["id"])


def under_way(server: Server) -> list[int]:
    """Wait until a model is being trained; returns the processes that the run started."""
    wait_until(lambda: is_training(server.process.pid))
    (driver,) = [p for p, n in descendants(server.process.pid) if "spawn_main" in n]
    return [driver, *(pid for pid, name in descendants(driver) if not name.endswith("Agent"))]


def is_training(pid: int) -> bool:
    return any("ray::train" in name for _, name in descendants(pid))
