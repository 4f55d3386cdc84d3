"""What the flow, Ray and the store cost per model when training costs nothing.

A grid of 12,600 models (252 cells of 50) goes through the real flow and the real store with work
that only writes its rows; the baseline is as many plain Ray tasks on one reused remote function
that write nothing. Then the finished grid is run again.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from flows.spec import Study, parse_study
from infra.store import Store
from tasks.outcome import write_outcome
from tasks.settings import ComparisonOrder, Model, ScoringOrder, TrainingOrder
from tests.benchmarks import Row

MODELS = 12_600
SEEDS = 50
CURVE = np.arange(1, 11, dtype=np.int32)


def train_nothing(model: Model, order: TrainingOrder) -> str:
    """A model's rows without the model."""
    store = Store(order.store)
    numbers = CURVE.astype(np.float32)
    names = ("loss", "reconstruction", "kl", "regulariser")
    store.write_part(
        "curves", model.id, {**model.keys, "step": CURVE, **dict.fromkeys(names, numbers)}
    )
    codes = pa.array([[0.0] * model.latents] * order.probe, pa.list_(pa.float32()))
    rows = np.arange(order.probe, dtype=np.int32)
    columns = {**model.keys, "row": rows, "mean": codes, "logvar": codes}
    store.write_part("representations", model.id, columns)
    write_outcome(model, store, "trained", kl_per_latent=[[1.0] * model.latents])
    return "trained"


def score_nothing(model: Model, order: ScoringOrder) -> str:
    names = list(order.metrics.names)
    columns = {"metric": names, "part": "score", "factor": None, "value": 0.0, "reason": ""}
    Store(order.store).write_part(
        "scores", model.id, {**model.keys, **columns, "seconds": 0.0, "stream": ""}
    )
    return "scored"


def compare_nothing(group: str, models: list[Model], order: ComparisonOrder) -> str:
    return "compared"


def nothing(model: Model, order: Any) -> str:
    return "trained"


def _plain_ray(models: list[Model]) -> float:
    """Seconds for one plain Ray task per model, on one reused remote function."""
    import ray

    remote = ray.remote(num_cpus=1)(nothing)
    began = time.perf_counter()
    ray.get([remote.remote(model, None) for model in models])
    return time.perf_counter() - began


def grid(models: int) -> Study:
    """Cells of 50 models, as many as it takes."""
    cells = max(1, models // SEEDS)
    return parse_study(
        {
            "name": "nothing",
            "data": ["dsprites"],
            "methods": {"beta_vae": [float(strength) for strength in range(cells)]},
            "seeds": SEEDS,
            "probe": 10,
        }
    )


def measure(size: int | None = None) -> list[Row]:
    from prefect import flow

    from flows.study import FEEDERS, run_sweep
    from flows.survey import survey
    from flows.sweep import Sweep, Work
    from infra.runtime import prefect_api, running_workers

    study = grid(size or MODELS)
    models = [model for cell in study.cells() for model in cell.models]
    with tempfile.TemporaryDirectory() as folder, prefect_api(), running_workers() as workers:
        store = Store(Path(folder) / "store")
        store.prepare()
        _plain_ray(models[:64])  # starts the workers
        before = _plain_ray(models)
        sweep = Sweep(
            study, store, survey(study, store), Work(train_nothing, score_nothing, compare_nothing)
        )
        began = time.perf_counter()
        flow(name="bench orchestration", task_runner=FEEDERS)(lambda: run_sweep(sweep, workers))()
        through_flow = time.perf_counter() - began
        plain = statistics.median([before, _plain_ray(models)])
        began = time.perf_counter()
        found = survey(study, store)
        resume = time.perf_counter() - began
        left = sum(len(one.left) + len(one.unscored) for one in found)
    if left:
        raise RuntimeError(f"{left} of {len(models)} models were not done")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    count = len(models)
    each, base = 1e3 * through_flow / count, 1e3 * plain / count
    return [
        Row("per model", each, base, "ms", base / each, f"{count} models: flow, Ray and store"),
        Row("over plain Ray", each - base, base, "ms", base / (each - base), "aim: under 10 ms"),
        Row("resume", resume, plain, "s", plain / resume, "survey of the finished grid"),
        Row(
            "driver's memory", peak, 1024.0, "MiB", 1024.0 / peak, "peak, against the aim of 1 GiB"
        ),
    ]
