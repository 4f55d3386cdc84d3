"""What `tolstoy serve` offers on the dashboard: a study, a ranking, a report, each with a form.

Annotations are left as they are: Prefect sends the flows to processes that cannot look up names.
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

from flows.commands.rank_shown import as_text
from flows.commands.rank_store import ranked_store
from flows.commands.report import renewed_report
from flows.dashboard.forms import RankForm, ReportForm, StudyForm
from flows.dashboard.limits import Served
from flows.dashboard.page import Shown, key_of, on_the_dashboard, show_report, this_page
from flows.driver import StudyRun
from flows.open_study import open_study
from flows.study import FEEDERS, study_flow
from infra.errors import WrongInput
from infra.prefect_server import drain_prefect
from infra.store import Store
from infra.workers import Stopped
from tasks.study.stored import stored_study
from tasks.study.survey import survey, totals

WATCH_SECONDS = 1.0
GRACE_SECONDS = 15.0


@flow(
    name="study",
    flow_run_name="study {study.folder}",
    task_runner=FEEDERS,
    persist_result=False,
)
def study_deployment(study: StudyForm) -> Any:
    """Train, score, compare and report what is left of a study; the same form goes on."""
    return _ended(lambda: _study(study, Served.of_this_process()))


@flow(name="rank", flow_run_name="rank {ranking.store}", persist_result=False)
def rank_deployment(ranking: RankForm) -> Any:
    """Rank the models of a study without labels: which strength, which model?"""
    return _ended(lambda: _rank(ranking, Served.of_this_process()))


@flow(name="report", flow_run_name="report {report.store}", persist_result=False)
def report_deployment(report: ReportForm) -> Any:
    """Write the report of a study, also while it runs."""
    return _ended(lambda: _report(report, Served.of_this_process()))


def _study(form: StudyForm, served: Served) -> str:
    study = form.study(served)
    store = Store(served.store(form.folder))
    troubles: list[str] = []
    with open_study(study, store, set(form.retry)) as opened:
        if opened.finished:
            renewed_report(opened.study, store)
            run = StudyRun(opened.study, store, opened.states)
            with on_the_dashboard(Shown(run, opened.study, store, served.report(store))):
                pass
        else:
            troubles = study_flow.fn(
                opened.study,
                opened,
                served.ray,
                served.workers_for(form.workers),
                report_address=served.report(store),
            )
    for trouble in troubles:
        get_run_logger().warning(trouble)
    cells = [state.cell for state in opened.states]
    total = totals(survey(opened.study, store, cells))
    said = [f"{total[name]} {name}" for name in ("trained", "scored")]
    said += [f"{total['left']} left"] if total["left"] else []
    said += [f"{total[name]} {name}, see retry" for name in ("failed", "diverged") if total[name]]
    return f"{total['models']} models: " + ", ".join(said)


def _rank(form: RankForm, served: Served) -> str:
    asked = form.asked()
    asked.check()
    study, store, results = ranked_store(served.store(form.store), asked, served.ray)
    text, about = as_text(study, results, asked.top), "Models best first, without labels"
    this_page().show("markdown", key_of(store, "ranking"), about, f"```\n{text}\n```")
    return f"{sum(len(one.models) for one in results)} models are ranked"


def _report(form: ReportForm, served: Served) -> str:
    store = Store(served.store(form.store))
    study = stored_study(store)
    store.prepare()
    path = renewed_report(study, store)
    show_report(this_page(), store, served.report(store))
    return f"Report: {served.report(store) or path}"


def _ended(do: Callable[[], str]) -> Any:
    """How a run ends: done, refused in one line, or told to end."""
    with _on_its_own():
        try:
            return Completed(message=do())
        except WrongInput as error:  # its user can mend it, and needs no traceback
            get_run_logger().error(str(error))
            return Failed(message=str(error))
        except (SystemExit, TerminationSignal, Stopped):  # Ray makes the first of a SIGTERM
            return Cancelled(message="It was told to end. What is done stands; the same goes on.")


@contextmanager
def _on_its_own() -> Iterator[None]:
    """Leave the terminal's process group, and end when the server does, however it ends.

    A Ctrl-C then reaches the server alone, which ends its runs in order.
    """
    server = os.getppid()
    if os.getpgid(0) != os.getpid():
        os.setsid()
    Finalize(None, drain_prefect, exitpriority=0)  # a process that was spawned ends at once
    over = threading.Event()

    def watch() -> None:
        while not over.wait(WATCH_SECONDS):
            if os.getppid() != server:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(GRACE_SECONDS)
                os._exit(1)  # it waits for a Prefect server that is gone as well

    threading.Thread(target=watch, name="watches the server", daemon=True).start()
    try:
        yield
    finally:
        over.set()
