"""The Prefect flow of a study: plan -> train -> score -> compare -> report.

Prefect has one task per cell and stage, never one per model: a Prefect run costs a hundred times
what a plain Ray task does, and a dashboard of 252 cells can be read.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact, create_progress_artifact
from prefect.artifacts import update_progress_artifact as update_progress
from prefect.cache_policies import NO_CACHE
from prefect.task_runners import ThreadPoolTaskRunner

from flows.progress import shown
from flows.reporting import median_rows, renewed_report
from flows.spec import Study
from flows.survey import survey
from flows.sweep import Sweep, Work
from infra.errors import WrongInput
from infra.runtime import Workers, running_workers
from infra.store import Store
from tasks.data_sets import load
from tasks.settings import DataChoice

CELLS_AT_ONCE = 16  # threads that feed Ray; Ray's own queue decides what runs

FEEDERS: Any = ThreadPoolTaskRunner(max_workers=CELLS_AT_ONCE)


def _stage(name: str) -> Callable[[Callable[..., Any]], Any]:
    return task(
        name=name,
        task_run_name=name + " {name}",
        cache_policy=NO_CACHE,
        persist_result=False,
        log_prints=False,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """What a user can mend is told once, at the end, and not by Prefect as well."""
    try:
        yield
    except WrongInput:
        _silence()
        raise


@_stage("prepare")
def prepare(choice: DataChoice, name: str) -> None:
    """Have a data set's cache ready once, before a worker per core asks for it."""
    with _quiet():
        load(choice)


@_stage("train")
def train(sweep: Sweep, workers: Workers, name: str) -> None:
    with _quiet():
        sweep.train(workers, name)


@_stage("score")
def score(sweep: Sweep, workers: Workers, name: str, advance: Callable[[], None]) -> None:
    with _quiet():
        sweep.score(workers, name)
    advance()


@_stage("compare")
def compare(sweep: Sweep, workers: Workers, name: str) -> None:
    with _quiet():
        sweep.compare(workers, name)


@_stage("report")
def report(study: Study, store: Store, name: str) -> None:
    """The report, and a table of medians on the flow run's page."""
    path = renewed_report(study, store)
    head, rows = median_rows(study, store, survey(study, store))
    lines = [f"Report: `{path}`", "", _markdown(head), _markdown(["---"] * len(head))]
    lines += [_markdown(row) for row in rows]
    with suppress(Exception):  # a dashboard that is away costs no report
        create_markdown_artifact("\n".join(lines), f"{_key(name)}-scores")


def _markdown(row: Sequence[object]) -> str:
    return "| " + " | ".join(map(str, row)) + " |"


def run_sweep(sweep: Sweep, workers: Workers) -> None:
    """Submit every cell's stages and wait for them."""
    ready = {one.name: prepare.submit(one, one.name) for one in sweep.study.data}
    advance = _progress_artifact(sweep)
    trained, scored = {}, []
    for name, one in sweep.cells.items():
        first = ready[one.cell.models[0].data]
        trained[name] = train.submit(sweep, workers, name, wait_for=[first])
        scored.append(score.submit(sweep, workers, name, advance, wait_for=[trained[name]]))
    compared = [
        compare.submit(sweep, workers, group, wait_for=[trained[cell.name] for cell in cells])
        for group, cells in sweep.groups.items()
    ]
    try:
        for future in [*ready.values(), *trained.values(), *scored, *compared]:
            future.result()
    except BaseException:  # Ctrl-C above all: the threads that feed Ray end within a poll
        workers.stop.set()
        _silence()
        raise


def _progress_artifact(sweep: Sweep) -> Callable[[], None]:
    """A bar on the flow run's page that moves with every cell that is done."""
    description = f"Cells of {sweep.study.name} that are trained and scored"
    artifact: Any = create_progress_artifact(0.0, f"{_key(sweep.study.name)}-cells", description)
    lock = threading.Lock()

    def advance() -> None:
        done = 100.0 * sweep.progress.cells_done / max(1, sweep.progress.cells)
        with lock, suppress(Exception):  # a dashboard that is away stops no study
            update_progress(artifact, done, f"{description}: {sweep.progress.line()}")

    return advance


def _silence() -> None:
    """The threads end by exceptions that nobody needs to read."""
    for name in ("prefect", "prefect.flow_runs", "prefect.task_runs", "prefect.engine"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _key(name: str) -> str:
    """Artifact keys hold small letters, digits and dashes."""
    return "".join(c if c.isalnum() else "-" for c in name.lower())


@flow(
    name="study",
    task_runner=FEEDERS,
    flow_run_name="{study.name}",
)
def study_flow(
    study: Study, store: str, ray_address: str | None = None, workers: int | None = None
) -> list[str]:
    """Do what is left of a study; returns what went wrong on the way."""
    place = Store(store)
    sweep = Sweep(study, place, survey(study, place), Work())
    with running_workers(ray_address, workers) as running, shown(sweep.progress):
        run_sweep(sweep, running)
    report(study, place, study.name)
    return sweep.progress.troubles
