"""Where it runs: Ray, Prefect, threads and the allocator. The only module that knows."""

from __future__ import annotations

import logging
import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infra.errors import WrongInput

# Nothing here talks to anybody outside unless it is told to; a user's own setting wins.
QUIET = {
    "DO_NOT_TRACK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
EMBEDDED = {
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}
# Ray's own switch to listen on the loopback interface only, read when Ray is imported; despite its
# name it is heeded on Linux too.
LOOPBACK_ONLY = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
BLAS_KERNELS = "OPENBLAS_CORETYPE"
AVX_512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl"}


def blas_kernels(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """The setting that has numpy's OpenBLAS use AVX-512, where this machine has it.

    On machines that it does not know, such as AMD's Zen 5, it takes kernels for AVX2, at half the
    speed. Read when numpy is loaded; a user's own setting wins.
    """
    if BLAS_KERNELS in os.environ or platform.machine() != "x86_64":
        return {}
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        return {}
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    return {BLAS_KERNELS: "SkylakeX"} if set(flags) >= AVX_512 else {}


# One single-threaded process per core is quickest, and the same numbers come out whatever the
# number of cores. Keeping freed memory saves a quarter of a training step with glibc; other
# systems ignore the variables.
WORKER = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str((1 << 31) - 1),
    "MALLOC_ARENA_MAX": "1",
    **blas_kernels(),
}
OBJECT_STORE_BYTES = 150 * 2**20  # arrays never travel through Ray: ids and paths do
PER_CORE = 4  # tasks in flight; thousands of pending ones are known to stall a driver
POLL_SECONDS = 0.2


class Stopped(Exception):
    """The run was told to stop; what is finished stands in the store."""


def quieten() -> None:
    """Set the defaults of Ray and Prefect; before either is imported."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if not os.environ.get("PREFECT_API_URL"):
        for name, value in EMBEDDED.items():
            os.environ.setdefault(name, value)


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """Ray tasks on however many cores there are, a bounded number of them in flight."""

    def __init__(self, count: int, gpus: float = 0.0) -> None:
        self.count, self.gpus = count, gpus
        self.stop = threading.Event()
        self._window = threading.BoundedSemaphore(PER_CORE * count)
        self._remote: dict[tuple[Callable[..., Any], float], Any] = {}
        self._lock = threading.Lock()

    def map(
        self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], gpus: float = 0.0
    ) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Yield (call, result) as calls end; the result is an exception if its worker was lost.

        `gpus` is what each call is given of a GPU, a tenth say, where there are any.
        Several threads may map at once and share the window.
        """
        import ray

        remote = self._reused(function, gpus if self.gpus else 0.0)
        todo = iter(calls)
        flying: dict[Any, tuple[Any, ...]] = {}
        more = True
        try:
            while more or flying:
                if self.stop.is_set():
                    raise Stopped
                while more and self._window.acquire(timeout=0 if flying else POLL_SECONDS):
                    call = next(todo, None)
                    if call is None:
                        more = False
                        self._window.release()
                    else:
                        flying[remote.remote(*call)] = call
                if not flying:
                    continue
                ready, _ = ray.wait(list(flying), num_returns=1, timeout=POLL_SECONDS)
                for reference in ready:
                    call = flying.pop(reference)
                    self._window.release()
                    yield call, _outcome(reference)
        finally:
            for _ in flying:
                self._window.release()

    def _reused(self, function: Callable[..., Any], gpus: float) -> Any:
        """One remote function for all calls: a fresh one each time makes the queue superlinear."""
        import ray

        with self._lock:
            if (function, gpus) not in self._remote:
                options = {"num_cpus": 1, "num_gpus": gpus, "max_retries": 3}
                self._remote[function, gpus] = ray.remote(**options)(function)
            return self._remote[function, gpus]


def _outcome(reference: Any) -> Any:
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        return error


def check_address(address: str) -> None:
    """Raise if nobody listens at host:port; Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "/" in address:
        return  # "auto", or a scheme of Ray's: Ray knows what to make of it
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise WrongInput("--ray", f"{address} ({error})", "a Ray cluster that runs") from None


@contextmanager
def running_workers(address: str | None = None, count: int | None = None) -> Iterator[Workers]:
    """Workers on a cluster, or on a Ray of this process's own that ends with it."""
    if not address:
        os.environ.setdefault(*LOOPBACK_ONLY)
    import ray

    environment = {"env_vars": WORKER}
    if address:  # of machines that need not be like this one
        environment = {"env_vars": {n: v for n, v in WORKER.items() if n != BLAS_KERNELS}}
        try:
            ray.init(
                address, runtime_env=environment, log_to_driver=False, logging_level=logging.ERROR
            )
        except ConnectionError as error:
            accepted = "a running Ray cluster, with RAY_AUTH_MODE=token if it uses tokens"
            raise WrongInput("--ray", f"{address} ({error})", accepted) from None
        count = max(1, int(ray.cluster_resources().get("CPU", 1)))
    else:
        count = count or cores()
        ray.init(
            "local",
            num_cpus=count,
            include_dashboard=False,
            object_store_memory=OBJECT_STORE_BYTES,
            runtime_env=environment,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    try:
        yield Workers(count, ray.cluster_resources().get("GPU", 0.0))
    finally:
        ray.shutdown()


@contextmanager
def prefect_api() -> Iterator[None]:
    """Prefect's API: the configured one, or a temporary one that ends with this process.

    Prefect's own temporary server dies too early of a Ctrl-C, which a terminal sends to it as well,
    and not at all when this process is killed. Ours has a session of its own, and a guard that
    sees this process die, however it dies, ends it.
    """
    from prefect.settings import get_current_settings

    if get_current_settings().api.url:
        yield
        return
    server = _temporary_server()
    server.start()
    guard = subprocess.Popen(
        ["sh", "-c", f"read _; kill {server.server_process.pid}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        drain_prefect()
        guard.kill()
        guard.wait()
        server.stop()


def _temporary_server() -> Any:
    """Prefect's temporary server, started as Prefect does but in a session of its own.

    Prefect keeps one such server per process and will use this one.
    """
    import prefect
    from prefect.server.api.server import SubprocessASGIServer

    class Server(SubprocessASGIServer):
        def _run_uvicorn_command(self) -> Any:
            app = ["--app-dir", str(prefect.__module_path__.parent), "--factory"]
            app.append("prefect.server.api.server:create_app")
            place = ["--host", "127.0.0.1", "--port", str(self.port)]
            ephemeral = {
                "PREFECT_UI_ENABLED": "0",
                "PREFECT__SERVER_EPHEMERAL": "1",
                "PREFECT__SERVER_FINAL": "1",
            }
            return subprocess.Popen(
                [sys.executable, "-m", "uvicorn", *app, *place, "--log-level", "error"],
                env={**os.environ, **ephemeral},
                start_new_session=True,
            )

    return Server()


def drain_prefect(seconds: float = 3.0) -> None:
    """Send the last logs and events, which are lost if the process ends at once."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    for worker in (APILogWorker, EventsWorker):
        try:
            worker.drain_all(timeout=seconds)
        except Exception:  # ends the run in any case; there is nothing left to lose but a log line
            logging.getLogger(__name__).debug("could not drain %s", worker.__name__)
