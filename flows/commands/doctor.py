"""`tolstoy doctor`: what stands in the way of a run on this machine, and in a store."""

from __future__ import annotations

import json as jsonlib
import os
import re
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import pairwise
from pathlib import Path
from shutil import disk_usage
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

import data
from flows.commands.data import size_text
from infra.drivers.claims import CLAIMS
from infra.drivers.liveness import DRIVERS, DriverWatch, Life
from infra.drivers.lock import BEAT_SECONDS
from infra.runtime import LOOPBACK_ONLY, cores
from infra.store import Store
from infra.tables import TABLES
from tasks.study.stored import STUDY_FILE, stored_study

LOCK = Path(__file__).parents[2] / "requirements.lock"
NAMED = 5  # packages, or damaged parts
WORKER_BYTES = 1.5e9  # a worker with torch and a data set, about
LITTLE_ROOM, NO_ROOM = 5e9, 0.2e9
RAY_IS_FULL_AT = 0.95  # of the disk: Ray then refuses work
STORE_SECONDS = 1.5  # for the ends of parts: a large study has tens of thousands
TORCH = """
import json, torch
gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
print(json.dumps({"version": torch.__version__, "gpus": gpus}))
"""
SECRET_NAMES = re.compile(r"AUTH_STRING|API_KEY|TOKEN$|SECRET|PASSWORD")
IN_ADDRESS = re.compile(r"(\w://)[^/\s]*@")
IN_QUERY = re.compile(r"([?&][^=&\s]*(?:key|token|secret|password)[^=&\s]*=)[^&\s]+", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """What a check found, and what to do about it unless it is well."""

    verdict: Literal["ok", "warn", "fail"]
    found: str
    advice: str = ""


Checks = Mapping[str, Callable[[], Finding]]


def examine(store: str | None, deep: bool, cache: Path, json: bool) -> int:
    """Check this machine, and a store if one is named; 1 if any check fails."""
    ray_folder = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir())
    checks: dict[str, Callable[[], Finding]] = {
        "packages": packages,
        "memory": memory,
        "room: studies": lambda: room(Path("studies")),
        "room: data": lambda: room(cache),
        "room: Ray": lambda: room(ray_folder, full_at=RAY_IS_FULL_AT),
        "data sets": lambda: data_sets(cache),
        "prefect": prefect,
        "ray": ray,
        "torch": torch,
    }
    if store:
        checks |= store_checks(Store(store), deep)
    if deep:
        checks["one task"] = one_task
    return print_checks(checks, json)


def print_checks(checks: Checks, json: bool) -> int:
    """Make the checks and print a line for each as soon as it is made; 1 if any fails."""
    rows: list[dict[str, str]] = []
    for name, check in checks.items():
        try:
            finding = check()
        except Exception as error:  # the other checks are still made
            finding = Finding("fail", f"this check crashed: {type(error).__name__}: {error}")
        found, advice = masked(finding.found), masked(finding.advice)
        rows.append({"name": name, "verdict": finding.verdict, "found": found, "advice": advice})
        if not json:
            advice = f". {advice}" if advice else ""
            print(f"{finding.verdict:<5} {name:<13} {found}{advice}", flush=True)
    count = Counter(row["verdict"] for row in rows)
    if json:
        print(jsonlib.dumps({"checks": rows, "fails": count["fail"]}, indent=2))
    else:
        print(f"\n{len(rows)} checks: {count['fail']} fail, {count['warn']} warn")
    return 1 if count["fail"] else 0


def masked(text: str) -> str:
    """On one line, without passwords in addresses and without the values of secret variables."""
    text = " ".join(text.split())
    text = IN_QUERY.sub(r"\1***", IN_ADDRESS.sub(r"\1***@", text))
    for name, value in os.environ.items():
        if SECRET_NAMES.search(name) and len(value) > 3:
            text = text.replace(value, "***")
    return text


def packages(installed: Callable[[str], str] = version, lock: Path = LOCK) -> Finding:
    """What is installed against the lock; the local label of a build does not count."""
    from packaging.requirements import Requirement

    def version_of(name: str) -> str | None:
        try:
            return installed(name)
        except PackageNotFoundError:
            return None

    unfit = []
    for wanted in map(Requirement, requires("tolstoy") or []):
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            if (has := version_of(wanted.name)) is None:
                unfit.append(f"{wanted.name} is missing")
            elif not wanted.specifier.contains(has, prereleases=True):
                unfit.append(f"{wanted.name} {has}, not {wanted.specifier}")
    if unfit:
        return Finding("fail", "; ".join(unfit), "Install from requirements.lock: make setup")
    if not lock.is_file():
        return Finding("ok", "as Tolstoy requires them; there is no requirements.lock")
    locked = dict(line.split("==") for line in lock.read_text().split() if "==" in line)
    other = [
        f"{name} {has}, not {wanted_version}"
        for name, wanted_version in locked.items()  # also developers' tools, which may be missing
        if (has := (version_of(name) or wanted_version).partition("+")[0]) != wanted_version
    ]
    if other:
        more = f" and {len(other) - NAMED} more" if len(other) > NAMED else ""
        text = f"{len(other)} unlike requirements.lock: {'; '.join(other[:NAMED])}{more}"
        return Finding("warn", text, "Tested are those of the lock: make setup")
    return Finding("ok", f"as requirements.lock names them ({len(locked)})")


def memory(total: float | None = None, workers: int | None = None) -> Finding:
    """Of the machine, or what a container may use of it, for a worker per core."""
    workers = workers or cores()
    if total is None:
        try:
            total = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (ValueError, OSError):
            return Finding("ok", "unknown on this system")
        for limit in ("memory.max", "memory/memory.limit_in_bytes"):
            try:
                total = min(total, float(Path("/sys/fs/cgroup", limit).read_text()))
            except (OSError, ValueError):  # not Linux, or no limit
                continue
    text = f"{size_text(total)}, {size_text(total / workers)} for each of {workers} workers"
    if total < WORKER_BYTES * workers:
        fewer = max(1, int(total / WORKER_BYTES))
        return Finding("warn", text, f"Run fewer: tolstoy run SPEC --workers {fewer}")
    return Finding("ok", text)


def room(folder: Path, full_at: float = 1.0, usage: Callable[[Path], Any] = disk_usage) -> Finding:
    """Where a folder is, or will be made."""
    place = _existing(folder.expanduser().absolute())
    disk = usage(place)
    text = f"{size_text(disk.free)} free in {folder}"
    if not _may_write(place):
        return Finding("fail", f"{place} cannot be written", "Choose or free another folder")
    if disk.free < NO_ROOM:
        return Finding("fail", text, "Free some")
    if 1 - disk.free / disk.total > full_at:
        advice = "Ray refuses work on a disk that full: free some, or set RAY_TMPDIR"
        return Finding("fail", f"{text}, more than {full_at:.0%} full", advice)
    if disk.free < LITTLE_ROOM:
        return Finding("warn", text, "A thousand models take several GB")
    return Finding("ok", text)


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def _may_write(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def data_sets(cache: Path) -> Finding:
    prepared = [
        f"{file} ({size_text((cache / file).stat().st_size)})"
        for file in data.prepared_files(cache)
    ]
    to_fetch = [
        name
        for name in data.DATA_SETS
        if not any(data.is_available(name, source, cache) for source in data.sources(name))
    ]
    text = f"prepared: {', '.join(prepared) or 'none yet'}"
    if to_fetch:
        text += f"; need a file: {', '.join(to_fetch)} (tolstoy data fetch NAME)"
    return Finding("ok", text)


def prefect() -> Finding:
    """Which API a run would use, and whether it answers."""
    from prefect.settings import get_current_settings

    settings = get_current_settings()
    place = _existing(Path(settings.home))
    if not _may_write(place):
        return Finding("fail", f"{place} cannot be written", "Set PREFECT_HOME")
    if not settings.api.url:
        text = "embedded: each run starts its own API on the loopback interface"
        return Finding("ok", f"{version('prefect')}, {text}")
    headers = {}
    if settings.api.auth_string:
        secret = settings.api.auth_string.get_secret_value()
        headers["Authorization"] = "Basic " + b64encode(secret.encode()).decode()
    elif settings.api.key:
        headers["Authorization"] = f"Bearer {settings.api.key.get_secret_value()}"
    return prefect_server(settings.api.url, headers, version("prefect"))


def prefect_server(url: str, headers: dict[str, str], ours: str) -> Finding:
    """Whether the API answers us, and in which version; /health would answer anybody."""
    import httpx

    try:
        answer = httpx.get(f"{url.rstrip('/')}/admin/version", headers=headers, timeout=2.0)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        advice = "Start that server, or unset PREFECT_API_URL to use an embedded one"
        return Finding("fail", f"{url} does not answer: {error}", advice)
    if answer.status_code in (401, 403):
        who = "what PREFECT_API_AUTH_STRING or PREFECT_API_KEY says" if headers else "us"
        advice = "Set PREFECT_API_AUTH_STRING to the server's USER:PASSWORD"
        return Finding("fail", f"{url} refuses {who} ({answer.status_code})", advice)
    try:
        server = str(answer.raise_for_status().json())
    except (httpx.HTTPError, ValueError):
        text = f"{url} answers {answer.status_code}, and not as Prefect does"
        return Finding("fail", text, "PREFECT_API_URL usually ends in /api")
    if server.split(".")[:2] != ours.split(".")[:2]:
        text = f"server {server} at {url}, here {ours}"
        return Finding("warn", text, "Install the same version on both")
    return Finding("ok", f"server {server} at {url}")


def ray(environment: Mapping[str, str] = os.environ) -> Finding:
    """An address that is not used, tokens that are missing, ports that are open to others."""
    mode = environment.get("RAY_AUTH_MODE")
    file = environment.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token"
    token = "RAY_AUTH_TOKEN" if environment.get("RAY_AUTH_TOKEN") else ""
    token = token or (file if Path(file).expanduser().is_file() else "")
    text = f"{version('ray')}, embedded unless --ray names a cluster; "
    text += f"RAY_AUTH_MODE={mode}" if mode else "RAY_AUTH_MODE is not set"
    text += f", a token in {token}" if token else ", no token"
    name, only_local = LOOPBACK_ONLY
    if environment.get(name, only_local) != only_local:
        text += f"; {name}={environment[name]}: an embedded Ray listens on every interface"
        return Finding("warn", text, f"Unset {name}")
    if mode == "token" and not token:
        advice = "Make one: ray get-auth-token --generate; the whole cluster needs the same"
        return Finding("warn", text, advice)
    if address := environment.get("RAY_ADDRESS"):
        text += "; RAY_ADDRESS is set and not used"
        return Finding("warn", text, f"To use that cluster: tolstoy run SPEC --ray {address}")
    return Finding("ok", text)


def torch(script: str = TORCH, seconds: float = 60.0) -> Finding:
    """In a separate process: a build that does not suit the processor kills it."""
    advice = "Install it again: make setup"
    command = [sys.executable, "-c", script]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return Finding("fail", f"its import takes more than {seconds:g} s", advice)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        return Finding("fail", lines[-1], advice)
    facts = jsonlib.loads(done.stdout)
    gpus = ", ".join(facts["gpus"]) or "none, models train on the CPU"
    return Finding("ok", f"{facts['version']}; GPUs: {gpus}")


def one_task() -> Finding:
    """A flow with one task on a worker: how long each part of it took to start."""
    from prefect import flow, task

    from infra.prefect_server import prefect_api
    from infra.workers import running_workers

    times = [time.monotonic()]
    with prefect_api():
        times.append(time.monotonic())
        with running_workers(None, 1) as workers:
            times.append(time.monotonic())

            @task
            def ask() -> object:
                return next(iter(workers.map(_sevenfold, [(6,)])))[1]

            @flow(name="doctor")
            def asking() -> object:
                return ask()

            answer = asking()
            times.append(time.monotonic())
    api, ray, done = (after - before for before, after in pairwise(times))
    text = f"Prefect's API in {api:.1f} s, Ray in {ray:.1f} s, a task in {done:.1f} s"
    if answer != _sevenfold(6):
        return Finding("fail", f"{text}: the worker answered {answer!r}")
    return Finding("ok", text)


def _sevenfold(number: int) -> int:
    return 7 * number


def store_checks(store: Store, deep: bool, seconds: float = STORE_SECONDS) -> Checks:
    """Whether a store can be written, is a study, what of it is damaged, who works on it."""
    if not store.exists():
        return {"store": lambda: Finding("ok", f"{store} is not there yet; tolstoy run makes it")}
    return {
        "store": lambda: _writable(store),
        "study": lambda: _study(store),
        "parts": lambda: _parts(store, deep, seconds),
        "holder": lambda: _drivers(store),
    }


def _writable(store: Store) -> Finding:
    try:
        store.check_writable()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        advice = "A run waits for it: free some room or mend the mount"
        return Finding("fail", f"{store} cannot be written: {reason}", advice)
    return Finding("ok", f"{store} can be written")


def _study(store: Store) -> Finding:
    if not store.exists(STUDY_FILE):
        if not set(store.names()) - {DRIVERS, CLAIMS}:
            return Finding("ok", f"none yet: {store} is empty")
        advice = "Choose an empty folder, or one that tolstoy run made"
        return Finding("fail", f"{store} holds other things, and no study", advice)
    try:
        study = stored_study(store)
    except ValueError as error:
        return Finding("fail", str(error), "Write it again: tolstoy run SPEC in another store")
    count = f"{len(study.cells()):,} cells × {len(study.seed_list)} seeds"
    return Finding("ok", f"{study.name}: {count}; tolstoy status {store}")


def _parts(store: Store, deep: bool, seconds: float) -> Finding:
    """Parts whose end cannot be read, as of a file cut short; if deep, any byte of them."""
    parts = [(table, key) for table in TABLES for key in store.parts(table)]
    damaged, read, began = [], 0, time.monotonic()
    for table, key in parts:
        if not deep and time.monotonic() - began > seconds:
            break
        read += 1
        if _is_damaged(store, table, key, deep):
            damaged.append(f"{table}/{key}.parquet")
    how = "read" if deep else "looked at; --deep reads every byte"
    text = f"{len(damaged):,} damaged; {read:,} of {len(parts):,} {how}"
    if not damaged:
        return Finding("ok", text)
    more = ", ..." if len(damaged) > NAMED else ""
    advice = "They count as missing: the next tolstoy run makes what it can again"
    return Finding("warn", f"{text}: {', '.join(damaged[:NAMED])}{more}", advice)


def _is_damaged(store: Store, table: str, key: str, deep: bool) -> bool:
    path = store.path("tables", table, f"{key}.parquet")
    try:
        with pq.ParquetFile(path, filesystem=store.fs, page_checksum_verification=True) as part:
            if deep:
                part.read(use_threads=False)
    except FileNotFoundError:  # a run merged it since it was listed
        return False
    except (pa.ArrowException, OSError, ValueError):
        return True
    return False


def _drivers(store: Store) -> Finding:
    """Of a driver on another machine only half a minute of watching tells that it is alive."""
    drivers = DriverWatch(store, "", BEAT_SECONDS).drivers()
    texts = {Life.ALIVE: "works on it", Life.UNKNOWN: "on another machine, may have ended"}
    who = [
        f"{one} {text}, since {one.started}"
        for life, text in texts.items()
        for one in drivers[life]
    ]
    if dead := [f"{driver} died" for driver in drivers[Life.DEAD]]:
        return Finding("warn", "; ".join(who + dead), "The next tolstoy run takes over")
    return Finding("ok", "; ".join(who) or "nobody works on it")
