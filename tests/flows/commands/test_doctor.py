"""What the doctor finds, says and keeps to itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from base64 import b64encode
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from flows.cli import main
from flows.commands import doctor
from flows.commands.doctor import Finding, masked, print_checks
from infra.drivers.liveness import as_bytes, lock_file, record
from infra.drivers.lock import driver_lock
from infra.store import Store
from tests.flows.trained import made_up, models_of, train

ROOT = Path(__file__).parents[3]
SECRET = "hunter22"
ALLOWED = "Basic " + b64encode(f"bob:{SECRET}".encode()).decode()


# the whole -----------------------------------------------------------------------------------


def whole(*options: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flows.cli", "doctor", *map(str, options)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        timeout=100,
    )


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    """What answers as Prefect does to bob, and refuses others."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            allowed = self.headers.get("Authorization") == ALLOWED
            known = self.path == "/api/admin/version"
            self.send_response(404 if not known else 200 if allowed else 401)
            self.end_headers()
            self.wfile.write(json.dumps(version("prefect")).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/api"
    server.shutdown()
    thread.join()


def test_this_machine_is_well(api: str) -> None:
    done = whole(PREFECT_API_URL=api, PREFECT_API_AUTH_STRING=f"bob:{SECRET}")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    verdicts = [line.split()[0] for line in lines[:-2]]
    assert set(verdicts) <= {"ok", "warn"}
    for name in ("packages", "memory", "room: studies", "room: data", "room: Ray"):
        assert sum(line[6:].startswith(name) for line in lines) == 1, name
    for name in ("data sets", "prefect", "ray  ", "torch"):
        assert sum(line[6:].startswith(name) for line in lines) == 1, name
    assert f"server {version('prefect')} at {api}" in done.stdout
    assert f"{version('torch')}; GPUs: " in done.stdout
    assert SECRET not in done.stdout + done.stderr
    assert lines[-1].startswith(f"{len(lines) - 2} checks: 0 fail")


def test_what_fails_exits_with_1_and_keeps_secrets(tmp_path: Path) -> None:
    address = f"http://bob:{SECRET}@127.0.0.1:9/api"
    secrets = {
        "PREFECT_API_AUTH_STRING": f"bob:{SECRET}",
        "RAY_AUTH_TOKEN": "a-long-ray-token",
        "AWS_SECRET_ACCESS_KEY": "an-aws-secret",
    }
    store = f"file://{tmp_path}/a-long-ray-token/an-aws-secret"
    done = whole("--json", "--store", store, PREFECT_API_URL=address, **secrets)
    assert done.returncode == 1, done.stdout + done.stderr
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["prefect"]["verdict"] == "fail"
    assert "http://***@127.0.0.1:9/api does not answer" in checks["prefect"]["found"]
    assert "unset PREFECT_API_URL" in checks["prefect"]["advice"]
    assert "a token in RAY_AUTH_TOKEN" in checks["ray"]["found"]
    assert checks["store"]["found"].startswith(f"file://{tmp_path}/***/***")
    assert json.loads(done.stdout)["fails"] == 1
    for secret in (SECRET, "a-long-ray-token", "an-aws-secret"):
        assert secret not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://u:p@host/api", "http://***@host/api"),
        ("https://token@host", "https://***@host"),
        ("http://u:p@ss@host:1/x and s3://k:s@b/c", "http://***@host:1/x and s3://***@b/c"),
        (
            "s3://b/c?access_key=A&secret_key=B&region=eu",
            "…key=***&secret_key=***&region=eu",
        ),
        ("http://h/api?Token=x", "http://h/api?Token=***"),
        ("a@b.c at http://host/p", "a@b.c at http://host/p"),
        ("two\n lines", "two lines"),
    ],
)
def test_no_secret_of_an_address_is_shown(text: str, shown: str) -> None:
    assert masked(text).endswith(shown.removeprefix("…"))


def test_a_check_that_crashes_fails_and_the_others_are_made(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def crash() -> Finding:
        raise RuntimeError(f"no\nsuch thing at http://u:{SECRET}@h/")

    assert print_checks({"ray": crash, "torch": lambda: Finding("ok", "there")}, json=False) == 1
    crashed, well, _, total = capsys.readouterr().out.splitlines()
    assert crashed.startswith("fail  ray ")
    assert "this check crashed: RuntimeError: no such thing at http://***@h/" in crashed
    assert well.split() == ["ok", "torch", "there"]
    assert total == "2 checks: 1 fail, 0 warn"


def test_a_place_that_cannot_be_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--store", "nosuch://x"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


@pytest.mark.slow
def test_one_task_on_what_a_run_starts() -> None:
    done = whole("--deep", "--json", PREFECT_API_URL="")
    assert done.returncode == 0, done.stdout + done.stderr
    (check,) = (c for c in json.loads(done.stdout)["checks"] if c["name"] == "one task")
    assert check["verdict"] == "ok"
    assert check["found"].count(" s") >= 3


# the machine ---------------------------------------------------------------------------------

Disk = namedtuple("Disk", "total used free")


def test_room(tmp_path: Path) -> None:
    cases = [(100e6, "fail", "100 MB free"), (3e9, "warn", "3.0 GB free"), (50e9, "ok", "50.0 GB")]
    for free, verdict, text in cases:
        asked = []

        def usage(place: Path, free: float = free, asked: list[Path] = asked) -> Disk:
            asked.append(place)
            return Disk(int(100e9), int(100e9 - free), int(free))

        finding = doctor.room(tmp_path / "new" / "cache", usage=usage)
        assert (finding.verdict, text in finding.found) == (verdict, True)
        assert asked == [tmp_path], "the folder does not exist yet: where it will be made counts"
    assert list(tmp_path.iterdir()) == []


def test_ray_refuses_a_disk_that_is_almost_full(tmp_path: Path) -> None:
    for free, verdict in ((40e9, "fail"), (60e9, "ok")):
        disk = Disk(int(1000e9), int(1000e9 - free), int(free))
        finding = doctor.room(tmp_path, full_at=0.95, usage=lambda _, disk=disk: disk)
        assert (finding.verdict, str(tmp_path) in finding.found) == (verdict, True)
        assert doctor.room(tmp_path, usage=lambda _, disk=disk: disk).verdict == "ok"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    finding = doctor.room(tmp_path)
    assert (finding.verdict, finding.found) == ("fail", f"{tmp_path} cannot be written")


def packages(lock: Path = doctor.LOCK, **changed: str | None) -> Finding:
    """Of a machine with the packages of the lock, but for these."""
    locked = dict(line.split("==") for line in doctor.LOCK.read_text().split())
    versions: dict[str, str | None] = {**locked, **changed}

    def installed(name: str) -> str:
        by_name = {key.lower().replace("_", "-"): value for key, value in versions.items()}
        if (has := by_name[name.lower().replace("_", "-")]) is None:
            raise PackageNotFoundError(name)
        return has

    return doctor.packages(installed, lock)


def test_packages(tmp_path: Path) -> None:
    assert packages().verdict == "ok"
    assert packages(torch=version("torch").partition("+")[0] + "+cpu").verdict == "ok"
    newer = packages(certifi="3000.1.1")
    assert (newer.verdict, "certifi 3000.1.1, not" in newer.found) == ("warn", True)
    unfit = packages(fastapi="0.155.0")
    assert (unfit.verdict, "fastapi 0.155.0, not <0.151" in unfit.found) == ("fail", True)
    missing = packages(numba=None)
    assert (missing.verdict, missing.found) == ("fail", "numba is missing")
    assert packages(ruff=None).verdict == "ok", "only developers need it"
    no_lock = packages(tmp_path / "requirements.lock")
    assert (no_lock.verdict, "no requirements.lock" in no_lock.found) == ("ok", True)


def test_little_memory() -> None:
    finding = doctor.memory(4e9, workers=8)
    assert (finding.verdict, finding.found) == ("warn", "4.0 GB, 500 MB for each of 8 workers")
    assert finding.advice.endswith("--workers 2")
    assert doctor.memory(32e9, workers=8).verdict == "ok"


def test_prepared_data_sets_with_their_sizes(tmp_path: Path) -> None:
    assert doctor.data_sets(tmp_path).found.startswith("prepared: none yet; need a file: ")
    (tmp_path / "dsprites-2.bits").write_bytes(b"x" * 2_000_000)
    text = doctor.data_sets(tmp_path).found
    assert text.startswith("prepared: dsprites-2.bits (2 MB); need a file: ")
    needs = text.partition("need a file: ")[2]
    assert "mpi3d_real" in needs
    assert "dsprites" not in needs


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("import nosuch", "ModuleNotFoundError: No module named 'nosuch'"),
        ("import os; os.kill(os.getpid(), 4)", "ended with -4"),
        ("import time; time.sleep(60)", "its import takes more than 0.2 s"),
    ],
)
def test_a_torch_that_does_not_work(script: str, text: str) -> None:
    finding = doctor.torch(script, seconds=0.2 if "sleep" in script else 60.0)
    assert (finding.verdict, finding.found) == ("fail", text)


def test_gpus_are_named() -> None:
    facts = json.dumps({"version": "9", "gpus": ["Big One", "Big One"]})
    assert doctor.torch(f"print('{facts}')").found == "9; GPUs: Big One, Big One"


# Prefect and Ray -----------------------------------------------------------------------------


def test_what_prefects_api_may_answer(api: str) -> None:
    ours = version("prefect")
    refused = doctor.prefect_server(api, {}, ours)
    assert (refused.verdict, "refuses us (401)" in refused.found) == ("fail", True)
    assert "PREFECT_API_AUTH_STRING" in refused.advice
    wrong = doctor.prefect_server(api, {"Authorization": "Basic x"}, ours)
    assert "refuses what PREFECT_API_AUTH_STRING" in wrong.found
    allowed = {"Authorization": ALLOWED}
    assert doctor.prefect_server(api, allowed, ours).verdict == "ok"
    assert doctor.prefect_server(f"{api}/", allowed, ours).verdict == "ok"
    older = doctor.prefect_server(api, allowed, "3.1.0")
    assert (older.verdict, f"server {ours}" in older.found) == ("warn", True)
    elsewhere = doctor.prefect_server(api.removesuffix("/api"), allowed, ours)
    assert (elsewhere.verdict, "answers 404" in elsewhere.found) == ("fail", True)
    assert doctor.prefect_server("nonsense", {}, ours).verdict == "fail"


def test_rays_address_tokens_and_ports(tmp_path: Path) -> None:
    token = tmp_path / "token"
    quiet = {"RAY_AUTH_TOKEN_PATH": str(token)}
    assert doctor.ray(quiet).verdict == "ok"
    unused = doctor.ray({**quiet, "RAY_ADDRESS": "10.0.0.1:6379"})
    assert (unused.verdict, "--ray 10.0.0.1:6379" in unused.advice) == ("warn", True)
    guarded = {**quiet, "RAY_AUTH_MODE": "token"}
    finding = doctor.ray(guarded)
    assert (finding.verdict, "RAY_AUTH_MODE=token, no token" in finding.found) == ("warn", True)
    token.write_text(SECRET)
    assert doctor.ray(guarded).verdict == "ok"
    exposed = doctor.ray({**quiet, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"})
    assert (exposed.verdict, "on every interface" in exposed.found) == ("warn", True)


# a store -------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Store:
    study, store = made_up(tmp_path / "store")
    train(store, models_of(study))
    return store


def checked(store: Store, deep: bool = False, seconds: float = 60.0) -> dict[str, Finding]:
    return {name: check() for name, check in doctor.store_checks(store, deep, seconds).items()}


def contents(store: Store) -> list[Path]:
    return sorted(Path(store.root).rglob("*"))


def test_a_sound_store_is_left_as_it_is(store: Store) -> None:
    before = contents(store)
    for deep in (False, True):
        findings = checked(store, deep)
        assert {check.verdict for check in findings.values()} == {"ok"}
    assert "made-up: 3 cells × 2 seeds" in findings["study"].found
    assert findings["parts"].found == "0 damaged; 18 of 18 read"
    assert findings["holder"].found == "nobody works on it"
    assert contents(store) == before


def test_what_is_not_there_yet_is_not_made(tmp_path: Path) -> None:
    findings = checked(Store(tmp_path / "new" / "store"))
    assert {name: finding.verdict for name, finding in findings.items()} == {"store": "ok"}
    assert list(tmp_path.iterdir()) == []


def test_other_things_than_a_study(tmp_path: Path) -> None:
    assert checked(Store(tmp_path))["study"].verdict == "ok", "an empty folder may become one"
    (tmp_path / "thesis.txt").write_text("mine")
    assert checked(Store(tmp_path))["study"].verdict == "fail"
    (tmp_path / "study.json").write_text("{")
    assert checked(Store(tmp_path))["study"].verdict == "fail"


def test_a_store_that_cannot_be_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: object) -> Any:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Store, "write_bytes", read_only)
    finding = checked(store)["store"]
    assert (finding.verdict, "Read-only file system" in finding.found) == ("fail", True)


def test_damaged_parts_are_counted_and_named(store: Store) -> None:
    short, changed, *_ = sorted(Path(store.path("tables", "scores")).iterdir())
    short.write_bytes(short.read_bytes()[:200])
    content = bytearray(changed.read_bytes())
    content[60] ^= 0xFF
    changed.write_bytes(content)
    quickly, deeply = checked(store)["parts"], checked(store, deep=True)["parts"]
    assert quickly.verdict == deeply.verdict == "warn"
    assert quickly.found.startswith("1 damaged; 18 of 18 looked at")
    assert quickly.found.endswith(f": scores/{short.name}")
    assert deeply.found.startswith("2 damaged; 18 of 18 read")
    assert changed.name in deeply.found


def test_a_large_store_is_checked_for_a_moment(store: Store) -> None:
    assert "0 of 18 looked at" in checked(store, seconds=-1.0)["parts"].found
    assert "18 of 18 read" in checked(store, deep=True, seconds=-1.0)["parts"].found


def test_who_works_on_a_store_and_who_died(store: Store) -> None:
    with driver_lock(store) as lock:
        finding = checked(store)["holder"]
        assert (finding.verdict, f"pid {os.getpid()} works on it" in finding.found) == ("ok", True)
        me = lock.me
    store.write_bytes(as_bytes(me), *record(me.id))
    lock_file(me.id).touch()  # as if it had been killed
    finding = checked(store)["holder"]
    assert (finding.verdict, finding.found.endswith("died")) == ("warn", True)
    lock_file(me.id).unlink()  # as on another machine
    store.write_bytes(as_bytes(replace(me, host="another")), *record(me.id))
    assert "@another pid" in checked(store)["holder"].found
