"""The Prefect flow of a study: plan -> train -> score -> compare -> report.

Prefect has one task per cell and stage, never one per model: a Prefect run costs a hundred times
what a plain Ray task does, and a dashboard of 252 cells can be read.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.task_runners import ThreadPoolTaskRunner

from flows.commands.report import renewed_report
from flows.dashboard.crashed_runs import close_crashed_runs, close_ended_tasks
from flows.dashboard.limits import Limits
from flows.dashboard.page import DashboardPage, kept_updated
from flows.driver import StudyRun
from flows.progress import shown
from flows.work import Work
from infra.drivers.lock import DriverLock
from infra.errors import WrongInput
from infra.store import Store
from infra.workers import Stopped, Workers, running_workers, stopped_by_signals
from tasks.data_sets import load
from tasks.study.spec import DataChoice, Study
from tasks.study.survey import survey

FEEDERS: Any = ThreadPoolTaskRunner(max_workers=1024)  # threads that wait for Ray's workers


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
def train(sweep: StudyRun, workers: Workers, name: str) -> None:
    with _quiet():
        sweep.train(workers, name)


@_stage("score")
def score(sweep: StudyRun, name: str) -> None:
    with _quiet():
        sweep.score(name)


@_stage("compare")
def compare(sweep: StudyRun, workers: Workers, name: str) -> None:
    with _quiet():
        sweep.compare(workers, name)


@_stage("report")
def report(sweep: StudyRun, name: str) -> None:
    with _quiet():
        sweep.room.patiently(lambda: renewed_report(sweep.study, sweep.store))


def run_sweep(sweep: StudyRun, workers: Workers) -> None:
    """Submit every cell's stages and wait for them. A cell is trained and scored side by side."""
    gc.freeze()  # specs and modules stay: they need not be looked through again and again
    with stopped_by_signals(workers):
        try:
            sweep.check(workers)
            sweep.open(workers)
            for future in _submitted(sweep, workers):
                future.result()
        except BaseException:  # Ctrl-C above all: the threads that wait for workers end at once
            workers.stop()
            _silence()
            raise


def _submitted(sweep: StudyRun, workers: Workers) -> list[Any]:
    ready = {one.name: prepare.submit(one, one.name) for one in sweep.study.data}
    trained, scored = {}, []
    for name, one in sweep.cells.items():
        first = [ready[one.cell.models[0].data]]
        trained[name] = train.submit(sweep, workers, name, wait_for=first)
        scored.append(score.submit(sweep, name, wait_for=first))
    compared = [
        compare.submit(sweep, workers, group, wait_for=[trained[cell.name] for cell in cells])
        for group, cells in sweep.groups.items()
    ]
    return [*ready.values(), *trained.values(), *scored, *compared]


@contextmanager
def _while_held(holder: DriverLock | None, workers: Workers) -> Iterator[None]:
    """End the run when others went on without it, thinking it dead."""

    def end() -> None:
        _silence()
        workers.stop()

    if holder:
        holder.call_when_lost(end)
    try:
        yield
    except Stopped:
        if holder and holder.lost.is_set():
            found = f"taken over by another driver, which saw no sign of this one: {holder.store}"
            raise WrongInput("store", found, "the same command when that one has ended") from None
        raise


def _silence() -> None:
    """The threads end by exceptions that nobody needs to read."""
    for name in ("prefect", "prefect.flow_runs", "prefect.task_runs", "prefect.engine"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@dataclass
class Ended:
    """What came of a run, kept apart from Prefect, which may be away when it begins or ends."""

    began: bool = False
    troubles: list[str] | None = None


@flow(
    name="study",
    task_runner=FEEDERS,
    flow_run_name="{study.name}",
)
def study_flow(
    study: Study,
    store: Store,
    ray_address: str | None = None,
    workers: int | None = None,
    holder: DriverLock | None = None,
    ended: Ended | None = None,
) -> list[str]:
    """Do what is left of a study; returns what went wrong on the way.

    Prefect keeps what text a flow is given; the store is none, as its URI may carry a key.
    """
    ended = ended or Ended()
    ended.began = True
    sweep = StudyRun(study, store, survey(study, store), Work(), holder)
    close_crashed_runs(store, alone=holder is None or holder.alone)
    with kept_updated(DashboardPage(sweep, study, store, Limits.of_this_process().report(store))):
        with (
            running_workers(ray_address, workers) as running,
            shown(sweep.progress),
            _while_held(holder, running),
        ):
            run_sweep(sweep, running)
        report(sweep, study.name)
    ended.troubles = sweep.progress.troubles
    close_ended_tasks()
    return ended.troubles
