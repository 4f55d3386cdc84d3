"""Memory of the processes of a soak: sampled, and its slope by least squares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.processes import descendants

PRIVATE = re.compile(r"^Private_\w+:\s+(\d+) kB", re.M)
ROLES = {  # what a command must match
    "Prefect server": r".* -m uvicorn .*infra\.prefect_app",
    "gcs": r"\S*/gcs_server ",
    "raylet": r"\S*/raylet/raylet ",
    "agents": r"ray::\w+Agent",
    "workers": r"ray::(?!\w+Agent)",
}
LEAST = 4  # samples of a process
DEVIATIONS = 1.96  # of a normal distribution, on either side of 95 % of it


@dataclass(frozen=True)
class Sample:
    """The private memory of one process when so many models were done."""

    seconds: float
    models: int
    role: str
    pid: int
    megabytes: float


@dataclass(frozen=True)
class Slope:
    """Growth for each unit of x, common to all processes of a role, and 95 % of its error."""

    per_unit: float
    error: float
    processes: int
    samples: int

    @property
    def low(self) -> float:
        return self.per_unit - self.error

    def __str__(self) -> str:
        return f"{self.per_unit:+.2f} ± {self.error:.2f}"


def private_megabytes(pid: int) -> float | None:
    """What the system would get back if this process ended; shared libraries do not count."""
    with suppress(OSError):
        found = PRIVATE.findall(Path(f"/proc/{pid}/smaps_rollup").read_text())
        return sum(map(int, found)) * 1024 / 1e6 if found else None
    return None


def sampled(root: int, driver: int, seconds: float, models: int) -> list[Sample]:
    """A sample of every process below a root that has a role."""
    samples = []
    for pid, command in descendants(root):
        role = "driver" if pid == driver else role_of(command)
        if role and (megabytes := private_megabytes(pid)):
            samples.append(Sample(seconds, models, role, pid, megabytes))
    return samples


def role_of(command: str) -> str:
    return next((role for role, text in ROLES.items() if re.match(text, command)), "")


def settled(samples: Iterable[Sample], since: float, warm: float) -> list[Sample]:
    """Samples from then on, without the first seconds of each process, in which it imports."""
    began: dict[int, float] = {}
    kept = []
    for sample in sorted(samples, key=lambda sample: sample.seconds):
        began.setdefault(sample.pid, sample.seconds)
        if sample.seconds >= max(since, began[sample.pid] + warm):
            kept.append(sample)
    return kept


def slope(processes: Iterable[Sequence[tuple[float, float]]]) -> Slope | None:
    """Least squares of (x, y) with one slope, and an offset for each process.

    What is left over after the fit depends on what was left over before, so that fewer samples are
    independent: the error is that of so many fewer, by the correlation of neighbours.
    """
    kept = [np.array(points) for points in processes if len(points) >= LEAST]
    if not kept:
        return None
    centred = [points - points.mean(axis=0) for points in kept]
    x, y = np.concatenate(centred).T
    spread = float(x @ x)
    if spread == 0:
        return None
    estimate = float(x @ y) / spread
    left = [points[:, 1] - estimate * points[:, 0] for points in centred]
    squares = sum(float(rest @ rest) for rest in left)
    neighbours = sum(float(rest[1:] @ rest[:-1]) for rest in left)
    correlation = min(0.95, max(0.0, neighbours / squares)) if squares else 0.0
    free = max(1, len(x) - len(kept) - 1)
    error = np.sqrt(squares / free / spread * (1 + correlation) / (1 - correlation))
    return Slope(estimate, DEVIATIONS * float(error), len(kept), len(x))


def slopes(samples: Sequence[Sample], x: str, unit: float) -> dict[str, Slope]:
    """The slope of each role, for each `unit` of a sample's field `x`."""
    of_role: dict[str, dict[int, list[tuple[float, float]]]] = {}
    for sample in samples:
        points = of_role.setdefault(sample.role, {}).setdefault(sample.pid, [])
        points.append((getattr(sample, x) / unit, sample.megabytes))
    found = {role: slope(processes.values()) for role, processes in of_role.items()}
    return {role: value for role, value in found.items() if value is not None}
