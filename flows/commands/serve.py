"""`tolstoy serve`: a dashboard from which studies are started, watched and cancelled."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import signal
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flows.commands.text import say
from flows.dashboard.limits import Limits
from flows.dashboard.study_list import study_list
from infra.drivers.liveness import this_driver
from infra.errors import WrongInput, one_of
from infra.object_store import without_key
from infra.prefect_server import (
    api_of,
    check_free,
    dashboard,
    is_loopback,
    must_answer,
    removal_of_old_runs,
)
from infra.ray_cluster import cluster_machines
from infra.report_server import ReportServer, serving
from infra.runtime import check_workers
from infra.server_lock import database_file, only_server
from tasks.study.reading import preset_names

if TYPE_CHECKING:
    from prefect.client.schemas.schedules import CronSchedule

SERVER_AUTHENTICATION = "PREFECT_SERVER_API_AUTH_STRING"
AUTHENTICATION = "PREFECT_API_AUTH_STRING"
RUN_LOGS = ("PREFECT_LOGGING_LOGGERS_PREFECT_FLOW_RUNS_LEVEL", "INFO")
WILDCARDS = ("0.0.0.0", "::")
MOST_DAYS = 36500


def _is_address(text: str) -> bool:
    try:
        return urlsplit(text).scheme in ("http", "https") and bool(urlsplit(text).hostname)
    except ValueError:  # such as http://[
        return False


@dataclass(frozen=True)
class ServeOptions:
    """The options of the command line."""

    host: str
    port: int
    limits: Limits
    cron: str | None
    preset: str
    reports: str | None = None  # the address of the reports for browsers, if it is another
    allow_host: tuple[str, ...] = ()
    keep_days: int | None = None  # of runs in Prefect's database; None keeps them all

    @property
    def has_reports(self) -> bool:
        return "://" not in self.limits.studies

    @property
    def names(self) -> list[str]:
        """The names by which browsers may call the dashboard and the reports."""
        listens = platform.node() if self.host in WILDCARDS else self.host
        reports = urlsplit(self.reports or "").hostname or ""
        return [name.lower() for name in (listens, reports, *self.allow_host) if name]

    def check(self) -> None:
        """Raise if an option is wrong."""
        if not 1 <= self.port <= 65534:
            raise WrongInput("--port", self.port, "a port from 1 to 65534")
        if self.preset not in preset_names():
            raise WrongInput("--preset", self.preset, one_of(preset_names(), self.preset))
        check_workers(self.limits.workers)
        studies = self.limits.studies
        if not studies.strip() or (self.has_reports and Path(studies).is_file()):
            raise WrongInput("--studies", studies, "a folder or a URI that holds the stores")
        if self.limits.allow_data and not Path(self.limits.allow_data).is_dir():
            raise WrongInput("--allow-data", self.limits.allow_data, "a folder")
        if self.reports is not None and not _is_address(self.reports):
            raise WrongInput("--reports", self.reports, "an address, such as https://HOST/reports")
        for name in self.allow_host:
            if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
                raise WrongInput("--allow-host", name, "a name without port, such as my.example")
        self._check_keep_days()
        if self.limits.ray:
            cluster_machines(self.limits.ray)

    def _check_keep_days(self) -> None:
        if self.keep_days is None:
            return
        if not 1 <= self.keep_days <= MOST_DAYS:
            accepted = f"a number of days from 1 to {MOST_DAYS}"
            raise WrongInput("--keep-days", self.keep_days, accepted)
        if url := os.environ.get("PREFECT_API_URL"):
            settings = removal_of_old_runs(self.keep_days).items()
            accepted = "no PREFECT_API_URL; or start that server with " + " ".join(
                f"{name}={value}" for name, value in settings
            )
            raise WrongInput("--keep-days", f"{self.keep_days}, and the server {url}", accepted)


def serve(options: ServeOptions) -> int:
    """Serve until Ctrl-C or SIGTERM, then end everything that was started."""
    options.check()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as running:
        try:
            alone = _start(options, running)
            asyncio.run(_take_runs(options, alone))
        except KeyboardInterrupt:
            pass
        say("\nEnding ...")
    say("Ended. What was trained and scored is in the studies.")
    return 0


def _start(options: ServeOptions, running: ExitStack) -> bool:
    """Start the reports, and a server if none is configured; runs find both in the environment.

    Returns whether no other server can have the same database.
    """
    os.environ.setdefault(*RUN_LOGS)
    if password := os.environ.get(SERVER_AUTHENTICATION):
        os.environ.setdefault(AUTHENTICATION, password)
    own_server = not os.environ.get("PREFECT_API_URL")
    database = None
    if not own_server:
        must_answer(os.environ["PREFECT_API_URL"])
    if own_server:
        os.environ["PREFECT_API_URL"] = api_of(options.host, options.port)
        if database := database_file():
            running.enter_context(only_server(database, _who(options)))
        check_free(options.host, options.port, "--port")
    if options.cron is not None:
        _cron_schedule(options.cron)
    limits = options.limits
    if options.has_reports:
        limits = limits.model_copy(update={"reports": serve_reports(options, running)})
    _warn_if_open(options)
    limits.publish()
    if own_server:
        say("Prefect's server starts. That takes about 10 seconds, the first time longer ...")
        running.enter_context(
            dashboard(options.host, options.port, options.names, options.keep_days)
        )
    return database is not None


def _warn_if_open(options: ServeOptions) -> None:
    if not is_loopback(options.host) and not os.environ.get(AUTHENTICATION):
        say(
            f"WARNING: everybody who can connect to {options.host}:{options.port} can run any "
            f"program on this machine. Set {SERVER_AUTHENTICATION}=user:password, or leave --host "
            "on 127.0.0.1 and use an SSH tunnel."
        )


def serve_reports(options: ServeOptions, running: ExitStack) -> str:
    """Serve the reports on the port after the dashboard's; returns their address for browsers."""
    port = options.port + 1
    check_free(options.host, port, "--port, whose next one is for the reports")
    server = ReportServer(
        studies=Path(options.limits.studies).absolute(),
        list_studies=partial(study_list, options.limits),
        names=options.names,
        authentication=os.environ.get(AUTHENTICATION),
    )
    running.enter_context(serving(server, options.host, port))
    if options.reports is not None:
        return options.reports.rstrip("/")
    host = platform.node() if options.host in WILDCARDS else options.host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _cron_schedule(cron: str) -> CronSchedule:
    """These times, in the zone that TZ names."""
    from prefect.client.schemas.schedules import CronSchedule

    try:
        CronSchedule(cron=cron)
    except ValueError:
        accepted = "minute hour day month weekday, such as '0 2 * * *'"
        raise WrongInput("--cron", cron, accepted) from None
    zone = os.environ.get("TZ") or "UTC"
    try:
        return CronSchedule(cron=cron, timezone=zone)
    except ValueError:
        accepted = "with --cron the IANA name of a time zone, such as Europe/Berlin or UTC"
        raise WrongInput("TZ", zone, accepted) from None


async def _take_runs(options: ServeOptions, alone: bool) -> None:
    from flows.dashboard.runner import check_no_other, take_runs

    if not alone:
        await check_no_other()
    await take_runs(_who(options), await _schedules(options), lambda: say(_next_steps(options)))


async def _schedules(options: ServeOptions) -> Any:
    """The schedule, off until somebody switches it on; that it is on survives a restart."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import DeploymentScheduleCreate
    from prefect.exceptions import ObjectNotFound

    if options.cron is None:
        return None
    schedule = _cron_schedule(options.cron)
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


def _who(options: ServeOptions) -> str:
    """This server, for people who meet it on its Prefect server or in its database."""
    limits = options.limits
    place = Path(limits.studies).absolute() if options.has_reports else without_key(limits.studies)
    return f"{_page()} of {this_driver('')}, studies in {place}"


def _page() -> str:
    return os.environ["PREFECT_API_URL"].removesuffix("/api")


def _next_steps(options: ServeOptions) -> str:
    page = _page()
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
