"""Workers: what comes back, what is bounded, what ends them, and who may reach them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.runtime import (
    BLAS_KERNELS,
    PER_CORE,
    WORKER,
    Stopped,
    Workers,
    blas_kernels,
    quieten,
    running_workers,
)
from tests.processes import descendants


def double(number: int) -> int:
    if number < 0:
        raise ValueError(f"{number} is below 0")
    return 2 * number


def environment(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ.get(name, "") for name in names}


def die(number: int) -> int:
    os._exit(1)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    quieten()
    with running_workers(count=2) as running:
        yield running


def test_every_call_comes_back_once_with_its_result(workers: Workers) -> None:
    found = dict(workers.map(double, [(number,) for number in range(40)]))
    assert found == {(number,): 2 * number for number in range(40)}


def test_an_error_comes_back_and_the_others_go_on(workers: Workers) -> None:
    found = dict(workers.map(double, [(-1,), (3,)]))
    assert found[(3,)] == 6
    assert isinstance(found[(-1,)], Exception)
    assert "-1 is below 0" in str(found[(-1,)])


def test_a_call_that_kills_its_worker_every_time_is_given_up(workers: Workers) -> None:
    found = dict(workers.map(die, [(1,)]))
    assert isinstance(found[(1,)], Exception)
    assert dict(workers.map(double, [(1,)])) == {(1,): 2}


def test_calls_are_taken_only_as_the_window_allows(workers: Workers) -> None:
    taken = 0

    def calls() -> Iterator[tuple[int]]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield (number,)

    results = workers.map(double, calls())
    next(results)
    assert taken <= PER_CORE * workers.count + 1
    results.close()  # type: ignore[attr-defined]
    assert len(list(workers.map(double, [(1,)] * 50))) == 50, "the window was not given back"


def test_several_threads_share_the_window(workers: Workers) -> None:
    counts: list[int] = []

    def feed() -> None:
        counts.append(len(list(workers.map(double, [(1,)] * 30))))

    threads = [threading.Thread(target=feed) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert counts == [30] * 6


def test_workers_are_single_threaded_and_keep_their_memory(workers: Workers) -> None:
    ((_, found),) = workers.map(environment, [(tuple(WORKER),)])
    assert found == WORKER


FLAGS = "avx2 avx512f avx512dq avx512bw avx512vl avx512cd"


@pytest.mark.parametrize(
    ("machine", "flags", "expected"),
    [
        ("x86_64", FLAGS, {BLAS_KERNELS: "SkylakeX"}),
        ("x86_64", FLAGS.replace(" avx512vl", ""), {}),
        ("x86_64", FLAGS.replace("avx512dq", "avx512_dq"), {}),
        ("aarch64", FLAGS, {}),
    ],
)
def test_numpy_uses_avx_512_where_the_machine_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, machine: str, flags: str, expected: object
) -> None:
    monkeypatch.delenv(BLAS_KERNELS, raising=False)
    monkeypatch.setattr("platform.machine", lambda: machine)
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nmodel name\t: X avx512f\nflags\t\t: fpu {flags}\n\n")
    assert blas_kernels(cpuinfo) == expected
    assert blas_kernels(tmp_path / "missing") == {}
    monkeypatch.setenv(BLAS_KERNELS, "Haswell")
    assert blas_kernels(cpuinfo) == {}, "a user's own setting wins"


def test_machines_of_a_cluster_choose_their_own_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    given: list[dict[str, str]] = []

    def init(*_: object, runtime_env: dict[str, dict[str, str]], **__: object) -> None:
        given.append(runtime_env["env_vars"])

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 1.0})
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setitem(WORKER, BLAS_KERNELS, "SkylakeX")
    for address in ("auto", None):
        with running_workers(address, count=1):
            pass
    assert [BLAS_KERNELS in variables for variables in given] == [False, True]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems tell sockets to root only")
def test_embedded_ray_listens_on_loopback_only(workers: Workers) -> None:
    import psutil  # Ray brings it

    assert len(list(workers.map(double, [(1,)] * 4))) == 4
    places = {
        connection.laddr.ip
        for pid, _ in descendants(os.getpid())
        if psutil.pid_exists(pid)
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert places
    assert places <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def test_told_to_stop_it_stops_within_a_moment(workers: Workers) -> None:
    workers.stop.set()
    began = time.monotonic()
    try:
        with pytest.raises(Stopped):
            list(workers.map(double, [(1,)] * 10))
    finally:
        workers.stop.clear()
    assert time.monotonic() - began < 5


def test_a_user_s_own_setting_wins() -> None:
    script = "import os; from infra.runtime import quieten; quieten(); print(os.environ[NAME])"
    for name, value, expected in (
        ("DO_NOT_TRACK", "0", "0"),
        ("RAY_USAGE_STATS_ENABLED", None, "0"),
    ):
        env = {k: v for k, v in os.environ.items() if k != name}
        if value is not None:
            env[name] = value
        done = subprocess.run(
            [sys.executable, "-c", script.replace("NAME", repr(name))],
            capture_output=True,
            text=True,
            check=True,
            env=env,
        )
        assert done.stdout.strip() == expected
