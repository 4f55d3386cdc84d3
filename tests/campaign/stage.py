"""Everything that one campaign runs on, and the study that it runs."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from infra.store import Store
from tests.campaign.bucket import Bucket
from tests.campaign.clock import Clock
from tests.campaign.disk import Disk
from tests.campaign.family import adopt_orphans, end_all, kill_tree, ours
from tests.campaign.network import Network
from tests.campaign.prefect_on_postgres import Postgres, PrefectServer
from tests.campaign.ray_cluster import RayCluster
from tests.flows.conftest import TINY, write_spec

PLUG_IN = Path(__file__).with_name("plug_in")
LOSE_GPU = "lose-gpu"
ENDING_SECONDS = 90.0  # a driver that is told to end, or has lost its cluster, does so within these


class Lost(AssertionError):
    """A fault had a consequence that it must not have."""


@dataclass
class Driver:
    """A `tolstoy run`, and what it says."""

    process: subprocess.Popen[bytes]
    log: Path
    began: float = field(default_factory=time.monotonic)

    @property
    def code(self) -> int | None:
        return self.process.poll()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")


@dataclass
class Stage:
    folder: Path
    spec: Path
    disk: Disk
    clock: Clock
    network: Network
    bucket: Bucket
    cluster: RayCluster
    database: Postgres
    server: PrefectServer
    environment: dict[str, str]
    say: Callable[[str], None] = print
    drivers: int = 0
    uri: str = ""  # of the store, as drivers have it
    store: Store = field(default_factory=lambda: Store("/"))  # the same, past the bucket's proxy
    flipped: set[tuple[str, str]] = field(default_factory=set)  # parts of tables
    mixed: bool = False  # whether a node of another type worked on it
    tries: int = 10
    driver: Driver | None = None
    disturbed: int = 0  # faults so far
    active_faults: int = 0  # of these, how many are not over

    @property
    def lose_gpu(self) -> Path:
        """While this file exists, the first process that trains loses its GPU."""
        return self.folder / LOSE_GPU

    def new_round(self, number: int, in_bucket: bool = False) -> None:
        """A new store; those of earlier rounds, which were right, are removed."""
        for older in self.disk.folder.glob("store-*"):
            shutil.rmtree(older)
        name = f"store-{number}"
        self.uri = self.bucket.uri(name) if in_bucket else str(self.disk.folder / name)
        self.store = Store(self.bucket.uri(name, False) if in_bucket else self.uri)
        self.tries, self.driver = 10, None
        self.flipped, self.mixed = set(), False
        self.lose_gpu.unlink(missing_ok=True)
        self.clock.jump(0)

    @property
    def has_damage(self) -> bool:
        """Whether a part that was damaged on purpose is still there as it was."""
        return any(self.store.is_damaged(*part, deep=True) for part in self.flipped)

    def drivers_in_store(self) -> list[str]:
        return [name for name in self.store.names("drivers") if name.endswith(".json")]

    def start_driver(self, *more: str) -> Driver:
        arguments = ["run", str(self.spec), "--store", self.uri]
        arguments += ["--ray", self.cluster.address, "--set", f"running.tries={self.tries}", *more]
        settings = {"PREFECT_API_URL": self.server.url, **self.cluster.settings}
        return self.tolstoy(arguments, {**settings, **self.clock.environment})

    def tolstoy(self, arguments: list[str], settings: dict[str, str]) -> Driver:
        self.drivers += 1
        log = self.folder / "drivers" / f"{self.drivers}.log"
        log.parent.mkdir(exist_ok=True)
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "flows.cli", *arguments],
                env={**self.environment, **settings},
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        return Driver(process, log)

    def calm_since(self, before: int) -> bool:
        """Whether the calling fault was the only one since then."""
        return self.disturbed == before + 1 and self.active_faults <= 1

    def mend(self) -> None:
        """Restart everything after a round that was lost."""
        if self.driver:
            kill_tree(self.driver.pid)
            self.driver.process.wait()
        self.disk.free()
        self.disk.release()
        self.network.mend()
        self.bucket.bad_day, self.cluster.switches = "", {}
        self.server.kill()
        self.database.stop()
        self.database.start()
        self.server.start()
        self.server.give_up()
        self.cluster.start()

    def workers(self, *kinds: str) -> list[int]:
        return [pid for kind in kinds for pid in ours(f"ray::{kind}")]

    def outcome(self, model_id: str) -> tuple[str, str]:
        """Status and reason of a model, as far as there is a row."""
        for row in self.store.read("models", ["model_id", "status", "reason"]).to_pylist():
            if row["model_id"] == model_id:
                return row["status"], row["reason"]
        return "", ""


@contextmanager
def set_up() -> Iterator[Stage]:
    """Start everything; whatever happens then, all of it ends."""
    adopt_orphans()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="tolstoy-"))  # short: Ray has sockets below it
    folder.chmod(0o711)  # PostgreSQL may be another user
    disk, network = Disk(folder / "disk"), Network()
    bucket = Bucket(network.head, late_seconds=lambda: random.uniform(1, 8))
    try:
        yield _started(folder, disk, network, bucket)
    finally:
        end_all()
        bucket.stop()
        network.remove()
        disk.remove()
        if os.environ.get("TOLSTOY_KEEP"):
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path, disk: Disk, network: Network, bucket: Bucket) -> Stage:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RAY_", "PREFECT_", "AWS_"))
    }
    environment |= {
        "COLUMNS": "200",
        "OMP_NUM_THREADS": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "DO_NOT_TRACK": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_HOME": str(folder / "prefect"),
    }
    training = {**TINY["training"], "minutes_per_model": 1.0}
    metrics = {**TINY["metrics"], "minutes_per_model": 1.0}
    running = {"storage_minutes": 5}
    spec = write_spec(
        folder / "tiny.yaml", seeds=3, training=training, metrics=metrics, running=running
    )
    places = [str(PLUG_IN), *filter(None, [environment.get("PYTHONPATH")])]
    loses_gpus = {"PYTHONPATH": os.pathsep.join(places), "TOLSTOY_LOSE_GPU": str(folder / LOSE_GPU)}
    cluster = RayCluster(folder, {**environment, **loses_gpus}, network)
    cluster.start()
    database = Postgres(folder)
    server = PrefectServer(folder, database, environment)
    server.start()
    clock = Clock(folder)
    return Stage(folder, spec, disk, clock, network, bucket, cluster, database, server, environment)
