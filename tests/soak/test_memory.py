"""The slope of a soak finds growth that is there, and none that is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.processes import wait_until
from tests.soak.memory import Sample, private_megabytes, role_of, settled, slope, slopes


def walk(growth: float, rng: np.random.Generator, length: int = 90) -> list[tuple[float, float]]:
    """A process that grows, with noise of which each value resembles the one before."""
    noise = 0.0
    points = []
    for x in range(length):
        noise = 0.7 * noise + rng.normal()
        points.append((float(x), 100 + growth * x + noise))
    return points


def test_least_squares_with_an_offset_for_each_process() -> None:
    rng = np.random.default_rng(0)
    lines = [[(x, 0.25 * x + offset) for x in rng.uniform(0, 9, 6)] for offset in (0.0, 500.0)]
    found = slope(lines)
    assert found is not None and found.per_unit == pytest.approx(0.25)
    assert found.error == pytest.approx(0, abs=1e-6)
    assert (found.processes, found.samples) == (2, 12)
    assert slope([[(0.0, 1.0), (1.0, 2.0)]]) is None, "too few samples"


@pytest.mark.parametrize("growth", [0.0, 0.3])
def test_nine_of_ten_intervals_hold_the_growth(growth: float) -> None:
    """95 of 100 with a known correlation; ours is estimated from the same samples."""
    rng = np.random.default_rng(1)
    found = [slope([walk(growth, rng), walk(growth, rng)]) for _ in range(200)]
    hits = [abs(value.per_unit - growth) < value.error for value in found if value]
    assert len(hits) == 200 and sum(hits) >= 180


def test_the_first_seconds_of_each_process_are_left_out() -> None:
    samples = [
        Sample(float(second), second, "workers", pid, 10.0 * (second - began < 3))
        for pid, began in ((1, 0), (2, 20))
        for second in range(began, 40)
    ]
    kept = settled(samples, since=10, warm=5)
    assert min(s.seconds for s in kept if s.pid == 1) == 10
    assert min(s.seconds for s in kept if s.pid == 2) == 25
    assert slopes(kept, "models", 1)["workers"].per_unit == 0


def test_roles() -> None:
    assert role_of("ray::train") == role_of("ray::IDLE") == "workers"
    assert role_of("ray::DashboardAgent") == role_of("ray::RuntimeEnvAgent") == "agents"
    assert role_of("/x/ray/core/src/ray/gcs/gcs_server --log_dir=/y") == "gcs"
    assert role_of("/x/ray/core/src/ray/raylet/raylet --raylet_socket_name=/y") == "raylet"
    server = "python -m uvicorn --app-dir x --factory infra.prefect_app:create_app --port 1"
    assert role_of(server) == "Prefect server"
    assert role_of("sh -c read _; kill 5") == ""


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="no such file here")
def test_private_memory_is_that_of_the_process() -> None:
    code = "x = bytearray(b'1') * 50_000_000; print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stdout.readline()
        megabytes = private_megabytes(process.pid)
        process.kill()
    wait_until(lambda: private_megabytes(process.pid) is None, 20)
    assert megabytes is not None and 50 < megabytes < 80
