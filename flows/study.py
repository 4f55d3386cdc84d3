"""The Prefect flow of a study: prepare -> train -> score -> compare -> dynamics -> report.

Prefect has one task per cell and stage, never one per model: a Prefect run costs a hundred times
what a plain Ray task does, and a dashboard of 252 cells can be read.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.exceptions import CancelledRun, TerminationSignal, UnfinishedRun
from prefect.futures import as_completed
from prefect.states import Cancelled
from prefect.task_runners import ThreadPoolTaskRunner

from flows.commands.report import renewed_report
from flows.dashboard.crashed_runs import close_crashed_runs, close_ended_tasks
from flows.dashboard.page import DashboardPage, kept_updated
from flows.driver import StudyRun
from flows.gauges import published
from flows.open_study import OpenStudy
from flows.progress import displayed
from flows.start_up import StartedWorkers
from infra.drivers.lock import DriverLock
from infra.errors import RUN_AGAIN, WrongInput
from infra.timeline import span
from infra.workers import Stopped, Workers, stopped_by_signals
from tasks import data_sets
from tasks.study.data_choice import DataChoice
from tasks.study.spec import Study

INTERRUPTED = f"Interrupted. What was done is in the store. {RUN_AGAIN}"
FEEDERS: Any = ThreadPoolTaskRunner(max_workers=1024)  # threads that wait for Ray's workers


def _stage(name: str) -> Callable[[Callable[..., Any]], Any]:
    def as_task(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def stage(*args: Any, **kwargs: Any) -> Any:
            try:
                with _quiet():
                    return function(*args, **kwargs)
            except Stopped:
                return Cancelled(message="The run was told to end.")

        as_prefect_task: Any = task(
            name=name,
            task_run_name=name + " {name}",
            cache_policy=NO_CACHE,
            persist_result=False,
            log_prints=False,
        )
        return as_prefect_task(stage)

    return as_task


@contextmanager
def _quiet() -> Iterator[None]:
    """The command prints an error in the input once, at the end; Prefect's copy is not needed."""
    try:
        yield
    except WrongInput:
        _silence()
        raise


@_stage("prepare")
def prepare(run: StudyRun, choice: DataChoice, name: str) -> None:
    """Write a data set's cache and compile its loops once, before a worker per core needs them."""
    with (
        span(f"prepare data: {name}"),
        run.announced_if_slow(f"Preparing the pictures of {name} ..."),
    ):
        data_sets.prepare(choice)


@_stage("train")
def train(run: StudyRun, workers: Workers, name: str) -> None:
    run.train(workers, name)


@_stage("score")
def score(run: StudyRun, name: str) -> None:
    run.score(name)


@_stage("compare")
def compare(run: StudyRun, workers: Workers, name: str) -> None:
    run.compare(workers, name)


@_stage("dynamics")
def dynamics(run: StudyRun, workers: Workers, name: str) -> None:
    run.dynamics(workers, name)


@_stage("report")
def report(run: StudyRun, name: str) -> str:
    with span("report"):
        return run.storage.retry(lambda: renewed_report(run.study, run.store))


def run_stages(run: StudyRun, workers: Workers) -> None:
    """Submit every cell's stages and wait for them. A cell is trained and scored at once."""
    gc.freeze()  # specs and modules stay: they need not be looked through again and again
    with stopped_by_signals(workers):
        try:
            run.check(workers)
            run.open(workers)
            wait_for_stages(_submitted(run, workers))
        except BaseException:  # Ctrl-C above all: the threads that wait for workers end at once
            workers.stop()
            _silence()
            raise


def wait_for_stages(futures: Sequence[Any]) -> None:
    """Raise what a stage raised, as soon as it ends; `Stopped` if it was stopped."""
    not_begun = None
    for future in as_completed(list(futures)):
        try:
            future.result()
        except CancelledRun:
            raise Stopped from None
        except UnfinishedRun as error:  # a stage before it failed, whose own error says why
            not_begun = error
    if not_begun:
        raise not_begun


def _submitted(run: StudyRun, workers: Workers) -> list[Any]:
    prepared = {choice.name: prepare.submit(run, choice, choice.name) for choice in run.study.data}
    trained, scored = {}, []
    for name, state in run.cells.items():
        first = [prepared[state.cell.data]]
        trained[name] = train.submit(run, workers, name, wait_for=first)
        scored.append(score.submit(run, name, wait_for=first))
    compared = [
        compare.submit(run, workers, group, wait_for=[trained[cell.name] for cell in cells])
        for group, cells in run.groups.items()
    ]
    if run.study.traces is not None:
        compared += [
            dynamics.submit(run, workers, name, wait_for=[ended]) for name, ended in trained.items()
        ]
    return [*prepared.values(), *trained.values(), *scored, *compared]


@contextmanager
def _while_held(lock: DriverLock | None, workers: Workers) -> Iterator[None]:
    """Stop the run when another driver took its lock over, because it looked dead."""

    def stop() -> None:
        _silence()
        workers.stop()

    if lock:
        lock.call_when_lost(stop)
    try:
        yield
    except Stopped:
        if lock and lock.lost.is_set():
            reason = f"taken over by another driver, as this one had no heartbeat: {lock.store}"
            accepted = (
                "a store that no driver works on. Run the same command again when it has ended"
            )
            raise WrongInput("store", reason, accepted) from None
        raise


def _silence() -> None:
    """Hide the exceptions by which the threads end: nobody needs to read them."""
    for name in ("prefect", "prefect.flow_runs", "prefect.task_runs", "prefect.engine"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@dataclass
class RunResult:
    """What came of a run. Kept apart from the flow's return value, which is lost where Prefect does
    not answer when the run begins or ends."""

    began: bool = False
    interrupted: bool = False
    ended: bool = False
    troubles: tuple[str, ...] = ()
    report: str = ""


@flow(
    name="study",
    task_runner=FEEDERS,
    flow_run_name="{opened.store.name}",
)
def study_flow(
    study: Study,
    opened: OpenStudy,
    ray_address: str | None,
    workers: int | None,
    result: RunResult,
    started: StartedWorkers | None = None,
) -> Any:
    """The flow of `tolstoy run`.

    Prefect stores the parameters of a flow that it can turn into text. `opened` is none of these:
    its store's URI may hold a key, and its models are too many. `started` are workers that have
    started before the flow.
    """
    result.began = True
    try:
        return complete_study(study, opened, ray_address, workers, result, started=started)
    except (KeyboardInterrupt, SystemExit, TerminationSignal, Stopped):
        result.interrupted = True
        return Cancelled(message=INTERRUPTED)


def complete_study(
    study: Study,
    opened: OpenStudy,
    ray_address: str | None = None,
    workers: int | None = None,
    result: RunResult | None = None,
    report_address: str | None = None,
    started: StartedWorkers | None = None,
) -> list[str]:
    """Do what of a study is not done, in a flow; returns what went wrong."""
    result = result or RunResult()
    store, lock = opened.store, opened.lock
    run = StudyRun(study, store, opened.states, lock)
    models = sum(len(state.unfinished) for state in opened.states)
    close_crashed_runs(store, alone=lock is None or lock.alone)
    with kept_updated(DashboardPage(run, report_address)):
        with (
            _quiet(),
            started or StartedWorkers(ray_address, workers, study, models) as running,
            run.counting_steps(),
            published(run.progress, store.name),
            displayed(run.progress),
            _while_held(lock, running),
        ):
            run_stages(run, running)
        result.report = report(run, store.name)
    result.troubles, result.ended = tuple(run.progress.troubles), True
    if lock and lock.has_taken_over:  # and the next run may start before this driver has left
        close_crashed_runs(store, alone=lock.alone)
    close_ended_tasks()
    return list(result.troubles)
