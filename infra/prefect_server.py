"""Prefect servers that end with this process: a temporary API for one run, or a dashboard.

`_temporary_server` overrides `SubprocessASGIServer._run_uvicorn_command`, a private method of the
Prefect version that pyproject.toml pins. Look at it again with every update of Prefect.
"""

from __future__ import annotations

import errno
import ipaddress
import logging
import os
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

from infra.errors import WrongInput
from infra.prefect_app import ALLOWED_NAMES
from infra.timeline import span

STARTUP_SECONDS = 120.0
ANSWER_SECONDS = 20.0
ENDING_SECONDS = 15.0
POLL_SECONDS = 0.2
DAY_SECONDS = 86400


@contextmanager
def prefect_api() -> Iterator[None]:
    """Prefect's API: the configured one, or a temporary one that ends with this process."""
    with starting_prefect_api() as wait_for_api:
        wait_for_api()
        yield


@contextmanager
def starting_prefect_api() -> Iterator[Callable[[], None]]:
    """The same, as a function that waits until it answers: it starts while other things start.

    Prefect's own temporary server ends too early at a Ctrl-C, which a terminal also sends to it,
    and does not end when this process is killed. Ours has its own session, and a guard ends it.
    """
    if configured_server():
        yield lambda: None
        return
    with ExitStack() as guard:
        process, port = _temporary_process(guard)
        server: Any = None

        def wait() -> None:
            nonlocal server
            with span("imports: Prefect's server"):
                server = _temporary_server(guard, process, port)
            with span("Prefect starts"):
                server.start()

        try:
            yield wait
        finally:
            with span("Prefect ends"):
                if server is None:
                    _end(process)
                else:
                    drain_prefect()
                    server.stop()


def configured_server() -> str | None:
    """The address of the server that the user configured, if any; raise if it does not answer."""
    from prefect.settings import get_current_settings

    if url := get_current_settings().api.url:
        must_answer(url)
    return url


def must_answer(url: str) -> None:
    """Raise if no server answers, in one line where Prefect would print pages."""
    if not url.lower().startswith(("http://", "https://")):
        raise no_answer(url, "it does not begin with http:// or https://")
    try:
        urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=ANSWER_SECONDS).close()
    except OSError as error:
        reason = getattr(error, "reason", error)
        if isinstance(error, urllib.error.HTTPError) or isinstance(reason, ssl.SSLError):
            return
        raise no_answer(url, reason) from None
    except (ValueError, HTTPException) as error:  # an address such as http://[ or http://a b
        raise no_answer(url, error) from None


def no_answer(url: str, reason: object) -> WrongInput:
    accepted = "a Prefect server that runs; unset it, and the run starts its own"
    return WrongInput("PREFECT_API_URL", f"{url} ({reason})", accepted)


def _temporary_process(
    guard: ExitStack, port: int | None = None
) -> tuple[subprocess.Popen[bytes], int]:
    """Prefect's temporary server in its own session, and its port; any free one by default.

    The guard exists before the server answers, as starting takes seconds.
    """
    if port is None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
    ephemeral = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1"}
    process = _uvicorn("127.0.0.1", port, ephemeral)
    guard.enter_context(_guarded(process.pid))
    return process, port


def _temporary_server(guard: ExitStack, process: subprocess.Popen[bytes], port: int) -> Any:
    """Our server as Prefect's own: it keeps one per process, and will use this one.

    If another program took the port, Prefect chooses another one and starts the server again.
    """
    from prefect.server.api.server import SubprocessASGIServer

    class Server(SubprocessASGIServer):
        def _run_uvicorn_command(self) -> Any:
            if self.port == port:
                return process
            return _temporary_process(guard, self.port)[0]

    server = Server()
    server.port = port
    return server


@contextmanager
def dashboard(
    host: str, port: int, names: Iterable[str] = (), keep_days: int | None = None
) -> Iterator[None]:
    """A Prefect server with its dashboard, on Prefect's usual database: it shows earlier runs.

    It answers requests to localhost, to addresses in numbers, and to these names. Runs that ended
    more than `keep_days` ago are removed from the database.
    """
    api = api_of(host, port)
    settings = {
        "PREFECT_SERVER_UI_API_URL": "/api",
        # Prefect's newer pages report to a company that they were opened, whatever is set.
        "PREFECT_SERVER_UI_V2_ENABLED": "false",
        # By default any web page that the user opens may send requests to the server.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": api.removesuffix("/api"),
        # Studies wait for each other; nothing is wrong with one that does.
        "PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
    }
    settings = {name: os.environ.get(name, value) for name, value in settings.items()}
    settings[ALLOWED_NAMES] = ",".join(names)
    if keep_days is not None:
        settings |= removal_of_old_runs(keep_days)
    server = _uvicorn(host, port, settings)
    try:
        with _guarded(server.pid):
            _wait_for(server, f"{api}/health", port)
            yield
    finally:
        _end(server)


def removal_of_old_runs(keep_days: int) -> dict[str, str]:
    """Settings of a Prefect server: at its start and each hour it removes the flow runs that ended
    so long ago, with their task runs, logs and artifacts, a few hundred in a transaction. Runs that
    have not ended are never removed. By default it removes old events only.
    """
    return {
        "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(keep_days * DAY_SECONDS),
    }


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def api_of(host: str, port: int) -> str:
    """The address at which this machine reaches the API of a server that listens there."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/api"


def check_free(host: str, port: int, option: str) -> None:
    """Raise if it is not possible to listen there."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
    except (socket.gaierror, OverflowError, UnicodeError):
        raise WrongInput("--host", host, "an address of this machine") from None
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise WrongInput("--host", host, "an address of this machine") from None
            taken = f"{port} on {host} ({os.strerror(error.errno or 0)})"
            raise WrongInput(option, taken, "a free port") from None


def _uvicorn(host: str, port: int, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Prefect's server in its own session: a Ctrl-C in the terminal does not reach it."""
    app = ["--app-dir", str(Path(__file__).parents[1]), "--factory", "infra.prefect_app:create_app"]
    place = ["--host", host, "--port", str(port)]
    return subprocess.Popen(
        [sys.executable, "-m", "uvicorn", *app, *place, "--log-level", "error"],
        env={**os.environ, **settings, "PREFECT__SERVER_FINAL": "1"},
        start_new_session=True,
    )


@contextmanager
def _guarded(pid: int) -> Iterator[None]:
    """Kill a process when this one ends, however it ends: a shell waits for its pipe to close."""
    guard = subprocess.Popen(
        ["sh", "-c", f"read _; kill {pid}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        guard.kill()
        guard.wait()


def _wait_for(server: subprocess.Popen[bytes], address: str, port: int) -> None:
    """Wait until the server answers; its first start on a machine creates the database."""
    deadline = time.monotonic() + STARTUP_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(POLL_SECONDS)
    state = "does not answer" if server.poll() is None else "ended at once, see above"
    accepted = f"one that answers within {STARTUP_SECONDS:.0f} s"
    raise WrongInput("Prefect server", f"one on port {port} that {state}", accepted)


def _end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def drain_prefect(seconds: float = 3.0) -> None:
    """Send the last logs and events, which are lost if the process ends at once."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    for worker in (APILogWorker, EventsWorker):
        try:
            worker.drain_all(timeout=seconds)
        except Exception:  # the run ends in any case; at most log lines are lost
            logging.getLogger(__name__).debug("could not drain %s", worker.__name__)
