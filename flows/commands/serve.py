"""`tolstoy serve`: a dashboard from which studies are started, watched and cancelled."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.commands.text import say
from flows.dashboard.limits import Limits
from infra.errors import WrongInput, one_of
from infra.prefect_server import api_of, check_free, dashboard, is_loopback
from infra.ray_cluster import cluster_machines
from infra.report_server import reports
from tasks.study.reading import preset_names

SERVER_AUTHENTICATION = "PREFECT_SERVER_API_AUTH_STRING"
AUTHENTICATION = "PREFECT_API_AUTH_STRING"
RUN_LOGS = ("PREFECT_LOGGING_LOGGERS_PREFECT_FLOW_RUNS_LEVEL", "INFO")
POLL_SECONDS = 2.0
WILDCARDS = ("0.0.0.0", "::")


@dataclass(frozen=True)
class ServeOptions:
    """The options of the command line."""

    host: str
    port: int
    limits: Limits
    cron: str | None
    preset: str
    reports: str | None = None  # the address of the reports for browsers, if it is another

    def check(self) -> None:
        """Raise if an option is wrong."""
        if not 1 <= self.port <= 65534:
            raise WrongInput("--port", self.port, "a port from 1 to 65534")
        if self.preset not in preset_names():
            raise WrongInput("--preset", self.preset, one_of(preset_names(), self.preset))
        if self.limits.workers is not None and self.limits.workers < 1:
            raise WrongInput("--workers", self.limits.workers, "a number from 1")
        if self.limits.allow_data and not Path(self.limits.allow_data).is_dir():
            raise WrongInput("--allow-data", self.limits.allow_data, "a folder")
        if self.reports is not None and not self.reports.startswith(("http://", "https://")):
            raise WrongInput("--reports", self.reports, "an address, such as https://HOST/reports")
        if self.limits.ray:
            cluster_machines(self.limits.ray)


def serve(options: ServeOptions) -> int:
    """Serve until Ctrl-C or SIGTERM, then end everything that was started."""
    options.check()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as running:
        try:
            _start(options, running)
            asyncio.run(_take_runs(options))
        except KeyboardInterrupt:
            pass
        say("\nEnding ...")
    say("Ended. What was trained and scored is in the studies.")
    return 0


def _start(options: ServeOptions, running: ExitStack) -> None:
    """Start the reports, and a server if none is configured; runs find both in the environment."""
    os.environ.setdefault(*RUN_LOGS)
    if password := os.environ.get(SERVER_AUTHENTICATION):
        os.environ.setdefault(AUTHENTICATION, password)
    own_server = not os.environ.get("PREFECT_API_URL")
    if own_server:
        check_free(options.host, options.port, "--port")
        os.environ["PREFECT_API_URL"] = api_of(options.host, options.port)
    if options.cron is not None:
        _check_cron(options.cron)
    _warn_if_open(options)
    limits = options.limits
    if "://" not in limits.studies:
        limits = limits.model_copy(update={"reports": serve_reports(options, running)})
    limits.publish()
    if own_server:
        say("Prefect's server starts. That takes about 10 seconds, the first time longer ...")
        running.enter_context(dashboard(options.host, options.port))


def _warn_if_open(options: ServeOptions) -> None:
    if not is_loopback(options.host) and not os.environ.get(AUTHENTICATION):
        say(
            f"WARNING: everybody who can connect to {options.host}:{options.port} can run any "
            f"program on this machine. Set {SERVER_AUTHENTICATION}=user:password, or leave --host "
            "on 127.0.0.1 and use an SSH tunnel."
        )


def serve_reports(options: ServeOptions, running: ExitStack) -> str:
    """Serve the reports, if possible on the next port, so that links stay valid; their address."""
    password = os.environ.get(AUTHENTICATION)
    port = options.port + 1
    try:
        check_free(options.host, port, "--port")
    except WrongInput:
        port = 0
    port = running.enter_context(reports(options.limits.studies, options.host, port, password))
    if options.reports is not None:
        return options.reports.rstrip("/")
    host = platform.node() if options.host in WILDCARDS else options.host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _check_cron(cron: str) -> None:
    from prefect.client.schemas.schedules import CronSchedule

    try:
        CronSchedule(cron=cron)
    except ValueError:
        accepted = "minute hour day month weekday, such as '0 2 * * *'"
        raise WrongInput("--cron", cron, accepted) from None


async def _take_runs(options: ServeOptions) -> None:
    """Run what is submitted on the dashboard: one study at a time, and any rankings and reports.

    The flows are those of this process; the code that a deployment names is never loaded.
    """
    # Not `prefect.serve` with `concurrency_limit=1`: at Ctrl-C it kills a run, which stays Running
    # and keeps its slot, so that the next study waits.
    from prefect.runner import Runner
    from prefect.types.entrypoint import EntrypointType

    from flows.dashboard.deployments import rank_deployment, report_deployment, study_deployment

    studies = Runner(limit=1, query_seconds=POLL_SECONDS)
    others = Runner(limit=None, query_seconds=POLL_SECONDS)
    add: dict[str, Any] = {"paused": False, "entrypoint_type": EntrypointType.MODULE_PATH}
    await studies.aadd_flow(study_deployment, "study", schedules=await _schedules(options), **add)
    await others.aadd_flow(rank_deployment, "rank", **add)
    await others.aadd_flow(report_deployment, "report", **add)
    running = [asyncio.create_task(runner.start()) for runner in (studies, others)]
    while not (studies.started and others.started) and not any(task.done() for task in running):
        await asyncio.sleep(0.05)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):  # in place of the runners' own handlers
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    say(_next_steps(options))
    waiting = asyncio.create_task(stopped.wait())
    await asyncio.wait({waiting, *running}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    for runner in (studies, others):
        if runner.started:
            await runner.astop()
    results = await asyncio.gather(*running, return_exceptions=True)
    for error in results:
        if isinstance(error, Exception) and not stopped.is_set():
            raise error


async def _schedules(options: ServeOptions) -> Any:
    """The schedule, off until somebody switches it on; that it is on survives a restart."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import DeploymentScheduleCreate
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.exceptions import ObjectNotFound

    if options.cron is None:
        return None
    schedule = CronSchedule(cron=options.cron, timezone=os.environ.get("TZ") or "UTC")
    active = False
    async with get_client() as client:
        try:
            deployment = await client.read_deployment_by_name("study/study")
        except ObjectNotFound:
            deployment = None
    for stored in deployment.schedules if deployment else ():
        if getattr(stored.schedule, "cron", None) == options.cron:
            active = stored.active
    return [
        DeploymentScheduleCreate(
            schedule=schedule, active=active, parameters={"study": {"preset": options.preset}}
        )
    ]


def _next_steps(options: ServeOptions) -> str:
    page = os.environ["PREFECT_API_URL"].removesuffix("/api")
    lines = [
        f"Dashboard  {page}",
        f"Studies    {options.limits.studies}",
        "",
        f"Start a study: {page}/deployments, then study, Run, Custom run.",
    ]
    if options.cron is not None:
        lines.append(f"The schedule ({options.cron}, {options.preset}) is on the page of study.")
    return "\n".join(
        [*lines, "Ctrl-C ends the server and its runs; the studies keep what was done."]
    )
