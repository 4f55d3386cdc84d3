"""A study small enough to run in seconds, and ways to run it as a user does."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.store import Store
from tests.flows.serving import server as server
from tests.processes import descendants

TINY: dict[str, Any] = {
    "name": "tiny",
    "data": ["dsprites"],
    "methods": {"beta_vae": [1, 4], "factor_vae": [10]},
    "seeds": 2,
    "probe": 64,
    "training": {
        "steps": 120,
        "batch_size": 8,
        "learning_rate": 0.001,
        "log_every": 30,
        "checkpoint_seconds": 0.2,
    },
    "metrics": {"names": ["mig", "factor_vae"], "points": 64, "test_points": 16, "group_size": 4},
}
MODELS = 6
TIMELINE = "timeline.json"


def write_spec(path: Path, **changes: Any) -> Path:
    path.write_text(yaml.safe_dump({**TINY, **changes}, sort_keys=False))
    return path


@pytest.fixture(scope="session")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_spec(tmp_path_factory.mktemp("spec") / "tiny.yaml")


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        start_new_session=True,  # a process group, to which a terminal's Ctrl-C goes
    )


def tolstoy(*arguments: object) -> subprocess.CompletedProcess[str]:
    process = start(*arguments)
    out, err = process.communicate(timeout=240)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_for_training(process: subprocess.Popen[str], store: Path, checkpoints: int = 1) -> int:
    """Wait until models are under way, past a checkpoint; returns a worker that is training."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        training = [pid for pid, name in descendants(process.pid) if name.startswith("ray::train")]
        if training and len(list(store.glob("models/*/checkpoint.pt"))) >= checkpoints:
            return training[0]
        time.sleep(0.05)
    raise AssertionError("no model was under way within two minutes")


def contents(store: Path | str) -> dict[str, Any]:
    """Everything in a store that must not depend on how the run went."""
    place = Store(store)
    weights = {
        name: hashlib.sha256(place.read_bytes("models", name, "weights.safetensors")).hexdigest()
        for name in place.names("models")
    }
    rows_of: dict[str, Any] = {"weights": weights}
    tables = ("models", "curves", "representations", "pictures", "scores", "pairs", "ranks")
    for table in (*tables, "dynamics"):
        rows = place.read(table).to_pylist()
        for row in rows:
            for name in ("seconds", "memory_mb", "tries"):
                row.pop(name, None)
        rows_of[table] = sorted(rows, key=repr)
    return rows_of


@pytest.fixture(scope="session")
def undisturbed(spec: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a run that nobody disturbed, with two workers; beside it, its timeline."""
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    timeline = store.parent / TIMELINE
    done = tolstoy("run", spec, "--store", store, "--workers", 2, "--timeline", timeline)
    assert done.returncode == 0, done.stderr
    return store
