"""What a worker holds in memory that no other process can use, model after model.

One process with a worker's environment calls what Ray calls (flows/worker.py). The memory is the
most that was anonymous: pages of files, such as those of data sets and libraries, are the system's,
which shares them between processes and takes them back. Linux counts it. Another process reads it
all the time: a thread would hold up the worker.

- `size` is how many small models are trained and scored; the hundredth is the last by default.
- A model of the study's sizes (batch 64, probe 10,000, all metrics of the study, dSprites) comes
  first, with few steps: more do not take more memory. A `size` below 10 leaves it out.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flows import worker
from flows.benchmarks import Row
from infra.peak_memory import private_megabytes
from infra.runtime import WORKER
from infra.store import Store
from tasks.study.reading import parse_study
from tasks.study.spec import Study
from tasks.study.stored import STUDY_FILE, settled_study

MODULE = "flows.benchmarks.memory"
MODELS, FEWEST_WITH_LARGE = 100, 10
SMALL_MODELS = "small models"
POLL_SECONDS = 0.005
LIMIT = 450.0  # MB that a worker is to need
# Else a spec's defaults, which are the study's sizes.
LARGE: dict[str, Any] = {"training": {"steps": 20, "log_every": 10}}
SMALL: dict[str, Any] = {
    "probe": 100,
    "training": {"steps": 3, "log_every": 1},
    "metrics": {"names": ["mig", "sap"], "points": 500, "test_points": 100},
}


def measure(size: int | None = None) -> list[Row]:
    """In a process alone, with the settings of a worker."""
    command = [sys.executable, "-m", MODULE, str(size or MODELS)]
    environment = {**os.environ, **WORKER}
    peaks: dict[str, list[float]] = {}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        place, peak = Path(f"/proc/{process.pid}"), 0.0
        while True:
            peak = max(peak, private_megabytes(place) or 0.0)
            if not select.select([process.stdout], [], [], POLL_SECONDS)[0]:
                continue
            if not (stage := process.stdout.readline().rstrip()):
                break
            peaks.setdefault(stage, []).append(peak)
            peak = 0.0
    if process.returncode:
        raise RuntimeError(f"{MODULE} ended with {process.returncode}")
    return rows_of(peaks)


def rows_of(peaks: Mapping[str, Sequence[float]]) -> list[Row]:
    """Rows from megabytes: of the large model against the limit, of small ones by the first."""
    rows = [
        Row(stage, peak, LIMIT, "MB", LIMIT / peak, "the most at once, against the limit")
        for stage, (peak, *_) in peaks.items()
        if stage != SMALL_MODELS
    ]
    small = peaks[SMALL_MODELS]
    for number in sorted({1, min(10, len(small)), len(small)}):
        peak, note = small[number - 1], "trained and scored, the most at once, against the first"
        rows.append(Row(f"small model {number}", peak, small[0], "MB", small[0] / peak, note))
    return rows


def work(models: int) -> None:
    """What is measured; prints the name of each stage when it ends."""
    import ray  # noqa: F401  (as in a worker)

    with tempfile.TemporaryDirectory() as folder:
        if models >= FEWEST_WITH_LARGE:
            store, study = _study(Path(folder, "large"), 1, LARGE)
            (model,) = study.cells()[0].models
            for stage, call in (("training", worker.train), ("scoring", worker.score)):
                call(str(store), study, model)
                print(f"{stage}, dSprites, batch {study.training.batch_size}", flush=True)
        store, study = _study(Path(folder, "small"), models, SMALL)
        for model in study.cells()[0].models:
            worker.train(str(store), study, model)
            worker.score(str(store), study, model)
            print(SMALL_MODELS, flush=True)


def _study(folder: Path, seeds: int, sizes: dict[str, Any]) -> tuple[Store, Study]:
    spec = {"name": "memory", "data": ["dsprites"], "methods": {"beta_vae": [4]}, "seeds": seeds}
    store = Store(str(folder))
    study = settled_study(parse_study({**spec, **sizes}), store)
    store.write_json(study.model_dump(mode="json"), STUDY_FILE)
    return store, study


if __name__ == "__main__":
    work(int(sys.argv[1]))
