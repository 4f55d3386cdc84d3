"""Settings of Ray, Prefect, threads and the allocator, and what this machine has."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path

from infra import processor
from infra.errors import WrongInput

# No usage data is sent, and a server that answers again within a minute is waited for. A user's own
# setting has precedence.
DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # A driver gives up a machine that does not answer any more after 70 + 30 s. By Ray's defaults
    # it takes 300 + 120 s. Ray's servers close connections that ask more than once a minute.
    "RAY_grpc_client_keepalive_time_ms": "70000",
    "RAY_grpc_client_keepalive_timeout_ms": "30000",
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",  # its answer while its database does not answer
}
EMBEDDED = {
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}
# With this, Ray listens on the loopback interface only, despite its name also on Linux. It is read
# when Ray is imported.
LOOPBACK_ONLY = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
# How often Ray tries a cluster that does not answer, 40 s each time; its default is 20.
ASKED_ONCE = ("RAY_NUM_REDIS_GET_RETRIES", "1")
BLAS_KERNELS = "OPENBLAS_CORETYPE"
CONTAINER = Path("/sys/fs/cgroup")
AVX_512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl"}
NVIDIA = Path("/proc/driver/nvidia")


def has_nvidia_gpu() -> bool:
    return NVIDIA.exists()


def blas_kernels(cpuinfo: Path = processor.CPU_INFO) -> dict[str, str]:
    """The setting that makes numpy's OpenBLAS use AVX-512, if this machine has it.

    On processors that OpenBLAS does not know, such as AMD's Zen 5, it chooses AVX2, at half the
    speed. It is read when numpy is loaded. A user's own setting has precedence.
    """
    if BLAS_KERNELS in os.environ or processor.ARCHITECTURE != "x86_64":
        return {}
    return {BLAS_KERNELS: "SkylakeX"} if set(processor.flags(cpuinfo)) >= AVX_512 else {}


# One single-threaded process per core is fastest, and gives the same numbers for any number of
# cores. Keeping freed memory saves a quarter of a training step with glibc. Other systems ignore
# these variables.
WORKER = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str((1 << 31) - 1),
    "MALLOC_ARENA_MAX": "1",
    # Kernels that oneDNN and torch's layer around it keep. A step needs up to about a hundred;
    # encoding in windows (models/blank.py) would fill both defaults, 1024, with 200 MB.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128",
    "LRU_CACHE_CAPACITY": "16",
    **blas_kernels(),
}


def fast_products() -> None:
    """Give this process's numpy the workers' matrix products; before numpy is imported."""
    os.environ.update(blas_kernels())


def quieten() -> None:
    """Set the defaults of Ray and Prefect; before either is imported."""
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    if not os.environ.get("PREFECT_API_URL"):
        for name, value in EMBEDDED.items():
            os.environ.setdefault(name, value)


# Of its own, at most, as `tolstoy bench memory` measures it: of a worker that trains the study's
# networks at batch 64, or scores them on dSprites.
WORKER_BYTES = 500e6
MOST_PER_CORE = 16  # workers: each is a process, and more than cores make nothing quicker


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_workers(count: int | None, field: str = "--workers") -> None:
    """Raise unless this machine may have so many workers; none means one for each core."""
    most = MOST_PER_CORE * cores()
    if count is not None and not 1 <= count <= most:
        accepted = f"a number from 1 to {most}, {MOST_PER_CORE} for each of the {cores()} cores"
        raise WrongInput(field, count, accepted)


def free_memory_bytes() -> float:
    """What other processes leave of `memory_bytes`, where the system says so."""
    sizes = [memory_bytes()]
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        sizes.append(1024 * float(line.split()[1]))
    with suppress(OSError, ValueError, KeyError):
        sizes.append(_free_in_container())
    return max(min(sizes), 0.0)


def _free_in_container(group: Path = CONTAINER) -> float:
    """Its limit without what it uses; pages of files that were read long ago count as free."""
    used = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    reclaimable = float(used["inactive_file"])
    limit, current = (
        float((group / name).read_text()) for name in ("memory.max", "memory.current")
    )
    return limit - current + reclaimable


def workers_that_fit(worker: float = WORKER_BYTES) -> int:
    """How many workers of so many bytes the free memory of this machine is enough for."""
    return int(free_memory_bytes() // worker)


def memory_bytes() -> float:
    """Of the machine, or what a container or this process (ulimit -v) may use of it."""
    sizes = [float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))]
    if (limit_of_process := resource.getrlimit(resource.RLIMIT_AS)[0]) != resource.RLIM_INFINITY:
        sizes.append(float(limit_of_process))
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # not Linux, or no limit
            sizes.append(float((CONTAINER / limit).read_text()))
    return min(sizes)
