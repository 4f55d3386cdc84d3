"""`tolstoy serve`: a dashboard from which studies are started, watched and cancelled."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.dashboard.limits import Served
from infra.errors import WrongInput, one_of
from infra.prefect_server import api_of, check_free, dashboard, is_loopback
from infra.report_server import reports
from infra.workers import check_address
from tasks.study.reading import preset_names

SERVER_AUTHENTICATION = "PREFECT_SERVER_API_AUTH_STRING"
AUTHENTICATION = "PREFECT_API_AUTH_STRING"
RUNS_SPEAK = ("PREFECT_LOGGING_LOGGERS_PREFECT_FLOW_RUNS_LEVEL", "INFO")
POLL_SECONDS = 2.0
WILDCARDS = ("0.0.0.0", "::")


@dataclass(frozen=True)
class Serving:
    """What the command line asks for."""

    host: str
    port: int
    served: Served
    cron: str | None
    preset: str
    reports: str | None = None  # where browsers find the reports, if not where they are served

    def check(self) -> None:
        """Raise before anything is started."""
        if not 1 <= self.port <= 65534:
            raise WrongInput("--port", self.port, "a port from 1 to 65534")
        if self.preset not in preset_names():
            raise WrongInput("--preset", self.preset, one_of(preset_names(), self.preset))
        if self.served.workers is not None and self.served.workers < 1:
            raise WrongInput("--workers", self.served.workers, "a number from 1")
        if self.served.allow_data and not Path(self.served.allow_data).is_dir():
            raise WrongInput("--allow-data", self.served.allow_data, "a folder")
        if self.reports is not None and not self.reports.startswith(("http://", "https://")):
            raise WrongInput("--reports", self.reports, "an address, such as https://HOST/reports")
        if self.served.ray:
            check_address(self.served.ray)


def serve(asked: Serving) -> int:
    """Serve until Ctrl-C or SIGTERM, then end all that was started."""
    asked.check()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as running:
        try:
            _start(asked, running)
            asyncio.run(_take_runs(asked))
        except KeyboardInterrupt:
            pass
        _say("\nEnding ...")
    _say("Ended. What was trained and scored stands in the studies.")
    return 0


def _start(asked: Serving, running: ExitStack) -> None:
    """A server, if none is configured, and the reports; told to the runs in the environment."""
    os.environ.setdefault(*RUNS_SPEAK)
    if password := os.environ.get(SERVER_AUTHENTICATION):
        os.environ.setdefault(AUTHENTICATION, password)
    own_server = not os.environ.get("PREFECT_API_URL")
    if own_server:
        check_free(asked.host, asked.port, "--port")
        os.environ["PREFECT_API_URL"] = api_of(asked.host, asked.port)
    if asked.cron is not None:
        _check_cron(asked.cron)
    _warn_if_open(asked)
    served = asked.served
    if "://" not in served.studies:
        served = served.model_copy(update={"reports": _reports(asked, running)})
    served.publish()
    if own_server:
        _say("Prefect's server starts, which takes some 10 seconds, and longer the first time ...")
        running.enter_context(dashboard(asked.host, asked.port))


def _warn_if_open(asked: Serving) -> None:
    if not is_loopback(asked.host) and not os.environ.get(AUTHENTICATION):
        _say(
            f"WARNING: whoever reaches {asked.host}:{asked.port} may run anything on this machine. "
            f"Set {SERVER_AUTHENTICATION}=user:password, or leave --host on 127.0.0.1 and use an "
            "SSH tunnel."
        )


def _reports(asked: Serving, running: ExitStack) -> str:
    """Serve the reports, on a port beside the dashboard's so that links stay good; the address."""
    password = os.environ.get(AUTHENTICATION)
    port = asked.port + 1
    try:
        check_free(asked.host, port, "--port")
    except WrongInput:
        port = 0
    port = running.enter_context(reports(asked.served.studies, asked.host, port, password))
    if asked.reports is not None:
        return asked.reports.rstrip("/")
    host = platform.node() if asked.host in WILDCARDS else asked.host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _check_cron(cron: str) -> None:
    from prefect.client.schemas.schedules import CronSchedule

    try:
        CronSchedule(cron=cron)
    except ValueError:
        accepted = "minute hour day month weekday, such as '0 2 * * *'"
        raise WrongInput("--cron", cron, accepted) from None


async def _take_runs(asked: Serving) -> None:
    """Run what is asked for on the dashboard: one study at a time, rankings and reports beside.

    The flows are this process's own; what a deployment says of code is never looked at.
    """
    from prefect.runner import Runner
    from prefect.types.entrypoint import EntrypointType

    from flows.dashboard.deployments import rank_deployment, report_deployment, study_deployment

    studies = Runner(limit=1, query_seconds=POLL_SECONDS)
    others = Runner(limit=None, query_seconds=POLL_SECONDS)
    add: dict[str, Any] = {"paused": False, "entrypoint_type": EntrypointType.MODULE_PATH}
    await studies.aadd_flow(study_deployment, "study", schedules=await _schedules(asked), **add)
    await others.aadd_flow(rank_deployment, "rank", **add)
    await others.aadd_flow(report_deployment, "report", **add)
    at_work = [asyncio.create_task(runner.start()) for runner in (studies, others)]
    while not (studies.started and others.started) and not any(one.done() for one in at_work):
        await asyncio.sleep(0.05)
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):  # in place of the runners' own
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    _say(_next_steps(asked))
    waiting = asyncio.create_task(told.wait())
    await asyncio.wait({waiting, *at_work}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    for runner in (studies, others):
        if runner.started:
            await runner.astop()
    ended = await asyncio.gather(*at_work, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception) and not told.is_set():
            raise error


async def _schedules(asked: Serving) -> Any:
    """The nightly study, switched off until somebody switches it on; that is then remembered."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import DeploymentScheduleCreate
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.exceptions import ObjectNotFound

    if asked.cron is None:
        return None
    schedule = CronSchedule(cron=asked.cron, timezone=os.environ.get("TZ") or "UTC")
    active = False
    async with get_client() as client:
        try:
            before = await client.read_deployment_by_name("study/study")
        except ObjectNotFound:
            before = None
    for one in before.schedules if before else ():
        if getattr(one.schedule, "cron", None) == asked.cron:
            active = one.active
    return [
        DeploymentScheduleCreate(
            schedule=schedule, active=active, parameters={"study": {"preset": asked.preset}}
        )
    ]


def _next_steps(asked: Serving) -> str:
    page = os.environ["PREFECT_API_URL"].removesuffix("/api")
    lines = [
        f"Dashboard  {page}",
        f"Studies    {asked.served.studies}",
        "",
        f"Start a study: {page}/deployments, then study, Run, Custom run.",
    ]
    if asked.cron is not None:
        lines.append(f"The schedule ({asked.cron}, {asked.preset}) stands on the page of study.")
    return "\n".join(
        [*lines, "Ctrl-C ends the server and its runs; the studies keep what is done."]
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
