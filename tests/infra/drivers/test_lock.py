"""Who works on a store: real processes, and records that look like those of other machines."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.drivers import liveness
from infra.drivers.claims import CLAIMS
from infra.drivers.liveness import DRIVERS, lock_file, read_driver, record
from infra.drivers.lock import DriverLock, driver_lock, remove_dead_drivers
from infra.errors import WrongInput
from infra.store import Store
from tests.infra.drivers.records import BEAT, Clock, beating, foreign

ROOT = Path(__file__).parents[3]
PRELUDE = """
import subprocess, sys
from infra.drivers.lock import driver_lock
from infra.errors import WrongInput
from infra.store import Store
store = Store(sys.argv[1])
"""
HOLD = """
with driver_lock(store) as lock:
    lock.claim("models-a")
    child = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    sys.stdin.readline()
"""
RACE = """
print("ready", flush=True)
for line in sys.stdin:
    try:
        with driver_lock(Store(f"{store.root}-{line.strip()}")):
            print("won", flush=True)
            sys.stdin.readline()
    except WrongInput as error:
        print("refused", flush=True)
"""
HAMMER = """
import random
left = [f"models-{i}" for i in range(200)]
with driver_lock(store, join=True, say=lambda text: None) as lock:
    print("ready", flush=True)
    sys.stdin.readline()
    while left:
        random.shuffle(left)
        for name in list(left):
            if lock.claim(name):
                if not store.exists("done", name):
                    print(name)
                    store.write_bytes(b"", "done", name)
                left.remove(name)
                lock.release(name)
"""


def silent(text: str) -> None:
    pass


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def start(store: Store) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def begin(script: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + script, store.root],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()
    remove_dead_drivers(store)


@pytest.fixture
def holder(store: Store, start: Callable[[str], Any]) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock and one claim, and has a child that outlives it."""
    process = start(HOLD)
    child = int(line(process))
    yield process
    os.kill(child, signal.SIGKILL)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str], what: object = "") -> None:
    assert process.stdin
    process.stdin.write(f"{what}\n")
    process.stdin.flush()


def at_once(*actions: Callable[[], object]) -> None:
    """Run each call in its own thread, and wait for all."""
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# one driver -------------------------------------------------------------------------------------


def test_the_second_is_refused_with_the_holders_name_and_age_and_leaves_nothing(store):
    with driver_lock(store, say=pytest.fail) as lock:
        with pytest.raises(WrongInput) as raised, driver_lock(store, say=pytest.fail):
            pass
        assert store.names(DRIVERS) == [f"{lock.me.id}.json"]
        assert lock_file(lock.me.id).exists()
        assert lock.alone and not lock.lost.is_set()
    message = str(raised.value)
    assert f"held by {lock.me.user}@{lock.me.host} pid {os.getpid()} since" in message
    assert "last sign just now" in message and "--join" in message and "\n" not in message
    assert store.names(DRIVERS) == [] and not lock_file(lock.me.id).exists()
    with driver_lock(store, say=pytest.fail):
        pass


def test_leaving_by_an_exception_leaves_no_record_and_no_claim(store):
    with pytest.raises(KeyboardInterrupt), driver_lock(store) as lock:
        assert lock.claim("models-a")
        raise KeyboardInterrupt
    assert store.names(DRIVERS) == store.names(CLAIMS) == []
    assert not lock_file(lock.me.id).exists()


def test_a_record_that_could_not_be_removed_is_a_dead_drivers(store, monkeypatch):
    with monkeypatch.context() as broken, driver_lock(store):
        broken.setattr(Store, "remove", refuse)
    assert len(store.names(DRIVERS)) == 1
    with driver_lock(store, say=silent, sleep=pytest.fail) as lock:
        assert store.names(DRIVERS) == [f"{lock.me.id}.json"]


def test_of_two_that_start_at_once_one_wins_each_time(start):
    pair = [start(RACE), start(RACE)]
    assert [line(process) for process in pair] == ["ready"] * 2
    for number in range(20):
        for process in pair:
            tell(process, number)
        results = [line(process) for process in pair]
        tell(pair[results.index("won")])
        assert sorted(results) == ["refused", "won"]


def test_after_a_killed_driver_the_next_starts_at_once_and_removes_its_claims(store, holder):
    """This holds although its child still runs, and its parent has not waited for it."""
    with pytest.raises(WrongInput, match=f"pid {holder.pid} "), driver_lock(store):
        pass
    (name,) = store.names(DRIVERS)
    holder.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)  # dead, and a zombie
    messages: list[str] = []
    with driver_lock(store, say=messages.append, sleep=pytest.fail) as lock:
        assert store.names(DRIVERS) == [f"{lock.me.id}.json"] and store.names(CLAIMS) == []
        assert lock.alone
    (message,) = messages
    assert "took over from" in message and f"pid {holder.pid}" in message
    assert not lock_file(name.removesuffix(".json")).exists()


def test_a_stopped_process_is_not_dead(store, holder):
    holder.send_signal(signal.SIGSTOP)
    with pytest.raises(WrongInput, match="held by"), driver_lock(store, sleep=pytest.fail):
        pass


def test_what_a_driver_left_that_was_killed_while_it_ended_is_removed(store, holder):
    assert not remove_dead_drivers(store)
    assert len(store.names(DRIVERS)) == 1 and store.names(CLAIMS), "it is alive"
    holder.kill()
    holder.wait()
    assert remove_dead_drivers(store)
    assert store.names(DRIVERS) == store.names(CLAIMS) == []


def test_without_locks_heartbeats_are_watched(store, monkeypatch, tmp_path):
    monkeypatch.setattr(liveness, "LOCKS", tmp_path / "not-there")
    first = DriverLock(store, BEAT, silent)
    first.enter(join=False)
    clock, messages = Clock(first.heartbeat), list[str]()
    with (
        pytest.raises(WrongInput, match="held by"),
        driver_lock(store, False, messages.append, BEAT, clock.now, clock.sleep),
    ):
        pass
    assert len(messages) == 1 and "waiting up to 30 s" in messages[0]
    first.leave()


# drivers elsewhere ------------------------------------------------------------------------------


def test_a_living_driver_elsewhere_is_found_by_its_heartbeats(store):
    clock, messages = Clock(beating(store, foreign(store))), list[str]()
    with (
        pytest.raises(WrongInput, match="anna@elsewhere pid 17 since 3 minutes"),
        driver_lock(store, False, messages.append, BEAT, clock.now, clock.sleep),
    ):
        pass
    assert len(messages) == 1
    assert "waiting up to 30 s" in messages[0] and "anna@elsewhere" in messages[0]


def test_a_dead_driver_elsewhere_is_waited_for_three_heartbeats_and_replaced(store):
    foreign(store)
    clock, messages = Clock(), list[str]()
    began = clock.now()
    with driver_lock(store, False, messages.append, BEAT, clock.now, clock.sleep) as lock:
        assert clock.now() - began == pytest.approx(3 * BEAT)
        assert store.names(DRIVERS) == [f"{lock.me.id}.json"]
    assert len(messages) == 2 and "took over from anna@elsewhere" in messages[1]


def test_the_time_of_day_is_not_read(store, monkeypatch):
    """The system clock may jump by hours."""
    clock, driver = Clock(), foreign(store)
    monkeypatch.setattr(time, "time", pytest.fail)
    with driver_lock(store, False, silent, BEAT, clock.now, clock.sleep) as lock:
        clock.meanwhile = beating(store, driver)
        clock.meanwhile()
        lock.heartbeat()
        assert not lock.lost.is_set() and lock.me.beat == 2


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"pid": "x", "beat": -1, "host": 3}', b"\xff\xfe"]
)
def test_a_record_that_says_nothing_is_judged_by_its_heartbeats(store, content):
    store.write_bytes(content, DRIVERS, "odd.json")
    clock, messages = Clock(), list[str]()
    with driver_lock(store, False, messages.append, BEAT, clock.now, clock.sleep) as lock:
        assert store.names(DRIVERS) == [f"{lock.me.id}.json"]
    assert "took over from somebody@an unknown host" in messages[-1]


# heartbeats -------------------------------------------------------------------------------------


def test_a_store_that_cannot_be_written_for_a_while_ends_nothing(store, monkeypatch):
    clock = Clock()
    with driver_lock(store, True, pytest.fail, BEAT, clock.now, clock.sleep) as lock:
        other = foreign(store)
        with monkeypatch.context() as broken:
            broken.setattr(Store, "write_bytes", refuse)
            for _ in range(6):  # nobody can renew a record: nobody is taken for dead
                clock.sleep(BEAT)
                lock.heartbeat()
        assert store.exists(*record(other.id))
        before = read_driver(lock.me.id, store.read_bytes(*record(lock.me.id))).beat
        store.remove(*record(other.id))
        lock.heartbeat()
        after = read_driver(lock.me.id, store.read_bytes(*record(lock.me.id))).beat
        assert after > before and not lock.lost.is_set()


def test_a_claim_that_could_not_be_released_is_released_later(store, monkeypatch):
    with driver_lock(store) as lock:
        assert lock.claim("models-a")
        with monkeypatch.context() as broken:
            broken.setattr(Store, "remove", refuse)
            lock.release("models-a")
            assert "models-a" in store.names(CLAIMS)
        lock.heartbeat()
        assert "models-a" not in store.names(CLAIMS)
    assert store.names(CLAIMS) == []


def test_without_other_drivers_claims_are_released_together(store):
    clock = Clock()
    with driver_lock(store, now=clock.now) as lock:
        for name in "abc":
            assert lock.claim(name)
        lock.release("a")
        lock.release("b")
        assert "a" not in store.names(CLAIMS) and "b" in store.names(CLAIMS)
        assert lock.claim("b") and lock.claim("b"), "it was not released yet"
        lock.release("b")
        clock.sleep(1)
        lock.release("c")
        assert not {"a", "b", "c"} & set(store.names(CLAIMS))


def refuse(*_: object) -> None:
    raise OSError(errno.EROFS, "Read-only file system")


def test_a_driver_whose_record_is_gone_ends_and_claims_nothing_more(store):
    called = threading.Event()
    with driver_lock(store, beat_seconds=0.01) as lock:
        assert lock.claim("models-a")
        lock.call_when_lost(called.set)
        store.remove(*record(lock.me.id))
        assert called.wait(60) and lock.lost.is_set()
        assert not lock.claim("models-b")
        assert store.names(DRIVERS) == []


# several drivers --------------------------------------------------------------------------------


def test_two_that_join_share_by_claims(store):
    messages: list[str] = []
    with (
        driver_lock(store) as first,
        driver_lock(store, join=True, say=messages.append) as second,
    ):
        assert messages == [f"sharing the work with {first.me}"]
        assert not first.alone and not second.alone
        assert first.claim("models-a") and first.claim("models-a")
        assert not second.claim("models-a") and second.claim("models-b")
        second.release("models-a")  # a claim of the other
        assert not second.claim("models-a")
        first.release("models-a")
        assert second.claim("models-a") and not first.claim("models-a")
        for name in ("models-c", "models-d"):  # one after the other, and each at once
            assert second.claim(name)
            second.release(name)
            assert first.claim(name)
    assert store.names(CLAIMS) == []


def test_the_claims_of_a_driver_that_died_are_taken_over_by_one(store, holder):
    with (
        driver_lock(store, join=True, say=silent) as first,
        driver_lock(store, join=True, say=silent) as second,
    ):
        assert not first.claim("models-a")
        holder.kill()
        holder.wait()
        winners: list[DriverLock] = []

        def claim(lock: DriverLock) -> None:
            if lock.claim("models-a"):
                winners.append(lock)

        at_once(lambda: claim(first), lambda: claim(second))
        assert len(winners) == 1
        assert not first.has_taken_over
        first.heartbeat()
        assert first.has_taken_over
        assert len(store.names(DRIVERS)) == 2, "whoever looks removes the record"


def test_a_claim_of_a_driver_elsewhere_is_taken_over_when_its_heartbeats_end(store):
    driver = foreign(store)
    store.write_bytes(driver.id.encode(), CLAIMS, "models-a")
    clock = Clock(beating(store, driver))
    with driver_lock(store, True, silent, BEAT, clock.now, clock.sleep) as lock:
        for _ in range(8):
            clock.sleep(BEAT)
            assert not lock.claim("models-a")
        clock.meanwhile = lambda: None
        for _ in range(2):
            clock.sleep(BEAT)
            assert not lock.claim("models-a")
        clock.sleep(BEAT)
        assert lock.claim("models-a")


def test_eight_processes_do_each_of_two_hundred_things_once(store, start):
    many = [start(HAMMER) for _ in range(8)]
    for process in many:
        assert line(process) == "ready"
    for process in many:
        tell(process)
    done = [name for process in many for name in process.communicate(timeout=60)[0].split()]
    assert sorted(done) == sorted(f"models-{i}" for i in range(200))
    assert store.names(DRIVERS) == store.names(CLAIMS) == []


def test_a_claim_writes_nothing(store, monkeypatch):
    """A study has tens of thousands of claims, and a file system writes a file in milliseconds."""
    clock = Clock()
    with driver_lock(store, now=clock.now) as lock:
        assert lock.claim("models-first")
        monkeypatch.setattr(Store, "write_bytes", pytest.fail)
        for i in range(30):
            assert lock.claim(f"models-{i}")
            lock.release(f"models-{i}")
        monkeypatch.undo()


# object stores ----------------------------------------------------------------------------------


class AsObjectStore(Store):
    """A folder with what an object store lacks: no exclusive creation, no locks."""

    def __init__(self, uri: Any) -> None:
        super().__init__(uri)
        self.local = False

    def _temporary(self, final: str) -> str:
        Path(final).parent.mkdir(parents=True, exist_ok=True)
        return final


class Together(AsObjectStore):
    """Both drivers list the records before either has written its own."""

    def __init__(self, uri: Any) -> None:
        super().__init__(uri)
        self.first = threading.Barrier(2)

    def write_bytes(self, data: bytes, *names: str, lasting: bool = False) -> None:
        if names[0] == DRIVERS and not read_driver("", data).settled:
            self.first.wait()
        super().write_bytes(data, *names, lasting=lasting)


def test_without_exclusive_creation_of_two_at_once_one_wins(tmp_path):
    for number in range(5):
        store = Together(tmp_path / str(number))
        written, done = threading.Barrier(2), threading.Barrier(2)
        results: list[str] = []

        def try_it(store=store, written=written, done=done, results=results) -> None:
            try:
                with driver_lock(store, say=silent, sleep=lambda _: written.wait() and None):
                    results.append("won")
                    done.wait()
            except WrongInput:
                results.append("refused")
                done.wait()

        at_once(try_it, try_it)
        assert sorted(results) == ["refused", "won"]
        assert store.names(DRIVERS) == []


@pytest.mark.parametrize(("settled", "stays"), [(True, False), (False, True)])
def test_a_driver_that_has_settled_stays_whatever_its_id(tmp_path, settled, stays):
    store = AsObjectStore(tmp_path)

    def another_starts(_: float) -> None:
        foreign(Store(tmp_path), id="g" * 32, settled=settled)

    try:
        with driver_lock(store, say=silent, sleep=another_starts) as lock:
            assert stays and store.exists(*record(lock.me.id))
    except WrongInput:
        assert not stays
    assert store.names(DRIVERS) == [f"{'g' * 32}.json"]


def test_without_exclusive_creation_no_claim_is_had_by_two(tmp_path):
    store = AsObjectStore(tmp_path / "store")
    with (
        driver_lock(store, join=True, sleep=pytest.fail) as first,
        driver_lock(store, join=True, say=silent, sleep=pytest.fail) as second,
    ):
        assert first.claim("models-a") and not second.claim("models-a") and first.claim("models-a")
        first.release("models-a")
        assert second.claim("models-a") and not first.claim("models-a")
        second.release("models-a")
        for i in range(50):
            together = threading.Barrier(2)
            winners: list[DriverLock] = []

            def take(lock: DriverLock, i=i, together=together, winners=winners) -> None:
                together.wait()
                if lock.claim(f"models-{i}"):
                    winners.append(lock)

            at_once(lambda take=take: take(first), lambda take=take: take(second))
            assert len(winners) <= 1
        store.write_bytes(b"", CLAIMS, "compare-x@nobody")
        assert second.claim("compare-x") and not first.claim("compare-x")
    assert store.names(CLAIMS) == []
