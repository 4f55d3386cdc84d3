"""Python and its packages, cores, memory, room on disks, prepared data, torch and GPUs."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from shutil import disk_usage

import data
from flows.commands.data import size_text
from flows.commands.doctor.check import Check, Checks
from infra.runtime import BLAS_KERNELS, blas_kernels, cores

LOCK = Path(__file__).parents[3] / "requirements.lock"
WORKER_BYTES = 1.5e9  # a worker with torch and a data set, about
LITTLE_ROOM = 5e9
NO_ROOM = 0.2e9
RAY_IS_FULL_AT = 0.95  # of the disk: Ray then refuses work
NAMED = 5
TORCH_SECONDS = 60.0
LOOK_AT_TORCH = """
import json, torch
gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
print(json.dumps({"version": torch.__version__, "threads": torch.get_num_threads(), "gpus": gpus}))
"""


def of_machine(cache: Path) -> Checks:
    yield _python()
    yield _packages()
    yield _cores()
    yield _memory()
    yield _blas()
    yield _room("studies", Path("studies"))
    yield _room("data", cache)
    yield _room("Ray", Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()), RAY_IS_FULL_AT)
    yield _data_sets(cache)


def _python() -> Check:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Check("python", "ok", found)


def _packages() -> Check:
    """What is installed beside what the lock names; the local label of a build does not count."""
    from packaging.requirements import Requirement

    missing, unfit = [], []
    for text in requires("tolstoy") or []:
        wanted = Requirement(text)
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        try:
            if not wanted.specifier.contains(version(wanted.name), prereleases=True):
                unfit.append(f"{wanted.name} {version(wanted.name)}, not {wanted.specifier}")
        except PackageNotFoundError:
            missing.append(wanted.name)
    if missing or unfit:
        found = "; ".join([f"{name} is missing" for name in missing] + unfit)
        return Check("packages", "fail", found, "Install from requirements.lock: make setup")
    if not LOCK.is_file():
        return Check("packages", "ok", "as Tolstoy requires them; there is no requirements.lock")
    locked = dict(line.split("==") for line in LOCK.read_text().split() if "==" in line)
    other = []
    for name, wanted_version in locked.items():
        try:
            has = version(name).partition("+")[0]
        except PackageNotFoundError:
            continue  # what Tolstoy needs is there; the lock also names tools for its developers
        if has != wanted_version:
            other.append(f"{name} {has}, not {wanted_version}")
    if other:
        more = f" and {len(other) - NAMED} more" if len(other) > NAMED else ""
        found = f"{len(other)} unlike requirements.lock: {'; '.join(other[:NAMED])}{more}"
        return Check("packages", "warn", found, "Tested are those of the lock: make setup")
    return Check("packages", "ok", f"as requirements.lock names them ({len(locked)})")


def _cores() -> Check:
    there = os.cpu_count() or 1
    part = f" of {there}, which this process may use" if cores() < there else ""
    workers = "1 worker" if cores() == 1 else f"{cores()} single-threaded workers"
    return Check("cores", "ok", f"{cores()}{part}: {workers}")


def _memory() -> Check:
    total = _bytes_of_memory()
    if total is None:
        return Check("memory", "ok", "unknown on this system")
    found = f"{size_text(total)}, {size_text(total / cores())} per worker"
    if total < WORKER_BYTES * cores():
        fewer = max(1, int(total / WORKER_BYTES))
        return Check("memory", "warn", found, f"Run fewer: tolstoy run SPEC --workers {fewer}")
    return Check("memory", "ok", found)


def _bytes_of_memory() -> float | None:
    """Of the machine, or what a container may use of it."""
    try:
        total = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return None
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, float(Path(limit).read_text()))
        except (OSError, ValueError):  # not Linux, or no limit
            continue
    return total


def _blas() -> Check:
    if own := os.environ.get(BLAS_KERNELS):
        return Check("blas", "ok", f"{BLAS_KERNELS}={own}, as your environment says")
    if chosen := blas_kernels().get(BLAS_KERNELS):
        return Check("blas", "ok", f"AVX-512: workers have OpenBLAS take its {chosen} kernels")
    return Check("blas", "ok", "no AVX-512: OpenBLAS chooses its kernels")


def _room(whose: str, folder: Path, full_at: float = 1.0) -> Check:
    """StorageWait where something is, or will be made."""
    name, there = f"room: {whose}", folder.expanduser().absolute()
    while not there.exists():
        there = there.parent
    disk = disk_usage(there)
    found = f"{size_text(disk.free)} free in {folder}"
    if not os.access(there, os.W_OK | os.X_OK):
        return Check(name, "fail", f"{there} cannot be written", "Choose or free another folder")
    if disk.free < NO_ROOM:
        return Check(name, "fail", found, "Free some")
    if 1 - disk.free / disk.total > full_at:
        advice = "Ray refuses work on a disk that full: free some, or set RAY_TMPDIR"
        return Check(name, "fail", f"{found}, more than {full_at:.0%} full", advice)
    if disk.free < LITTLE_ROOM:
        return Check(name, "warn", found, "A thousand models take several GB")
    return Check(name, "ok", found)


def _data_sets(cache: Path) -> Check:
    sizes = {file: (cache / file).stat().st_size for file in data.prepared_files(cache)}
    listed = ", ".join(f"{file} ({size_text(size)})" for file, size in sizes.items())
    to_fetch = [
        name
        for name in data.DATA_SETS
        if not any(data.at_hand(name, source, cache) for source in data.sources(name))
    ]
    found = f"prepared: {listed or 'none yet'}"
    if to_fetch:
        found += f"; need a file: {', '.join(to_fetch)} (tolstoy data fetch NAME)"
    return Check("data sets", "ok", found)


class Torch:
    """Looks at torch in a process of its own, beside what else is looked at.

    A build that does not suit the processor kills the process that imports it.
    """

    def __enter__(self) -> Torch:
        command = [sys.executable, "-c", LOOK_AT_TORCH]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def checks(self) -> Checks:
        try:
            out, err = self.process.communicate(timeout=TORCH_SECONDS)
        except subprocess.TimeoutExpired:
            found = f"its import takes more than {TORCH_SECONDS:.0f} s"
            yield Check("torch", "fail", found, "Install it again: make setup")
            return
        if self.process.returncode:
            said = (err.strip().splitlines() or [f"ended with {self.process.returncode}"])[-1]
            yield Check("torch", "fail", said, "Install it again: make setup")
            return
        facts = json.loads(out)
        threads = f"{facts['threads']} threads by default, one in each worker"
        yield Check("torch", "ok", f"{facts['version']}, {threads}")
        gpus = ", ".join(facts["gpus"]) or "none: models train on the CPU"
        yield Check("gpus", "ok", gpus)
