"""What `tolstoy serve` offers on the dashboard: study, plan, rank and report, each with a form.

No `from __future__ import annotations` here: Prefect pickles the flows, and the process that reads
them could not look up the names of the forms.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.util import Finalize
from typing import Any

from prefect import flow, get_run_logger
from prefect.exceptions import TerminationSignal
from prefect.states import Cancelled, Completed, Failed

from flows.commands.plan import plan_text
from flows.commands.rank import store_text
from flows.commands.report import renewed_report
from flows.dashboard.forms import RankForm, ReportForm, StudyForm
from flows.dashboard.limits import Limits
from flows.dashboard.page import (
    DashboardPage,
    artifacts_of_this_run,
    kept_updated,
    key_of,
    show_report,
)
from flows.driver import StudyRun
from flows.estimate import where
from flows.open_study import open_study
from flows.ranking import rank_store
from flows.study import FEEDERS, complete_study
from infra.errors import WrongInput
from infra.prefect_server import drain_prefect
from infra.runtime import check_workers
from infra.store import Store
from infra.workers import Stopped
from tasks.study.model import CAN_RETRY
from tasks.study.precision import check_local_precision
from tasks.study.stored import stored_study
from tasks.study.survey import survey, totals

WATCH_SECONDS = 1.0
GRACE_SECONDS = 15.0
CANCELLED = "Cancelled. What was done is in the store. Submit the same form again to continue."


@flow(
    name="study",
    flow_run_name="study {study.folder}",
    task_runner=FEEDERS,
    persist_result=False,
)
def study_deployment(study: StudyForm) -> Any:
    """Train, score, compare and report a study. Submit the same form again to continue it."""
    return _final_state(lambda: _study(study, Limits.of_this_process()))


@flow(name="plan", flow_run_name="plan {study.folder}", persist_result=False)
def plan_deployment(study: StudyForm) -> Any:
    """How many models a form means, and how long they will take. Nothing is trained."""
    return _final_state(lambda: _plan(study, Limits.of_this_process()))


@flow(name="rank", flow_run_name="rank {ranking.store}", persist_result=False)
def rank_deployment(ranking: RankForm) -> Any:
    """Rank the models of a study without labels: which strength, which model?"""
    return _final_state(lambda: _rank(ranking, Limits.of_this_process()))


@flow(name="report", flow_run_name="report {report.store}", persist_result=False)
def report_deployment(report: ReportForm) -> Any:
    """Write the report of a study, also while it runs."""
    return _final_state(lambda: _report(report, Limits.of_this_process()))


def _study(form: StudyForm, limits: Limits) -> str:
    study = form.study(limits)
    store = Store(limits.store(form.folder))
    workers = limits.workers_for(form.workers)
    if limits.ray is None:
        check_workers(workers, "workers")
        check_local_precision(study.training)
    troubles: list[str] = []
    with open_study(study, store, set(form.retry)) as opened:
        if opened.finished:
            renewed_report(opened.study, store)
            run = StudyRun(opened.study, store, opened.states)
            with kept_updated(DashboardPage(run, limits.report_address(store))):
                pass
        else:
            troubles = complete_study(
                opened.study,
                opened,
                limits.ray,
                workers,
                report_address=limits.report_address(store),
            )
    for trouble in troubles:
        get_run_logger().warning(trouble)
    cells = [state.cell for state in opened.states]
    total = totals(survey(opened.study, store, cells))
    counts = [f"{total['trained']} trained"]
    counts += [f"{total['scored']} scored"] if opened.study.metrics.names else []
    counts += [f"{total['left']} left"] if total["left"] else []
    counts += [f"{total[name]} {name}, see retry" for name in CAN_RETRY if total[name]]
    return f"{total['models']} models: " + ", ".join(counts)


def _plan(form: StudyForm, limits: Limits) -> str:
    store = Store(limits.store(form.folder))
    workers = None if limits.ray else limits.workers_for(form.workers)
    machines = where(workers, None, limits.ray)
    text, key = plan_text(form.study(limits), store, machines), key_of(store, "plan")
    about = "What the study would do; nothing was trained"
    artifacts_of_this_run().show("markdown", key, about, f"```\n{text}\n```")
    return f"Nothing was trained. The plan is under Artifacts, {key}."


def _rank(form: RankForm, limits: Limits) -> str:
    study, store, rankings = rank_store(limits.store(form.store), form.request(), limits.ray)
    text, about = store_text(study, rankings, form.top), "Models best first, without labels"
    artifacts_of_this_run().show("markdown", key_of(store, "ranking"), about, f"```\n{text}\n```")
    return f"{sum(len(ranking.models) for ranking in rankings)} models are ranked"


def _report(form: ReportForm, limits: Limits) -> str:
    store = Store(limits.store(form.store))
    study = stored_study(store)
    store.prepare()
    path = renewed_report(study, store)
    show_report(artifacts_of_this_run(), store, limits.report_address(store))
    return f"Report: {limits.report_address(store) or path}"


def _final_state(run: Callable[[], str]) -> Any:
    """The state in which a flow run ends: completed, failed with one line, or cancelled."""
    with _own_session():
        try:
            return Completed(message=run())
        except WrongInput as error:  # a user can correct it without a traceback
            get_run_logger().error(str(error))
            return Failed(message=str(error))
        except (SystemExit, TerminationSignal, Stopped):  # on SIGTERM, Ray raises SystemExit
            return Cancelled(message=CANCELLED)


@contextmanager
def _own_session() -> Iterator[None]:
    """Leave the terminal's process group, and end when the server ends, however it ends.

    A Ctrl-C then reaches the server only, which ends its runs in order.
    """
    server = os.getppid()
    if os.getpgid(0) != os.getpid():
        os.setsid()
    Finalize(None, drain_prefect, exitpriority=0)  # a spawned process does not wait for threads
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(WATCH_SECONDS):
            if os.getppid() != server:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(GRACE_SECONDS)
                os._exit(1)  # it still waits for a Prefect server, which has ended as well

    threading.Thread(target=watch, name="watches the server", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
