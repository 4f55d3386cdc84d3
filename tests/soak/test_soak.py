"""`make test-soak`: thousands of tiny models with faults at random; does memory stay flat?

A standing Prefect server and a standing Ray cluster, as on a machine that serves for weeks. Workers
are killed at random all the time, and the driver in the first half; the second half is measured.
After TOLSTOY_SOAK_MINUTES the study is interrupted. TOLSTOY_SOAK_MODELS says how many models there
are, and TOLSTOY_SEED repeats the faults.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from infra.prefect_server import dashboard
from infra.runtime import quieten
from infra.store import Store
from tests.campaign.family import adopt_orphans, end_all, free_port, ours, send
from tests.campaign.ray_cluster import RayCluster
from tests.flows.conftest import write_spec
from tests.soak.memory import Sample, Slope, sampled, settled, slopes

MODELS = int(os.environ.get("TOLSTOY_SOAK_MODELS") or 2000)
MINUTES = float(os.environ.get("TOLSTOY_SOAK_MINUTES") or 30)
SEEDS = 50  # of a cell, as in the study of 2019
EVERY_SECONDS = 10.0
WARM_SECONDS = 60.0  # in which a process imports and trains its first models
WORKER_KILLS = 25  # models between two, on average
DRIVER_KILLS = 500  # models for each
HALF = 0.5  # of the models or of the minutes, whichever comes first
ENDING_SECONDS = 120.0
LEAST_MODELS = 1000  # of fewer the slopes are printed only: processes have hardly settled
BOUNDS = {  # MB for 1,000 models; the full study has 12,600
    "driver": 20.0,
    "Prefect server": 20.0,
    "workers": 20.0,
    "gcs": 10.0,
    "raylet": 10.0,
    "agents": 10.0,
}


class Soak:
    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.store = folder / "store"
        self.samples: list[Sample] = []
        self.killed = {"workers": 0, "drivers": 0}
        self.drivers = 0
        self.began = 0.0
        outside = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "PREFECT_"))}
        self.environment = outside | {
            "OMP_NUM_THREADS": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "PREFECT_HOME": str(folder / "prefect"),
        }
        cells = max(1, MODELS // SEEDS)
        self.spec = write_spec(
            folder / "soak.yaml",
            name="soak",
            methods={"beta_vae": [float(strength) for strength in range(1, cells + 1)]},
            seeds=SEEDS,
            training={"steps": 3, "batch_size": 8, "log_every": 1},
            metrics={"names": ["mig"], "points": 64, "test_points": 16, "group_size": 4},
            udr={"pools": ["cell"]},
            running={"tries": 10},
        )
        self.models = cells * SEEDS
        kills = max(1, self.models // DRIVER_KILLS)
        self.driver_kills = sorted(chance.uniform(0.05, HALF) for _ in range(kills))
        self.said_at = 0.0
        self.halfway = 0.0  # when the second half began

    def run(self, cluster: RayCluster, api: str) -> bool:
        """Run the study to its end, through faults, or until the time is over; whether it ended."""
        self.began = time.monotonic()
        driver = self._started(cluster, api)
        worker_kill = self._next_kill(0)
        due = deadline = 0.0
        while driver.poll() is None or driver.returncode == -signal.SIGKILL:
            if driver.poll() is not None:
                time.sleep(2)
                driver = self._started(cluster, api)
            now, done = time.monotonic(), self.done
            if now >= due:
                self.samples += sampled(os.getpid(), driver.pid, now - self.began, done)
                due = now + EVERY_SECONDS
                self._say(now - self.began)
            part = max(done / self.models, (now - self.began) / (60 * MINUTES))
            if part >= HALF and not self.halfway:
                self.halfway = now - self.began
            if self.driver_kills and part >= self.driver_kills[0]:
                self.driver_kills.pop(0)
                self._strike("drivers", [driver.pid])
                driver.wait()
            elif done >= worker_kill and (victims := self._victims()):
                worker_kill = self._next_kill(done)
                self._strike("workers", [self.chance.choice(victims)])
            if now - self.began > 60 * MINUTES and not deadline:
                driver.send_signal(signal.SIGINT)
                deadline = now + ENDING_SECONDS
            assert not deadline or now < deadline, "a driver did not end after Ctrl-C"
            time.sleep(0.5)
        text = (self.folder / f"driver-{self.drivers}.log").read_text()[-3000:]
        assert driver.returncode == (130 if deadline else 0), text
        return not deadline

    @property
    def done(self) -> int:
        """How many models are trained, merged parts or not: weights are written once."""
        return sum(1 for _ in self.store.glob("models/*/weights.safetensors"))

    def _started(self, cluster: RayCluster, api: str) -> subprocess.Popen[bytes]:
        self.drivers += 1
        arguments = ["run", str(self.spec), "--store", str(self.store), "--ray", cluster.address]
        with (self.folder / f"driver-{self.drivers}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "flows.cli", *arguments],
                env={**self.environment, **cluster.settings, "PREFECT_API_URL": api},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _victims(self) -> list[int]:
        """Workers that are busy; in the second half the oldest is spared, so that one can be
        watched for long."""
        busy = ours("ray::train") + ours("ray::score")
        if not self.halfway:
            return busy
        oldest = min(busy + ours("ray::IDLE"), key=_started_at, default=0)
        return [pid for pid in busy if pid != oldest]

    def _say(self, seconds: float) -> None:
        """A line each minute, so that a soak which is itself killed has printed what it saw."""
        if seconds - self.said_at < 60:
            return
        self.said_at = seconds
        now = [sample for sample in self.samples if sample.seconds == self.samples[-1].seconds]
        sizes = {role: [f"{s.megabytes:.0f}" for s in now if s.role == role] for role in BOUNDS}
        text = ", ".join(f"{role} {'+'.join(size)}" for role, size in sizes.items() if size)
        print(f"{seconds / 60:.0f} min, {now[-1].models} models; MB: {text}", flush=True)

    def _next_kill(self, done: int) -> float:
        return done + self.chance.expovariate(1 / WORKER_KILLS)

    def _strike(self, whom: str, pids: list[int]) -> None:
        send(pids)
        self.killed[whom] += 1

    def half(self) -> list[Sample]:
        """The settled samples of the second half while models are trained. After the last one, all
        cells are merged and compared at once, and memory grows for that."""
        warm = min(WARM_SECONDS, (self.samples[-1].seconds - self.halfway) / 4)
        training = [sample for sample in self.samples if sample.models < self.models]
        return settled(training, self.halfway, warm)


def _started_at(pid: int) -> float:
    try:
        return Path(f"/proc/{pid}").stat().st_ctime
    except FileNotFoundError:  # it has just ended
        return float("inf")


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Soak, RayCluster, str]]:
    adopt_orphans()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="tolstoy-"))  # short: Ray has sockets below it
    seed = int(os.environ.get("TOLSTOY_SEED") or random.SystemRandom().randrange(10**6))
    print(f"\nseed {seed}", flush=True)
    made = Soak(folder, random.Random(seed))
    cluster, port = RayCluster(folder, made.environment), free_port()
    quieten()
    monkeypatch.setenv("PREFECT_HOME", made.environment["PREFECT_HOME"])
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    try:
        with ExitStack() as running:
            running.enter_context(dashboard("127.0.0.1", port))
            cluster.start()
            yield made, cluster, f"http://127.0.0.1:{port}/api"
    finally:
        end_all()
        signal.signal(signal.SIGTERM, before)
        shutil.rmtree(folder, ignore_errors=True)


def table(samples: list[Sample], by_models: dict[str, Slope]) -> str:
    by_time = slopes(samples, "seconds", 3600)
    headings = ("processes", "samples", "MB at end", "MB/1,000 models", "MB/hour")
    lines = [" " * 15 + "".join(f"{heading:>18}" for heading in headings)]
    for role, found in by_models.items():
        end = next(s.megabytes for s in reversed(samples) if s.role == role)
        cells = (found.processes, found.samples, f"{end:.0f}", found, by_time[role])
        lines.append(f"{role:15}" + "".join(f"{cell!s:>18}" for cell in cells))
    return "\n".join(lines)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_memory_stays_flat(soak: tuple[Soak, RayCluster, str]) -> None:
    study, cluster, api = soak
    ended = study.run(cluster, api)
    minutes = (time.monotonic() - study.began) / 60
    print(
        f"{study.done} of {study.models} models in {minutes:.0f} minutes; killed: "
        f"{study.killed['workers']} workers, {study.killed['drivers']} drivers",
        flush=True,
    )
    samples = study.half()
    found = slopes(samples, "models", 1000)
    print("The second half, private memory, slopes with 95 % intervals:")
    print(table(samples, found), flush=True)
    rows = Store(study.store).read("models", ["model_id", "status"]).to_pylist()
    assert len({row["model_id"] for row in rows}) == len(rows), "a model twice"
    assert {row["status"] for row in rows} == {"trained"}
    assert not ended or len(rows) == study.models
    assert study.killed["workers"] and study.killed["drivers"]
    assert {"driver", "Prefect server", "workers"} <= found.keys()
    grew = {role: str(value) for role, value in found.items() if value.low > BOUNDS[role]}
    assert study.done < LEAST_MODELS or not grew, (
        f"MB for 1,000 models, of which {BOUNDS} are allowed: {grew}"
    )
