"""Settings of Ray, Prefect, threads and the allocator, and what this machine has."""

from __future__ import annotations

import os
import platform
from pathlib import Path

# Nothing here talks to anybody outside unless it is told to, and a server that comes back within a
# minute is waited for; a user's own setting wins.
DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",  # what it says while its database is away
}
EMBEDDED = {
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}
# Ray's own switch to listen on the loopback interface only, read when Ray is imported; despite its
# name it is heeded on Linux too.
LOOPBACK_ONLY = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
# How often Ray asks a cluster that does not answer, 40 s each time; 20 unless it is told.
ASKED_ONCE = ("RAY_NUM_REDIS_GET_RETRIES", "1")
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


def quieten() -> None:
    """Set the defaults of Ray and Prefect; before either is imported."""
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    if not os.environ.get("PREFECT_API_URL"):
        for name, value in EMBEDDED.items():
            os.environ.setdefault(name, value)


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
