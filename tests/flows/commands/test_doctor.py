"""What `tolstoy doctor` checks and prints, and which secrets it hides."""

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
from flows.commands.doctor import Finding, masked, ok, print_checks
from infra.drivers.liveness import as_bytes, lock_file, record
from infra.drivers.lock import driver_lock
from infra.store import Store
from models.instructions import instruction_set
from tasks.study.reading import parse_study
from tasks.study.weight_files import WEIGHTS, write_weights
from tests.flows.trained import made_up, models_of, train

ROOT = Path(__file__).parents[3]
SECRET = "hunter22"
ALLOWED = "Basic " + b64encode(f"bob:{SECRET}".encode()).decode()


# the whole -----------------------------------------------------------------------------------


def doctor_process(*options: object, **environment: str) -> subprocess.CompletedProcess[str]:
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
    """A server that answers the user bob as Prefect does, and refuses others."""

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


def test_doctor_finds_this_machine_in_order(api: str) -> None:
    done = doctor_process(PREFECT_API_URL=api, PREFECT_API_AUTH_STRING=f"bob:{SECRET}")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    verdicts = [line.split()[0] for line in lines[:-2]]
    assert set(verdicts) <= {"ok", "warn"}
    for name in ("packages", "memory", "room: studies", "room: data", "room: Ray"):
        assert sum(line[6:].startswith(name) for line in lines) == 1, name
    for name in ("data sets", "prefect", "ray  ", "torch"):
        assert sum(line[6:].startswith(name) for line in lines) == 1, name
    assert f"server {version('prefect')} at {api}" in done.stdout
    assert f"{version('torch')}; instructions: {instruction_set()}; GPUs: " in done.stdout
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
    done = doctor_process("--json", "--store", store, PREFECT_API_URL=address, **secrets)
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
    ("text", "expected"),
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
def test_no_secret_of_an_address_is_shown(text: str, expected: str) -> None:
    assert masked(text).endswith(expected.removeprefix("…"))


def test_a_check_that_crashes_fails_and_the_others_are_made(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def crash() -> Finding:
        raise RuntimeError(f"no\nsuch thing at http://u:{SECRET}@h/")

    assert print_checks({"ray": crash, "torch": lambda: ok("there")}, json=False) == 1
    crashed, well, _, total = capsys.readouterr().out.splitlines()
    assert crashed.startswith("fail  ray ")
    assert "check crashed: RuntimeError: no such thing at http://***@h/" in crashed
    assert well.split() == ["ok", "torch", "there"]
    assert total == "2 checks: 1 fail, 0 warn"


def test_an_impossible_store_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--store", "nosuch://x"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


@pytest.mark.slow
def test_one_task_on_what_a_run_starts() -> None:
    done = doctor_process("--deep", "--json", PREFECT_API_URL="")
    assert done.returncode == 0, done.stdout + done.stderr
    (check,) = (c for c in json.loads(done.stdout)["checks"] if c["name"] == "one task")
    assert check["verdict"] == "ok"
    assert "a task took" in check["found"]


# the machine ---------------------------------------------------------------------------------

Disk = namedtuple("Disk", "total used free")


def disk(monkeypatch: pytest.MonkeyPatch, total: float, free: float) -> list[Path]:
    """A disk of this size for all folders; the folders that were asked for."""
    asked = []

    def usage(place: Path) -> Disk:
        asked.append(place)
        return Disk(int(total), int(total - free), int(free))

    monkeypatch.setattr(doctor, "disk_usage", usage)
    return asked


def test_free_disk_space_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [(100e6, "fail", "100 MB free"), (3e9, "warn", "3.0 GB free"), (50e9, "ok", "50.0 GB")]
    for free, verdict, text in cases:
        asked = disk(monkeypatch, total=100e9, free=free)
        finding = doctor.disk_space(tmp_path / "new" / "cache")
        assert (finding.verdict, text in finding.text) == (verdict, True)
        assert asked == [tmp_path], "the folder does not exist yet: where it will be made counts"
    assert list(tmp_path.iterdir()) == []


def test_ray_refuses_a_disk_that_is_almost_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for free, verdict in ((40e9, "fail"), (60e9, "ok")):
        disk(monkeypatch, total=1000e9, free=free)
        finding = doctor.disk_space(tmp_path, full_at=0.95)
        assert (finding.verdict, str(tmp_path) in finding.text) == (verdict, True)
        assert doctor.disk_space(tmp_path).verdict == "ok"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    for finding in (doctor.disk_space(tmp_path), doctor.prefect()):
        assert (finding.verdict, finding.text.endswith("cannot be written")) == ("fail", True)


def test_packages_are_compared_with_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = dict(line.split("==") for line in doctor.LOCK.read_text().split())

    def packages(**changed: str | None) -> Finding:
        """Of a machine with the packages of the lock, except for these."""
        versions = {name.lower().replace("_", "-"): v for name, v in {**locked, **changed}.items()}

        def installed(name: str) -> str:
            if (number := versions[name.lower().replace("_", "-")]) is None:
                raise PackageNotFoundError(name)
            return number

        monkeypatch.setattr(doctor, "version", installed)
        return doctor.packages()

    assert packages().verdict == "ok"
    assert packages(torch=version("torch").partition("+")[0] + "+cpu").verdict == "ok"
    newer = packages(certifi="3000.1.1")
    assert (newer.verdict, "certifi 3000.1.1, locked" in newer.text) == ("warn", True)
    unfit = packages(fastapi="0.155.0")
    assert (unfit.verdict, "fastapi 0.155.0, accepted <0.151" in unfit.text) == ("fail", True)
    missing = packages(numba=None)
    assert (missing.verdict, missing.text.startswith("numba is missing")) == ("fail", True)
    assert packages(ruff=None).verdict == "ok", "only developers need it"
    monkeypatch.setattr(doctor, "LOCK", tmp_path / "requirements.lock")
    no_lock = packages()
    assert (no_lock.verdict, "no requirements.lock" in no_lock.text) == ("ok", True)


def test_doctor_says_how_many_workers_fit() -> None:
    finding = doctor.memory(4e9, free=1.4e9, workers=8)
    expected = "4.0 GB, 1.4 GB free: 2 workers of 500 MB fit, 8 cores"
    assert (finding.verdict, finding.text) == ("warn", expected)
    assert finding.advice.endswith("--workers 2")
    assert doctor.memory(4e9, free=0.1e9, workers=8).advice == "Free some memory"
    assert doctor.memory(32e9, free=8 * 500e6, workers=8).verdict == "ok"


def test_prepared_data_sets_with_their_sizes(tmp_path: Path) -> None:
    assert doctor.data_sets(tmp_path).text.startswith("prepared: none yet; need a file: ")
    (tmp_path / "dsprites-2.bits").write_bytes(b"x" * 2_000_000)
    text = doctor.data_sets(tmp_path).text
    assert text.startswith("prepared: dsprites-2.bits (2 MB); need a file: ")
    needs = text.partition("need a file: ")[2]
    assert "mpi3d_real" in needs
    assert "dsprites" not in needs
    for number in range(9):
        (tmp_path / f"own-2-{number:032}.pixels").write_bytes(b"x" * 1000)
    text = doctor.data_sets(tmp_path).text
    assert "(2 MB), 9 copies of own pictures (9 kB; tolstoy data list); need" in text
    assert "own-" not in text


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
    assert (finding.verdict, finding.text) == ("fail", text)


# Prefect and Ray -----------------------------------------------------------------------------


def test_what_prefects_api_may_answer(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

    ours = version("prefect")

    def prefect(url: str = api, auth: str = f"bob:{SECRET}") -> Finding:
        with temporary_settings({PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: auth or None}):
            return doctor.prefect()

    for auth in ("", "bob:wrong"):
        refused = prefect(auth=auth)
        assert (refused.verdict, "refuses us (401)" in refused.text) == ("fail", True)
        assert "PREFECT_API_AUTH_STRING" in refused.advice
    assert prefect().verdict == prefect(f"{api}/").verdict == "ok"
    elsewhere = prefect(api.removesuffix("/api"))
    assert (elsewhere.verdict, "404" in elsewhere.text) == ("fail", True)
    assert "/api" in elsewhere.advice
    assert prefect("nonsense").verdict == "fail"
    monkeypatch.setattr(doctor, "version", lambda _: "3.1.0")
    older = prefect()
    assert (older.verdict, f"server {ours}" in older.text) == ("warn", True)


def test_rays_address_tokens_and_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = tmp_path / "token"

    def ray(**environment: str) -> Finding:
        monkeypatch.setattr(os, "environ", {"RAY_AUTH_TOKEN_PATH": str(token), **environment})
        return doctor.ray()

    assert ray().verdict == "ok"
    unused = ray(RAY_ADDRESS="10.0.0.1:6379")
    assert (unused.verdict, "--ray 10.0.0.1:6379" in unused.advice) == ("warn", True)
    finding = ray(RAY_AUTH_MODE="token")
    assert (finding.verdict, "RAY_AUTH_MODE=token, no token" in finding.text) == ("warn", True)
    token.write_text(SECRET)
    assert ray(RAY_AUTH_MODE="token").verdict == "ok"
    exposed = ray(RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="1")
    assert (exposed.verdict, "on every interface" in exposed.text) == ("warn", True)


# a store -------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(doctor, "STORE_SECONDS", 600.0)
    study, store = made_up(tmp_path / "store")
    train(store, models_of(study))
    return store


def checked(store: Store, deep: bool = False) -> dict[str, Finding]:
    return {name: check() for name, check in doctor.store_checks(store, deep).items()}


def test_a_store_without_permission_is_a_check_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_permission(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", without_permission)
    (check,) = doctor._checks_of(str(tmp_path / "store"), deep=False).values()
    assert check().verdict == "fail"
    assert check().text.endswith("store cannot be read: Permission denied")


def contents(store: Store) -> list[Path]:
    return sorted(Path(store.root).rglob("*"))


def test_a_store_without_damage_is_not_changed(store: Store) -> None:
    before = contents(store)
    for deep in (False, True):
        findings = checked(store, deep)
        assert {check.verdict for check in findings.values()} == {"ok"}
    assert "made-up: 3 cells × 2 seeds" in findings["study"].text
    assert findings["parts"].text == "0 damaged; 18 of 18 read"
    assert findings["holder"].text == "nobody works on it"
    assert contents(store) == before


def test_a_store_that_does_not_exist_yet_is_not_created(tmp_path: Path) -> None:
    findings = checked(Store(tmp_path / "new" / "store"))
    assert {name: finding.verdict for name, finding in findings.items()} == {"store": "ok"}
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_no_study_is_reported(tmp_path: Path) -> None:
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
    assert (finding.verdict, "Read-only file system" in finding.text) == ("fail", True)


def test_damaged_parts_are_counted_and_named(store: Store) -> None:
    short, changed, *_ = sorted(Path(store.path("tables", "scores")).iterdir())
    short.write_bytes(short.read_bytes()[:200])
    content = bytearray(changed.read_bytes())
    content[60] ^= 0xFF
    changed.write_bytes(content)
    quickly, deeply = checked(store)["parts"], checked(store, deep=True)["parts"]
    assert quickly.verdict == deeply.verdict == "warn"
    assert quickly.text.startswith("1 damaged; 18 of 18 looked at")
    assert quickly.text.endswith(f": scores/{short.name}")
    assert deeply.text.startswith("2 damaged; 18 of 18 read")
    assert changed.name in deeply.text


def test_damaged_weights_are_found_by_a_deep_check(store: Store) -> None:
    (model, *_) = parse_study(store.read_json("study.json")).cells()[0].models
    write_weights(b"weights", model, 1, store)
    assert checked(store, deep=True)["parts"].verdict == "ok"
    store.write_bytes(b"weighty", "models", model.id, WEIGHTS)
    finding = checked(store, deep=True)["parts"]
    assert finding.verdict == "warn" and checked(store)["parts"].verdict == "ok"
    assert "18 of 18 read; the weights of 1 model damaged" in finding.text
    assert f"models/{model.id}/{WEIGHTS}" in finding.text


def test_a_large_store_is_checked_for_a_moment(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "STORE_SECONDS", -1.0)
    assert "0 of 18 looked at" in checked(store)["parts"].text
    assert "18 of 18 read" in checked(store, deep=True)["parts"].text


def test_who_works_on_a_store_and_who_died(store: Store) -> None:
    with driver_lock(store) as lock:
        finding = checked(store)["holder"]
        assert (finding.verdict, f"pid {os.getpid()} works on it" in finding.text) == ("ok", True)
        me = lock.me
    store.write_bytes(as_bytes(me), *record(me.id))
    lock_file(me.id).touch()  # as if it had been killed
    finding = checked(store)["holder"]
    assert (finding.verdict, finding.text.endswith("crashed")) == ("warn", True)
    lock_file(me.id).unlink()  # as on another machine
    store.write_bytes(as_bytes(replace(me, host="another")), *record(me.id))
    assert "@another pid" in checked(store)["holder"].text
