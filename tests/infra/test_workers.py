"""Workers: results, limits, how they end, and who may connect to them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.errors import WrongInput
from infra.runtime import BLAS_KERNELS, WORKER, quieten
from infra.workers import (
    RETRY_SECONDS,
    Decision,
    Resources,
    Stopped,
    Workers,
    running_workers,
)
from tests.campaign.ray_cluster import RayCluster
from tests.infra.drivers.records import Clock
from tests.processes import wait_until


def double(number: int) -> int:
    if number < 0:
        raise ValueError(f"{number} is below 0")
    return 2 * number


def environment(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ.get(name, "") for name in names}


def die_noting(place: str) -> None:
    with Path(place).open("a") as file:
        file.write("x")
    os._exit(1)


def waits_for(number: int, place: str) -> int:
    while not Path(place).exists():
        time.sleep(0.02)
    return number


def resources(number: int) -> dict[str, float]:
    import ray

    assigned: dict[str, float] = ray.get_runtime_context().get_assigned_resources()
    return assigned


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    quieten()
    with pytest.MonkeyPatch.context() as patch:
        for name in WORKER:
            patch.delenv(name, raising=False)  # tests/conftest.py sets some; workers set their own
        with running_workers(count=2) as running:
            yield running


def test_every_call_comes_back_once_with_its_result(workers: Workers) -> None:
    result_of = dict(workers.map(double, [(number,) for number in range(40)]))
    assert result_of == {(number,): 2 * number for number in range(40)}


def test_an_error_comes_back_and_the_others_go_on(workers: Workers) -> None:
    result_of = dict(workers.map(double, [(-1,), (3,)]))
    assert result_of[(3,)] == 6
    assert isinstance(result_of[(-1,)], Exception)
    assert "-1 is below 0" in str(result_of[(-1,)])


def pass_through(workers: Workers) -> None:
    """Wait until the thread that submits calls has decided about one."""
    calls = workers.calls(double, decide=lambda number: number)
    calls.add((0,))
    calls.end()
    assert dict(calls) == {(0,): 0}


def test_no_more_long_calls_are_submitted_than_can_run(workers: Workers, tmp_path: Path) -> None:
    submitted: list[int] = []

    def decide(number: int, path: str) -> Decision:
        submitted.append(number)
        return Decision.NOW

    gate = tmp_path / "gate"
    calls = workers.calls(waits_for, decide=decide)
    for number in range(100):
        calls.add((number, str(gate)))
    calls.end()
    wait_until(lambda: len(submitted) == workers.count)
    for _ in range(2):  # after the second the first has been through the whole loop
        pass_through(workers)
    assert len(submitted) == workers.count
    gate.write_text("open")
    assert sorted(number for (number, _), _ in calls) == list(range(100))


def test_short_calls_wait_in_ray_so_that_no_worker_pauses(workers: Workers) -> None:
    in_flight: list[int] = []
    results: list[object] = []

    def decide(number: int) -> Decision:
        in_flight.append(len(in_flight) + 1 - len(results))
        return Decision.NOW

    calls = workers.calls(double, decide=decide)
    for number in range(200):
        calls.add((number,))
    calls.end()
    for _, result in calls:
        results.append(result)
    assert workers.count < max(in_flight)
    assert len(in_flight) == len(results) == 200


def note(event: str, model: int, place: str, seconds: float) -> int:
    with Path(place).open("a") as file:
        file.write(f"{event} {model}\n")
    time.sleep(seconds)
    return model


def test_scores_of_trained_models_go_before_further_trainings(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty runs: Ray's choice among functions differs from run to run."""
    monkeypatch.setattr("infra.workers.AHEAD_SECONDS", 0.0)  # as if calls took minutes
    for run in range(20):
        log = tmp_path / f"{run}.txt"
        # another function in each run, for which Ray may choose another place in its order
        seconds = 0.02 + run / 1e6
        train = workers.calls(note, Resources(tries=run + 1), priority=1)
        score = workers.calls(note, Resources(tries=run + 101))
        for model in range(8):
            train.add(("train", model, str(log), seconds), (model,))
        train.end()
        for (_, model, *_), _ in train:
            score.add(("score", model, str(log), seconds), (100 + model,))
        score.end()
        assert len(dict(score)) == 8
        events = [line.split() for line in log.read_text().splitlines()]
        order = [(event, int(model)) for event, model in events]
        for model in range(8):
            between = order[order.index(("train", model)) : order.index(("score", model))]
            # while it was trained, and until its result was read, each worker began another one
            assert sum(event == "train" for event, _ in between) <= 2 * workers.count + 1, order


def test_the_lowest_rank_is_next_in_whatever_order_they_were_added(workers: Workers) -> None:
    order: list[int] = []
    blocked, added = threading.Event(), threading.Event()

    def block(number: int) -> int:
        blocked.set()
        added.wait(60)
        return 0

    def decide(number: int) -> int:
        order.append(number)
        return -number  # no Decision: the result

    gate, first, second = (workers.calls(double, decide=d) for d in (block, decide, decide))
    gate.add((0,))
    assert blocked.wait(60)  # so that all wait before the next is decided about
    for number in (5, 3, 1):
        first.add((number,), (number,))
    for number in (4, 2, 0):
        second.add((number,), (number,))
    added.set()
    first.end()
    second.end()
    assert dict(first) == {(5,): -5, (3,): -3, (1,): -1}
    assert dict(second) == {(4,): -4, (2,): -2, (0,): 0}
    assert order == [0, 1, 2, 3, 4, 5]


def test_what_another_driver_does_is_decided_about_again_later(workers: Workers) -> None:
    clock = Clock()
    waiting = Workers(count=2, now=clock.now)
    decisions: list[float] = []

    def decide(number: int) -> Decision:
        decisions.append(clock.now())
        return Decision.NOW if len(decisions) == 3 else Decision.LATER

    calls = waiting.calls(double, decide=decide)
    calls.add((4,))
    calls.end()
    for count in (1, 2):
        wait_until(lambda count=count: len(decisions) == count)
        clock.sleep(RETRY_SECONDS / 2)
        for _ in range(2):
            pass_through(waiting)
        assert len(decisions) == count, "not before its time"
        clock.sleep(RETRY_SECONDS / 2)
    assert dict(calls) == {(4,): 8}
    assert len(decisions) == 3
    waiting.close()


def test_calls_may_be_added_while_results_are_read(workers: Workers) -> None:
    calls = workers.calls(double)
    calls.add((1,))
    calls.end()
    results = []
    for (number,), result in calls:
        results.append(result)
        if number < 4:
            calls.add((number + 1,))
    assert results == [2, 4, 6, 8]


def test_a_call_has_the_cpus_and_the_memory_that_it_needs(workers: Workers) -> None:
    ((_, assigned),) = workers.map(resources, [(0,)], Resources(cpus=2, memory_gib=0.25))
    assert assigned["CPU"] == 2
    assert assigned["memory"] == 0.25 * 2**30
    ((_, assigned),) = workers.map(resources, [(0,)], Resources(cpus=0.5, gpus=1))
    assert assigned["CPU"] == 0.5
    assert "GPU" not in assigned, "on a machine without a GPU it runs on the CPU"
    assert Resources(gpus=0.25).options(has_gpus=True)["num_gpus"] == 0.25


def test_a_call_that_kills_its_worker_is_given_up_after_so_many_tries(
    workers: Workers, tmp_path: Path
) -> None:
    for tries in (1, 2):
        place = tmp_path / str(tries)
        ((_, result),) = workers.map(die_noting, [(str(place),)], Resources(tries=tries))
        assert isinstance(result, Exception)
        assert place.read_text() == "x" * tries
    assert dict(workers.map(double, [(1,)])) == {(1,): 2}, "the next call has a new worker"


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
    ((_, variables),) = workers.map(environment, [(tuple(WORKER),)])
    assert variables == WORKER


def test_machines_of_a_cluster_choose_their_own_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    environments: list[dict[str, str]] = []

    def init(*_: object, runtime_env: dict[str, dict[str, str]], **__: object) -> None:
        environments.append(runtime_env["env_vars"])

    monkeypatch.setattr("infra.workers.cluster_machines", lambda address: [])
    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 1.0})
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setitem(WORKER, BLAS_KERNELS, "SkylakeX")
    for address in ("auto", None):
        with running_workers(address, count=1):
            pass
    assert [BLAS_KERNELS in variables for variables in environments] == [False, True]


def test_stopping_does_not_wait_for_calls(workers: Workers, tmp_path: Path) -> None:
    stopped = Workers(count=2)
    calls = stopped.map(waits_for, [(1, str(tmp_path / "never"))] * 10)
    threading.Timer(0.5, stopped.stop).start()
    with pytest.raises(Stopped):
        list(calls)
    with pytest.raises(Stopped):
        list(stopped.map(double, [(1,)]))
    stopped.close()
    (tmp_path / "never").write_text("now, so that the workers are free")


def test_an_error_of_the_submitting_thread_is_raised_where_results_are_read(
    workers: Workers,
) -> None:
    broken = Workers(count=2)
    waiting = broken.calls(double)
    calls = broken.calls(double, decide=lambda number: 1 / 0)
    calls.add((1,))
    for results in (waiting, calls):
        with pytest.raises(ZeroDivisionError):
            list(results)


def test_a_cluster_that_does_not_answer_any_more_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("infra.workers.CLUSTER_CHECK_SECONDS", 0.01)
    with socket.socket() as cluster:
        cluster.bind(("127.0.0.1", 0))
        cluster.listen(100)
        address = f"127.0.0.1:{cluster.getsockname()[1]}"
        watching = Workers(count=2, cluster=address)
        calls = watching.calls(double)
        for _ in range(10):
            cluster.accept()[0].close()
        assert not watching.stopping, "as long as it answers"
    with pytest.raises(WrongInput, match=f"--ray: found {address}, which does not answer any more"):
        list(calls)
    watching.close()


GOING = """
import sys
from infra.errors import WrongInput
from infra.workers import running_workers

try:
    with running_workers(sys.argv[1]):
        pass
except WrongInput as error:
    print(error)
"""


@pytest.mark.slow
def test_connecting_to_a_cluster_that_disappears_is_given_up() -> None:
    """Ray would wait for it for a quarter of an hour."""
    with socket.socket() as cluster:
        cluster.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{cluster.getsockname()[1]}"
    command = [sys.executable, "-c", GOING, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("--ray: found ") and done.stdout.count("\n") == 1


FOUND = """
from infra.errors import WrongInput
from infra.workers import running_workers

def double(number):
    return 2 * number

try:
    with running_workers("auto") as workers:
        calls = workers.calls(double)
        calls.add((21,))
        for _, result in calls:
            print(result, flush=True)
except WrongInput as error:
    print(error)
"""


@pytest.mark.slow
def test_a_cluster_that_was_found_is_watched_as_one_that_was_named() -> None:
    folder = Path(tempfile.mkdtemp(prefix="tolstoy-"))  # short: Ray has sockets below it
    outside = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    cluster = RayCluster(folder, outside)
    try:
        cluster.start()
        environment = {**outside, **cluster.settings, "RAY_ADDRESS": cluster.address}
        command = [sys.executable, "-c", FOUND]
        driver = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert driver.stdout and driver.stdout.readline() == "42\n"
        cluster.kill()
        output, _ = driver.communicate(timeout=120)
        assert output.startswith(f"--ray: found {cluster.address}, which does not answer any more")
    finally:
        cluster.kill()
        shutil.rmtree(folder, ignore_errors=True)


EATING = """
import os, sys, time
os.environ["RAY_memory_usage_threshold"] = "0.1"
os.environ["RAY_memory_monitor_refresh_ms"] = "100"
from infra.runtime import quieten
quieten()
from infra.workers import Resources, running_workers

def eat(place):
    with open(place, "a") as file:
        file.write("x")
    blocks = []
    while True:
        blocks.append(os.urandom(1 << 20) * 200)

with running_workers(count=1) as workers:
    for _, result in workers.map(eat, [(sys.argv[1],)], Resources(tries=2)):
        print(type(result).__name__)
"""


@pytest.mark.slow
def test_a_call_that_uses_all_memory_is_tried_as_often_as_any_other(tmp_path: Path) -> None:
    if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") > 2**36:
        pytest.skip("would take long to fill a tenth of the memory")
    command = [sys.executable, "-c", EATING, str(tmp_path / "tries")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "OutOfMemoryError", done.stderr  # after Ray's advice
    assert (tmp_path / "tries").read_text() == "xx"


def test_resources_that_no_machine_has_are_found_before_waiting() -> None:
    small, large = {"CPU": 2.0, "memory": 2.0**33}, {"CPU": 8.0, "memory": 2.0**35, "GPU": 1.0}
    head = {"CPU": 0.0, "memory": 2.0**37}  # which runs nothing
    for machines, need, lacking in (
        ((), Resources(cpus=99), None),
        ((small,), Resources(cpus=2, memory_gib=8), None),
        ((small,), Resources(cpus=3), ("cpus", 3, 2.0)),
        ((small,), Resources(memory_gib=9), ("memory", 9, 8.0)),
        ((small, large), Resources(cpus=3, memory_gib=9, gpus=1), None),
        ((small, large), Resources(cpus=1, gpus=2), ("gpus", 2, 1.0)),
        ((small, head), Resources(memory_gib=20), ("memory", 20, 8.0)),
        ((small, large, head), Resources(cpus=16), ("cpus", 16, 8.0)),
    ):
        workers = Workers(
            1, gpus=sum(machine.get("GPU", 0) for machine in machines), machines=machines
        )
        assert workers.missing(need) == lacking
        workers.close()


SIGNALLED = """
import os, signal, sys
from infra.workers import stopped_by_signals

class Workers:
    stopped = False
    def stop(self):
        self.stopped = True

workers = Workers()
try:
    with stopped_by_signals(workers):
        try:
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
            for _ in range(10**6):
                pass
        except BaseException as error:  # as a library might
            print(type(error).__name__, workers.stopped)
finally:
    print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_stops_the_workers_even_if_its_exception_is_lost(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED, name], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["KeyboardInterrupt", "True", "True"]
