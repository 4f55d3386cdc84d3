"""What the doctor finds, says and keeps to itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from base64 import b64encode
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from flows.cli import main
from flows.commands.doctor import examine, machine, services
from flows.commands.doctor.check import Check, Checks, masked
from flows.commands.doctor.store import of_store
from infra.drivers.liveness import as_bytes, record
from infra.drivers.lock import driver_lock
from infra.store import Store
from tests.flows.trained import made_up, models_of, train

ROOT = Path(__file__).parents[3]
SECRET = "hunter22"
ALLOWED = "Basic " + b64encode(f"bob:{SECRET}".encode()).decode()


def only(checks: Checks, name: str) -> Check:
    (found,) = (check for check in checks if check.name == name)
    return found


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither torch nor Prefect is looked at: these take their seconds."""

    class NoTorch:
        def __enter__(self) -> NoTorch:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def checks(self) -> Checks:
            yield Check("torch", "ok", "there")

    monkeypatch.setattr(examine, "Torch", NoTorch)
    monkeypatch.setattr(services, "_prefect", lambda: iter(()))


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
    for name in ("python", "packages", "cores", "memory", "blas", "room: studies", "room: data"):
        assert sum(line[6:].startswith(name) for line in lines) == 1, name
    for name in ("data sets", "prefect", "ray  ", "ray tokens", "loopback", "torch", "gpus"):
        assert sum(line[6:].startswith(name) for line in lines) == 1, name
    assert f"server {version('prefect')} at {api}" in done.stdout
    assert f"{version('torch')}, " in done.stdout
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
    assert "a token in RAY_AUTH_TOKEN" in checks["ray tokens"]["found"]
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


@pytest.mark.usefixtures("quick")
def test_a_check_that_falls_over_fails_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def falls() -> Checks:
        raise RuntimeError(f"no\nsuch thing at http://u:{SECRET}@h/")
        yield

    monkeypatch.setattr(services, "_ray", falls)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    line = next(line for line in out.splitlines() if line.startswith("fail"))
    assert "this check fell over: RuntimeError: no such thing at http://***@h/" in line
    assert "loopback" in out
    assert "1 fail" in out


@pytest.mark.usefixtures("quick")
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


def machines(tmp_path: Path, name: str) -> Check:
    return only(machine.of_machine(tmp_path / "cache"), name)


@pytest.mark.parametrize(
    ("free", "verdict", "text"),
    [(100e6, "fail", "100 MB free"), (3e9, "warn", "3.0 GB free"), (50e9, "ok", "50.0 GB free")],
)
def test_room(
    free: float, verdict: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = []

    def usage(place: Path) -> Disk:
        looked_at.append(place)
        return Disk(int(100e9), int(100e9 - free), int(free))

    monkeypatch.setattr(machine, "disk_usage", usage)
    found = machines(tmp_path, "room: data")
    assert (found.verdict, text in found.found) == (verdict, True)
    assert tmp_path in looked_at, "the cache is not there yet: where it will be is"
    assert not (tmp_path / "cache").exists()


def test_ray_refuses_a_disk_that_is_almost_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    for free, verdict in ((40e9, "fail"), (60e9, "ok")):
        usage = Disk(int(1000e9), int(1000e9 - free), int(free))
        monkeypatch.setattr(machine, "disk_usage", lambda _, usage=usage: usage)
        found = machines(tmp_path, "room: Ray")
        assert (found.verdict, str(tmp_path) in found.found) == (verdict, True)
        assert machines(tmp_path, "room: data").verdict == "ok"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    found = machines(tmp_path, "room: data")
    assert (found.verdict, found.found) == ("fail", f"{tmp_path} cannot be written")


def packages(
    monkeypatch: pytest.MonkeyPatch, has: Callable[[str], str | None], lock: Path | None = None
) -> Check:
    def told(name: str) -> str:
        found = has(name)
        if found is None:
            raise PackageNotFoundError(name)
        return found

    monkeypatch.setattr(machine, "version", told)
    if lock:
        monkeypatch.setattr(machine, "LOCK", lock)
    return machine._packages()


def test_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = dict(line.split("==") for line in machine.LOCK.read_text().split())
    by_name = {name.lower().replace("_", "-"): found for name, found in locked.items()}

    def like_the_lock(name: str) -> str | None:
        return by_name[name.lower().replace("_", "-")]

    def but(other: str, found: str | None) -> Callable[[str], str | None]:
        return lambda name: found if name == other else like_the_lock(name)

    assert packages(monkeypatch, like_the_lock).verdict == "ok"
    local = packages(monkeypatch, but("torch", locked["torch"] + "+cpu"))
    assert local.verdict == "ok", "the build's label does not count"
    newer = packages(monkeypatch, but("certifi", "3000.1.1"))
    assert (newer.verdict, "certifi 3000.1.1, not" in newer.found) == ("warn", True)
    unfit = packages(monkeypatch, but("fastapi", "0.155.0"))
    assert (unfit.verdict, "fastapi 0.155.0, not <0.151" in unfit.found) == ("fail", True)
    missing = packages(monkeypatch, but("numba", None))
    assert (missing.verdict, missing.found) == ("fail", "numba is missing")
    tools = packages(monkeypatch, but("ruff", None))
    assert tools.verdict == "ok", "only developers need it"
    none = packages(monkeypatch, like_the_lock, tmp_path / "requirements.lock")
    assert (none.verdict, "no requirements.lock" in none.found) == ("ok", True)


def test_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 8)
    monkeypatch.setattr(machine, "_bytes_of_memory", lambda: 4e9)
    found = machines(tmp_path, "memory")
    assert (found.verdict, found.found) == ("warn", "4.0 GB, 500 MB per worker")
    assert found.advice.endswith("--workers 2")
    monkeypatch.setattr(machine, "_bytes_of_memory", lambda: 32e9)
    assert machines(tmp_path, "memory").verdict == "ok"


def test_which_blas_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert "OPENBLAS_CORETYPE=Haswell" in machines(tmp_path, "blas").found
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    monkeypatch.setattr(machine, "blas_kernels", lambda: {"OPENBLAS_CORETYPE": "SkylakeX"})
    assert "AVX-512: workers have OpenBLAS take its SkylakeX" in machines(tmp_path, "blas").found
    monkeypatch.setattr(machine, "blas_kernels", dict)
    assert "no AVX-512" in machines(tmp_path, "blas").found


def test_prepared_data_sets_with_their_sizes(tmp_path: Path) -> None:
    assert machines(tmp_path, "data sets").found.startswith("prepared: none yet; need a file: ")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "dsprites-2.bits").write_bytes(b"x" * 2_000_000)
    found = machines(tmp_path, "data sets").found
    assert found.startswith("prepared: dsprites-2.bits (2 MB); need a file: ")
    needs = found.partition("need a file: ")[2]
    assert "mpi3d_real" in needs
    assert "dsprites" not in needs


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("import nosuch", "ModuleNotFoundError: No module named 'nosuch'"),
        ("import os; os.kill(os.getpid(), 4)", "ended with -4"),
        ("import time; time.sleep(60)", "its import takes more than 0 s"),
    ],
)
def test_a_torch_that_does_not_work(
    script: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "LOOK_AT_TORCH", script)
    if "sleep" in script:
        monkeypatch.setattr(machine, "TORCH_SECONDS", 0.2)
    with machine.Torch() as torch:
        (check,) = torch.checks()
    assert (check.verdict, check.found) == ("fail", found)
    assert torch.process.poll() is not None, "it is still there"


def test_gpus_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"version": "9", "threads": 2, "gpus": ["Big One", "Big One"]}
    monkeypatch.setattr(machine, "LOOK_AT_TORCH", f"print('''{json.dumps(facts)}''')")
    with machine.Torch() as torch:
        assert only(torch.checks(), "gpus").found == "Big One, Big One"


# services ------------------------------------------------------------------------------------


def test_what_prefects_api_may_answer(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = version("prefect")
    refused = services._answers(api, {}, ours)
    assert (refused.verdict, "refuses us (401)" in refused.found) == ("fail", True)
    assert "PREFECT_API_AUTH_STRING" in refused.advice
    wrong = services._answers(api, {"Authorization": "Basic x"}, ours)
    assert "refuses what PREFECT_API_AUTH_STRING" in wrong.found
    allowed = {"Authorization": ALLOWED}
    assert services._answers(api, allowed, ours).verdict == "ok"
    assert services._answers(f"{api}/", allowed, ours).verdict == "ok"
    older = services._answers(api, allowed, "3.1.0")
    assert (older.verdict, f"server {ours}" in older.found) == ("warn", True)
    elsewhere = services._answers(api.removesuffix("/api"), allowed, ours)
    assert (elsewhere.verdict, "answers 404" in elsewhere.found) == ("fail", True)
    assert services._answers("nonsense", {}, ours).verdict == "fail"


def test_rays_address_and_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [check.verdict for check in services._ray()] == ["ok", "ok"]
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert "--ray 10.0.0.1:6379" in only(services._ray(), "ray").advice
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    tokens = only(services._ray(), "ray tokens")
    assert (tokens.verdict, tokens.found) == ("warn", "RAY_AUTH_MODE=token, no token")
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text(SECRET)
    assert only(services._ray(), "ray tokens").verdict == "ok"


def test_a_ray_that_would_listen_on_every_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    monkeypatch.delenv(name, raising=False)
    assert only(services._loopback(), "loopback").verdict == "ok"
    monkeypatch.setenv(name, "1")
    assert only(services._loopback(), "loopback").verdict == "warn"


# a store -------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Store:
    study, store = made_up(tmp_path / "store")
    train(store, models_of(study))
    return store


def looked(store: Store, deep: bool = False) -> dict[str, Check]:
    return {check.name: check for check in of_store(store, deep)}


def contents(store: Store) -> list[Path]:
    return sorted(Path(store.root).rglob("*"))


def test_a_sound_store_is_left_as_it_is(store: Store) -> None:
    before = contents(store)
    for deep in (False, True):
        found = looked(store, deep)
        assert {check.verdict for check in found.values()} == {"ok"}
    assert "made-up: 3 cells × 2 seeds" in found["study"].found
    assert found["parts"].found == "0 damaged; 18 of 18 read"
    assert found["holder"].found == "nobody works on it"
    assert contents(store) == before


def test_what_is_not_there_yet_is_not_made(tmp_path: Path) -> None:
    found = looked(Store(tmp_path / "new" / "store"))
    assert [(one.name, one.verdict) for one in found.values()] == [("store", "ok")]
    assert list(tmp_path.iterdir()) == []


def test_other_things_than_a_study(tmp_path: Path) -> None:
    assert looked(Store(tmp_path))["study"].verdict == "ok", "an empty folder may become one"
    (tmp_path / "thesis.txt").write_text("mine")
    assert looked(Store(tmp_path))["study"].verdict == "fail"
    (tmp_path / "study.json").write_text("{")
    assert looked(Store(tmp_path))["study"].verdict == "fail"


def test_a_store_that_cannot_be_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: object) -> Any:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Store, "write_bytes", read_only)
    found = looked(store)["store"]
    assert (found.verdict, "Read-only file system" in found.found) == ("fail", True)


def test_damaged_parts_are_counted_and_named(store: Store) -> None:
    short, changed, *_ = sorted(Path(store.path("tables", "scores")).iterdir())
    short.write_bytes(short.read_bytes()[:200])
    content = bytearray(changed.read_bytes())
    content[60] ^= 0xFF
    changed.write_bytes(content)
    quickly, deeply = looked(store)["parts"], looked(store, deep=True)["parts"]
    assert quickly.verdict == deeply.verdict == "warn"
    assert quickly.found.startswith("1 damaged; 18 of 18 looked at")
    assert quickly.found.endswith(f": scores/{short.name}")
    assert deeply.found.startswith("2 damaged; 18 of 18 read")
    assert changed.name in deeply.found


def test_a_large_store_is_looked_at_for_a_moment(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.commands.doctor.store.LOOK_SECONDS", -1.0)
    assert "0 of 18 looked at" in looked(store)["parts"].found
    assert "18 of 18 read" in looked(store, deep=True)["parts"].found


def test_who_works_on_a_store_and_who_died(store: Store) -> None:
    with driver_lock(store) as lock:
        found = looked(store)["holder"]
        assert (found.verdict, f"pid {os.getpid()} works on it" in found.found) == ("ok", True)
        me = lock.me
    store.write_bytes(as_bytes(me), *record(me.id))  # as if it had been killed
    found = looked(store)["holder"]
    assert (found.verdict, found.found.endswith("died")) == ("warn", True)
    store.write_bytes(as_bytes(replace(me, host="another")), *record(me.id))
    assert "@another pid" in looked(store)["holder"].found
