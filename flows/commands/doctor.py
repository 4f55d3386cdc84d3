"""`tolstoy doctor`: what stands in the way of a run on this machine, and in a store."""

from __future__ import annotations

import json as jsonlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import takewhile
from pathlib import Path
from shutil import disk_usage
from typing import NamedTuple

import data
from data.own import copies
from flows.start_up import call_on_a_worker
from infra.drivers.claims import CLAIMS
from infra.drivers.liveness import DRIVERS, DriverWatch, Life
from infra.drivers.lock import BEAT_SECONDS
from infra.runtime import (
    LOOPBACK_ONLY,
    WORKER_BYTES,
    cores,
    free_memory_bytes,
    memory_bytes,
)
from infra.store import Store
from infra.tables import TABLES
from tasks.study.stored import STUDY_FILE, stored_study
from tasks.study.weight_files import WEIGHTS, are_damaged
from tasks.words import plural, size_text

LOCK = Path(__file__).parents[2] / "requirements.lock"
WRITE = os.W_OK | os.X_OK
FEW_BYTES, TOO_FEW_BYTES = 5e9, 0.2e9
RAY_IS_FULL_AT = 0.95  # of the disk: Ray then refuses work
STORE_SECONDS = 1.5  # for the ends of parts: a large study has tens of thousands
TORCH = """
import torch
from models.instructions import instruction_set
gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
gpus = ', '.join(gpus) or 'none, models train on the CPU'
print(f"{torch.__version__}; instructions: {instruction_set()}; GPUs: {gpus}")
"""
SECRET_NAMES = re.compile(r"AUTH_STRING|API_KEY|TOKEN$|SECRET|PASSWORD")
IN_ADDRESS = re.compile(r"(\w://)[^/\s]*@")
IN_QUERY = re.compile(r"([?&][^=&\s]*(?:key|token|secret|password)[^=&\s]*=)[^&\s]+", re.IGNORECASE)


class Finding(NamedTuple):
    """The result of a check, and what to do unless it is ok."""

    verdict: str
    text: str
    advice: str = ""


ok, warn, fail = (partial(Finding, verdict) for verdict in ("ok", "warn", "fail"))
Checks = dict[str, Callable[[], Finding]]


def examine(store: str | None, deep: bool, cache: Path, json: bool) -> int:
    """Check this machine, and a store if one is named; 1 if any check fails."""
    ray_folder = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir())
    checks: Checks = {
        "packages": packages,
        "memory": lambda: memory(memory_bytes(), free_memory_bytes(), cores()),
        "room: studies": lambda: disk_space(Path("studies")),
        "room: data": lambda: disk_space(cache),
        "room: Ray": lambda: disk_space(ray_folder, full_at=RAY_IS_FULL_AT),
        "data sets": lambda: data_sets(cache),
        "prefect": prefect,
        "ray": ray,
        "torch": torch,
    }
    if store:
        checks |= _checks_of(store, deep)
    if deep:
        checks["one task"] = one_task
    return print_checks(checks, json)


def print_checks(checks: Checks, json: bool) -> int:
    """Make the checks and print a line for each as soon as it is made; 1 if any fails."""
    rows: list[dict[str, str]] = []
    for name, check in checks.items():
        try:
            verdict, text, advice = check()
        except Exception as error:  # the other checks are still made
            verdict, text, advice = "fail", f"check crashed: {type(error).__name__}: {error}", ""
        text, advice = masked(text), masked(advice)
        rows.append({"name": name, "verdict": verdict, "found": text, "advice": advice})
        if not json:
            print(f"{verdict:<5} {name:<13} {'. '.join(filter(None, (text, advice)))}", flush=True)
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


def packages() -> Finding:
    """What is installed against the lock; the local label of a build does not count."""
    from packaging.requirements import Requirement

    def installed(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return ""

    unfit = [
        f"{package.name} {number or 'is missing'}, accepted {package.specifier}"
        for package in map(Requirement, requires("tolstoy") or [])
        if package.marker is None  # extras have one
        and not package.specifier.contains(number := installed(package.name), prereleases=True)
    ]
    if unfit:
        return fail("; ".join(unfit), "Install from requirements.lock: make setup")
    if not LOCK.is_file():
        return ok("as Tolstoy requires them; there is no requirements.lock")
    locked = dict(line.split("==") for line in LOCK.read_text().split() if "==" in line)
    other = [
        f"{name} {number}, locked {wanted}"
        for name, wanted in locked.items()  # some may be missing, as on another system
        if (number := (installed(name) or wanted).partition("+")[0]) != wanted
    ]
    if other:
        return warn(f"{len(other)} differ: {first(other)}", "Install the lock: make setup")
    return ok(f"as requirements.lock names them ({len(locked)})")


def first(names: list[str], count: int = 5) -> str:
    return "; ".join(names[:count]) + ("; ..." if len(names) > count else "")


def memory(total: float, free: float, workers: int) -> Finding:
    fit = int(free // WORKER_BYTES)
    text = f"{size_text(total)}, {size_text(free)} free: {plural(fit, 'worker')} of "
    text += f"{size_text(WORKER_BYTES)} fit, {plural(workers, 'core')}"
    if fit < workers:
        advice = f"Run fewer: tolstoy run SPEC --workers {fit}" if fit else "Free some memory"
        return warn(text, advice)
    return ok(text)


def disk_space(folder: Path, full_at: float = 1.0) -> Finding:
    """Of a folder that exists or will be created."""
    place = nearest(folder)
    if not os.access(place, WRITE):
        return fail(f"{place} cannot be written", "Choose another folder")
    disk = disk_usage(place)
    text = f"{size_text(disk.free)} free in {folder}"
    if disk.free < TOO_FEW_BYTES:
        return fail(text, "Free some space")
    if 1 - disk.free / disk.total > full_at:
        text += f", more than {full_at:.0%} full"
        return fail(text, "Ray refuses work: free some space, or set RAY_TMPDIR")
    if disk.free < FEW_BYTES:
        return warn(text, "A thousand models take several GB")
    return ok(text)


def nearest(folder: Path) -> Path:
    """The folder, or the one above it in which it would be created."""
    folder = folder.expanduser().absolute()
    return next(place for place in (folder, *folder.parents) if place.exists())


def data_sets(cache: Path) -> Finding:
    files = [file for file in data.prepared_files(cache) if not copies.FILE.fullmatch(file)]
    texts = [f"{file} ({size_text((cache / file).stat().st_size)})" for file in files]
    if own := copies.find(cache):
        size = size_text(sum(copy.bytes for copy in own))
        text = plural(len(own), "copy of own pictures", "copies of own pictures")
        texts.append(f"{text} ({size}; tolstoy data list)")
    text = ", ".join(texts) or "none yet"
    to_fetch = [
        name
        for name in data.DATA_SETS
        if not any(data.is_available(name, source, cache) for source in data.sources(name))
    ]
    if to_fetch:
        text += f"; need a file: {', '.join(to_fetch)} (tolstoy data fetch NAME)"
    return ok(f"prepared: {text}")


def prefect() -> Finding:
    """Which API a run would use; whether it answers us, and in which version."""
    import httpx
    from prefect import settings
    from prefect.client.orchestration import get_client

    current, ours = settings.get_current_settings(), version("prefect")
    url, home = current.api.url, nearest(current.home)
    if not os.access(home, WRITE):
        return fail(f"{home} cannot be written", "Set PREFECT_HOME")
    if not url:
        return ok(f"{ours}, embedded: each run starts its own API on this machine")
    client = get_client(httpx_settings={"timeout": 2.0}, sync_client=True)
    try:
        with settings.temporary_settings({settings.PREFECT_CLIENT_MAX_RETRIES: 0}), client:
            server = client.api_version()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        if isinstance(error, httpx.HTTPStatusError) and error.response.status_code in (401, 403):
            advice = "Set PREFECT_API_AUTH_STRING to the server's USER:PASSWORD"
            return fail(f"{url} refuses us ({error.response.status_code})", advice)
        reason = str(error).partition("\n")[0]
        advice = "Start that server (its address usually ends in /api), or unset PREFECT_API_URL"
        return fail(f"{url} does not answer as Prefect does: {reason}", advice)
    text = f"server {server} at {url}"
    if server.split(".")[:2] != ours.split(".")[:2]:
        return warn(f"{text}, here {ours}", "Install the same version on both")
    return ok(text)


def ray() -> Finding:
    """An address that is not used, tokens that are missing, ports that are open to others."""
    mode, address = os.environ.get("RAY_AUTH_MODE"), os.environ.get("RAY_ADDRESS")
    file = os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token"
    token = f"a token in {file}" if Path(file).expanduser().is_file() else ""
    token = "a token in RAY_AUTH_TOKEN" if os.environ.get("RAY_AUTH_TOKEN") else token
    text = f"{version('ray')}, embedded unless --ray names a cluster; "
    text += f"RAY_AUTH_MODE={mode or '(not set)'}, {token or 'no token'}"
    name, only_local = LOOPBACK_ONLY
    if (value := os.environ.get(name, only_local)) != only_local:
        text += f"; {name}={value}: an embedded Ray listens on every interface"
        return warn(text, f"Unset {name}")
    if mode == "token" and not token:
        return warn(text, "Create one for all machines: ray get-auth-token --generate")
    if address:
        text += "; RAY_ADDRESS is set and not used"
        return warn(text, f"To use that cluster: tolstoy run SPEC --ray {address}")
    return ok(text)


def torch(script: str = TORCH, seconds: float = 60.0) -> Finding:
    """In a separate process: a build that does not suit the processor kills it."""
    run = partial(subprocess.run, capture_output=True, text=True, check=True)
    try:
        return ok(run([sys.executable, "-c", script], timeout=seconds).stdout)
    except subprocess.TimeoutExpired:
        reason = f"its import takes more than {seconds:g} s"
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip() or f"ended with {error.returncode}").splitlines()[-1]
    return fail(reason, "Install it again: make setup")


def one_task() -> Finding:
    """A flow with one task on a worker, as a run starts them."""
    began = time.monotonic()
    host = call_on_a_worker(platform.node)
    text = f"Prefect's API, Ray and a task took {time.monotonic() - began:.1f} s"
    if host != platform.node():
        return fail(f"{text}; the worker answered {host!r}")
    return ok(text)


def _checks_of(place: str, deep: bool) -> Checks:
    """The checks of a store; a single one that fails if this user may not look at the place."""
    try:
        return store_checks(Store(place), deep)
    except OSError as error:
        found = f"{place} cannot be read: {error.strerror or error}"
        return {"store": lambda: fail(found, "Choose a place that you may read and write")}


def store_checks(store: Store, deep: bool) -> Checks:
    """Whether a store can be written, is a study, what of it is damaged, who works on it."""
    if not store.exists():
        return {"store": lambda: ok(f"{store} does not exist; tolstoy run creates it")}
    return {
        "store": lambda: _writable(store),
        "study": lambda: _study(store),
        "parts": lambda: _parts(store, deep),
        "holder": lambda: _drivers(store),
    }


def _writable(store: Store) -> Finding:
    try:
        store.check_writable()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        return fail(f"{store} cannot be written: {reason}", "Free space, or mount it again")
    return ok(f"{store} can be written")


def _study(store: Store) -> Finding:
    if not store.exists(STUDY_FILE):
        if not set(store.names()) - {DRIVERS, CLAIMS}:
            return ok(f"none yet: {store} is empty")
        return fail(f"{store} has files, and no study", "Choose an empty folder")
    try:
        study = stored_study(store)
    except ValueError as error:
        return fail(str(error), "Run it again in another store: tolstoy run SPEC")
    count = f"{len(study.cells()):,} cells × {len(study.seed_list)} seeds"
    return ok(f"{study.name}: {count}; tolstoy status {store}")


def _parts(store: Store, deep: bool) -> Finding:
    """Parts whose end cannot be read, as of a file cut short; if deep, any byte of them and of
    weights."""
    parts = [(table, key) for table in TABLES for key in store.parts(table)]
    deadline = time.monotonic() + STORE_SECONDS
    in_time = takewhile(lambda _: deep or time.monotonic() < deadline, parts)
    is_damaged = {part: store.is_damaged(*part, deep) for part in in_time}
    damaged = [f"{table}/{key}.parquet" for (table, key), bad in is_damaged.items() if bad]
    how = "read" if deep else "looked at; --deep reads every byte"
    text = f"{len(damaged):,} damaged; {len(is_damaged):,} of {len(parts):,} {how}"
    weights = [name for name in store.names("models") if are_damaged(name, store)] if deep else []
    if weights:
        text += f"; the weights of {plural(len(weights), 'model')} damaged"
        damaged += [f"models/{name}/{WEIGHTS}" for name in weights]
    if damaged:
        advice = f"To make it again: tolstoy run SPEC --store {store} --retry damaged"
        return warn(f"{text}: {first(damaged)}", advice)
    return ok(text)


def _drivers(store: Store) -> Finding:
    """Of a driver on another machine only half a minute of watching tells that it is alive."""
    drivers = DriverWatch(store, "", BEAT_SECONDS).drivers()
    texts = [f"{driver} works on it, since {driver.started}" for driver in drivers[Life.ALIVE]]
    texts += [f"{driver}, on another machine, may have crashed" for driver in drivers[Life.UNKNOWN]]
    texts += [f"{driver} crashed" for driver in drivers[Life.DEAD]]
    if drivers[Life.DEAD]:
        return warn("; ".join(texts), "The next tolstoy run takes over")
    return ok("; ".join(texts) or "nobody works on it")
