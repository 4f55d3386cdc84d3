"""What the flow, Ray and the store cost per model when training costs nothing.

- Ours: a grid of 12,600 models (252 cells of 50) goes through the real flow and the real store with
  work that only writes its rows; once with Prefect's temporary API, once with a dashboard's server.
- Baseline: as many plain Ray tasks on one reused remote function, which write nothing.
- Bare loop: the same two calls and four files a model, and the same merged cells, in a loop without
  claims, tries, priorities, progress and Prefect.
- A model takes four files of the store. How long it takes to create a file depends on the disk, on
  some disks also on how many files were deleted before. So it is measured, and the note says it.
  TMPDIR chooses the disk; /dev/shm is memory.
- Then the finished grid is surveyed again, and its page is opened in a browser. Where playwright or
  Chromium is missing, that row is left out and a note says so.
"""

from __future__ import annotations

import os
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from flows.benchmarks import Row, browser
from flows.driver import MERGED_TABLES, MERGING, StudyRun
from infra.drivers.lock import driver_lock
from infra.peak_memory import largest_bytes
from infra.prefect_server import prefect_api
from infra.store import Store
from infra.workers import MOST_AHEAD, Workers, running_workers
from metrics import METRICS
from tasks.model_row import write_row
from tasks.study.model import Cell, Model
from tasks.study.reading import parse_study
from tasks.study.spec import Study
from tasks.study.survey import survey

MODELS = 12_600
SEEDS = 50
FILES = 500
PARTS = 4  # files of a model: of its tables models, curves, representations and scores
CURVE = np.arange(1, 11, dtype=np.int32)


def train_nothing(uri: str, study: Study, model: Model) -> str:
    """Write a model's rows without the model."""
    store = Store(uri)
    numbers = CURVE.astype(np.float32)
    names = ("loss", "reconstruction", "kl", "regulariser")
    store.write_part(
        "curves", model.id, {**model.keys, "step": CURVE, **dict.fromkeys(names, numbers)}
    )
    codes = pa.array([[0.0] * model.latents] * study.probe, pa.list_(pa.float32()))
    rows = np.arange(study.probe, dtype=np.int32)
    columns = {**model.keys, "row": rows, "mean": codes, "logvar": codes, "factors": None}
    store.write_part("representations", model.id, columns)
    write_row(model, store, "trained", kl_per_latent=[[1.0] * model.latents])
    return "trained"


def score_nothing(uri: str, study: Study, model: Model) -> str:
    names = list(study.metrics.names)
    protocols = [METRICS[name].protocol for name in names]
    columns = {
        "protocol": protocols,
        "metric": names,
        "part": "score",
        "factor": None,
        "value": 0.0,
        "reason": "",
    }
    Store(uri).write_part(
        "scores", model.id, {**model.keys, **columns, "seconds": 0.0, "stream": ""}
    )
    return "scored"


def compare_nothing(*call: Any) -> list[str]:
    return []


def rank_nothing(*call: Any) -> None:
    pass


def nothing(model: Model, none: Any) -> str:
    return "trained"


def _plain_ray(models: list[Model]) -> float:
    """Seconds for one plain Ray task per model, on one reused remote function."""
    import ray

    remote = ray.remote(num_cpus=1)(nothing)
    began = time.perf_counter()
    ray.get([remote.remote(model, None) for model in models])
    return time.perf_counter() - began


def _bare_loop(study: Study, workers: Workers) -> float:
    """Seconds for the calls and files of a run, and nothing else."""
    import ray

    train, score = (ray.remote(num_cpus=1)(each) for each in (train_nothing, score_nothing))
    most = workers.count * (1 + MOST_AHEAD)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store")
        store.prepare()
        cells = study.cells()
        began = time.perf_counter()
        waiting = [(train, model) for cell in cells for model in cell.models]
        submitted: dict[Any, tuple[Any, Model]] = {}
        while waiting or submitted:
            while waiting and len(submitted) < most:
                call, model = waiting.pop()
                submitted[call.remote(store.uri, study, model)] = call, model
            (ended,), _ = ray.wait(list(submitted), num_returns=1)
            ray.get(ended)
            call, model = submitted.pop(ended)
            if call is train:
                waiting.append((score, model))

        def merge(cell: Cell) -> None:
            for table in MERGED_TABLES:
                store.merge(table, cell.name, [model.id for model in cell.models])

        with ThreadPoolExecutor(MERGING) as pool:
            list(pool.map(merge, cells))
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

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = api_of("127.0.0.1", port)
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite+aiosqlite:///{folder}/prefect.db"
        with (
            patch.dict(os.environ, {"PREFECT_API_DATABASE_CONNECTION_URL": database}),
            dashboard("127.0.0.1", port),
            temporary_settings({PREFECT_API_URL: address}),
        ):
            yield address.removesuffix("/api")


class Seconds(NamedTuple):
    run: float  # all stages on an empty store
    resume: float  # a survey of the finished one
    file: float  # creating one on the store's disk


def seconds_of_a_run(study: Study, workers: Workers) -> Seconds:
    from prefect import flow

    from flows.dashboard.page import DashboardPage, kept_updated
    from flows.study import FEEDERS, run_stages

    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store")
        store.prepare()
        calls = SimpleNamespace(
            train=train_nothing, score=score_nothing, compare=compare_nothing, rank=rank_nothing
        )
        with driver_lock(store) as holder:
            sweep = StudyRun(study, store, survey(study, store), holder, calls)

            def all_stages() -> None:
                with kept_updated(DashboardPage(sweep, None)):
                    run_stages(sweep, workers)

            began = time.perf_counter()
            flow(name="bench orchestration", task_runner=FEEDERS)(all_stages)()
            run = time.perf_counter() - began
        began = time.perf_counter()
        cells = survey(study, store)
        resume = time.perf_counter() - began
        unfinished = sum(len(cell.unfinished) + len(cell.unscored) for cell in cells)
        began = time.perf_counter()
        for number in range(FILES):
            Path(folder, str(number)).touch()
        file = (time.perf_counter() - began) / FILES
    if unfinished:
        raise RuntimeError(f"{unfinished} models were not finished")
    return Seconds(run, resume, file)


def seconds_to_open(dashboard: str) -> float:
    """Seconds until the page of the last run is shown; the browser has shown a page before."""
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


def _per_model(name: str, seconds: Seconds, models: int, base: float, no_browser: str = "") -> Row:
    took, file = 1e3 * seconds.run / models, 1e3 * seconds.file
    note = (
        f"{models} models: flow, Ray and store; aim: 4 ms; a model takes {PARTS} files, and it "
        f"takes {file:.2g} ms to create one on this disk"
    )
    if no_browser:
        note += f"; the page is not measured: {no_browser}"
    return Row(name, took, base, "ms", base / took, note)


def measure(size: int | None = None) -> list[Row]:
    study = grid(size or MODELS)
    models = [model for cell in study.cells() for model in cell.models]
    with running_workers() as workers:
        _plain_ray(models[:64])  # starts the workers
        plain, bare = [_plain_ray(models)], [_bare_loop(study, workers)]
        with prefect_api():
            embedded = seconds_of_a_run(study, workers)
        plain.append(_plain_ray(models))
        bare.append(_bare_loop(study, workers))
        with dashboard_api() as dashboard:
            server = seconds_of_a_run(study, workers)
            no_browser = browser.missing()
            opened = None if no_browser else seconds_to_open(dashboard)
        plain.append(_plain_ray(models))
    peak = largest_bytes() / 2**20
    count, base = len(models), 1e3 * statistics.median(plain) / len(models)
    calls_and_files = 1e3 * statistics.mean(bare) / count
    took = 1e3 * embedded.run / count
    rows = [
        _per_model("per model, embedded", embedded, count, base),
        _per_model("per model, server", server, count, base, no_browser),
        Row(
            "against a bare loop",
            took,
            calls_and_files,
            "ms",
            calls_and_files / took,
            "per model, embedded; the loop makes the same calls and files, and no more",
        ),
        Row(
            "resume",
            embedded.resume,
            10.0,
            "s",
            10 / embedded.resume,
            "of the finished grid, against the aim",
        ),
        Row("driver's memory", peak, 1024.0, "MiB", 1024 / peak, "peak, against the aim of 1 GiB"),
    ]
    if opened is not None:
        note = "of the finished run on the dashboard, against the aim"
        rows.append(Row("page opens", opened, 1.0, "s", 1 / opened, note))
    return rows
