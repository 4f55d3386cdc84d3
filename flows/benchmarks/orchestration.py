"""What the flow, Ray and the store cost per model when training costs nothing.

A grid of 12,600 models (252 cells of 50) goes through the real flow and the real store with work
that only writes its rows, on Prefect's temporary API and on a server with a dashboard; the baseline
is as many plain Ray tasks on one reused remote function that write nothing. Then the finished grid
is looked at again.
"""

from __future__ import annotations

import resource
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flows.benchmarks import Row
from flows.driver import StudyRun
from flows.work import Work
from infra.drivers.lock import driver_lock
from infra.prefect_server import prefect_api
from infra.store import Store
from infra.workers import Workers, running_workers
from tasks.model_row import write_outcome
from tasks.orders import ComparisonOrder, ScoringOrder, TrainingOrder
from tasks.study.model import Model
from tasks.study.reading import parse_study
from tasks.study.spec import Study
from tasks.study.survey import survey
from tests import browser

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


@contextmanager
def dashboard_api() -> Iterator[str]:
    """The address of a Prefect server with a dashboard, as `tolstoy serve` starts it."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    from infra.prefect_server import api_of, dashboard

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        place = f"sqlite+aiosqlite:///{folder}/prefect.db"
        patch.setenv("PREFECT_API_DATABASE_CONNECTION_URL", place)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        address = api_of("127.0.0.1", port)
        with dashboard("127.0.0.1", port), temporary_settings({PREFECT_API_URL: address}):
            yield address.removesuffix("/api")


def seconds_of_a_run(study: Study, workers: Workers) -> tuple[float, float]:
    """Of all stages over an empty store, and of looking at the finished one."""
    from prefect import flow

    from flows.dashboard.page import DashboardPage, kept_updated
    from flows.study import FEEDERS, run_sweep

    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store")
        store.prepare()
        work = Work(train_nothing, score_nothing, compare_nothing)
        with driver_lock(store) as holder:
            sweep = StudyRun(study, store, survey(study, store), work, holder)

            def all_stages() -> None:
                with kept_updated(DashboardPage(sweep, study, store, None)):
                    run_sweep(sweep, workers)

            began = time.perf_counter()
            flow(name="bench orchestration", task_runner=FEEDERS)(all_stages)()
            through_flow = time.perf_counter() - began
        began = time.perf_counter()
        found = survey(study, store)
        resume = time.perf_counter() - began
        left = sum(len(one.left) + len(one.unscored) for one in found)
    if left:
        raise RuntimeError(f"{left} models were not done")
    return through_flow, resume


def seconds_to_open(dashboard: str) -> float:
    """The page of the run that was last, in a browser that has shown a page before."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.sorting import FlowRunSort

    latest = get_client(sync_client=True).read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=1)
    with tempfile.TemporaryDirectory() as profile, browser.page(Path(profile)) as page:
        page.goto(f"{dashboard}/runs")
        page.get_by_text(latest[0].name).first.wait_for()
        began = time.perf_counter()
        page.goto(f"{dashboard}/runs/flow-run/{latest[0].id}")
        page.get_by_text("Completed").first.wait_for()
        return time.perf_counter() - began


def measure(size: int | None = None) -> list[Row]:
    study = grid(size or MODELS)
    models = [model for cell in study.cells() for model in cell.models]
    with running_workers() as workers:
        _plain_ray(models[:64])  # starts the workers
        plain = [_plain_ray(models)]
        with prefect_api():
            embedded, resume = seconds_of_a_run(study, workers)
        plain.append(_plain_ray(models))
        with dashboard_api() as dashboard:
            server, _ = seconds_of_a_run(study, workers)
            opened = None if browser.missing() else seconds_to_open(dashboard)
        plain.append(_plain_ray(models))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    count, base = len(models), 1e3 * statistics.median(plain) / len(models)
    what = f"{count} models: flow, Ray and store; aim: under 5 ms"
    runs = {"embedded": 1e3 * embedded / count, "server": 1e3 * server / count}
    rows = [
        *(Row(f"per model, {n}", each, base, "ms", base / each, what) for n, each in runs.items()),
        Row("resume", resume, 10.0, "s", 10 / resume, "of the finished grid, against the aim"),
        Row("driver's memory", peak, 1024.0, "MiB", 1024 / peak, "peak, against the aim of 1 GiB"),
    ]
    if opened is not None:
        note = "of the finished run on the dashboard, against the aim"
        rows.append(Row("page opens", opened, 1.0, "s", 1 / opened, note))
    return rows
