"""Who works on a store: real processes, and records that look like those of other machines."""

from __future__ import annotations

import dataclasses
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.drivers import lock as holders
from infra.drivers.claims import CLAIMS
from infra.drivers.liveness import DRIVERS, Driver, as_bytes, read_driver
from infra.drivers.lock import Holder, bury_dead, holding
from infra.errors import WrongInput
from infra.store import Store

ROOT = Path(__file__).parents[3]
BEAT = 0.1
PRELUDE = """
import sys, time
from infra.drivers.lock import holding
from infra.errors import WrongInput
from infra.store import Store
store = Store(sys.argv[1])
"""
HOLD = """
with holding(store) as holder:
    holder.claim("models-a")
    print("holds", flush=True)
    sys.stdin.readline()
"""
RACE = """
print("ready", flush=True)
for line in sys.stdin:
    try:
        with holding(Store(f"{store.root}-{line.strip()}"), beat_seconds=0.3):
            print("won", flush=True)
            sys.stdin.readline()
    except WrongInput as error:
        print("refused", flush=True)
"""
HAMMER = """
import random
left = [f"models-{i}" for i in range(200)]
with holding(store, join=True, say=lambda text: None) as holder:
    print("ready", flush=True)
    sys.stdin.readline()
    while left:
        random.shuffle(left)
        for name in list(left):
            if holder.claim(name):
                if not store.exists("done", name):
                    print(name)
                    store.write_bytes(b"", "done", name)
                left.remove(name)
                holder.release(name)
"""


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


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str], what: object = "") -> None:
    assert process.stdin
    process.stdin.write(f"{what}\n")
    process.stdin.flush()


def foreign(store: Store, **changes: Any) -> Driver:
    """A record as if a driver of another machine had left it."""
    one = Driver("f" * 32, "elsewhere", "boot", "pids", 17, 5, user="anna", seconds=200)
    one = dataclasses.replace(one, **changes)
    store.write_bytes(as_bytes(one), DRIVERS, f"{one.id}.json")
    return one


@contextmanager
def beating(store: Store, one: Driver) -> Iterator[None]:
    """Somewhere else a driver lives."""
    over = threading.Event()

    def beat() -> None:
        number = 0
        while not over.wait(BEAT):
            number += 1
            store.write_bytes(
                as_bytes(dataclasses.replace(one, beat=number)), DRIVERS, f"{one.id}.json"
            )

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_the_second_is_refused_with_the_holders_name_and_age_and_leaves_nothing(store):
    with holding(store, say=pytest.fail) as holder:
        before = store.names(DRIVERS)
        with pytest.raises(WrongInput) as raised, holding(store, say=pytest.fail):
            pass
        assert store.names(DRIVERS) == before == [f"{holder.me.id}.json"]
        assert holder.alone and not holder.lost.is_set()
    message = str(raised.value)
    assert f"held by {holder.me.user}@{holder.me.host} pid {os.getpid()} since" in message
    assert "last sign just now" in message and "--join" in message and "\n" not in message
    assert store.names(DRIVERS) == []
    with holding(store, say=pytest.fail):
        pass


def test_leaving_by_an_exception_leaves_no_record_and_no_claim(store):
    with pytest.raises(KeyboardInterrupt), holding(store) as holder:
        assert holder.claim("models-a")
        raise KeyboardInterrupt
    assert store.names(DRIVERS) == store.names(CLAIMS) == []


def test_of_two_that_start_at_once_one_wins_each_time(start):
    pair = [start(RACE), start(RACE)]
    assert [line(process) for process in pair] == ["ready"] * 2
    for number in range(20):
        for process in pair:
            tell(process, number)
        said = [line(process) for process in pair]
        tell(pair[said.index("won")])
        assert sorted(said) == ["refused", "won"]


def test_a_killed_driver_is_followed_at_once_and_its_claims_are_swept(store, start):
    process = start(HOLD)
    assert line(process) == "holds"
    with pytest.raises(WrongInput, match=f"pid {process.pid} "), holding(store):
        pass
    process.send_signal(signal.SIGKILL)  # and not waited for: a zombie is dead
    time.sleep(0.2)
    said: list[str] = []
    began = time.monotonic()
    with holding(store, say=said.append) as holder:
        assert time.monotonic() - began < 2
        assert store.names(DRIVERS) == [f"{holder.me.id}.json"] and store.names(CLAIMS) == []
        assert holder.alone
    assert len(said) == 1 and "took over from" in said[0] and f"pid {process.pid}" in said[0]


def test_a_stopped_process_is_not_dead(store, start):
    process = start(HOLD)
    assert line(process) == "holds"
    process.send_signal(signal.SIGSTOP)
    with pytest.raises(WrongInput, match="held by"), holding(store, beat_seconds=0.01):
        pass


def test_a_living_driver_elsewhere_is_found_by_its_beats(store):
    said: list[str] = []
    with (
        beating(store, foreign(store)),
        pytest.raises(WrongInput, match="anna@elsewhere pid 17 since 3 minutes"),
        holding(store, say=said.append, beat_seconds=2 * BEAT),
    ):
        pass
    assert len(said) == 1 and "waiting up to 0.6 s" in said[0] and "anna@elsewhere" in said[0]


def test_what_a_driver_left_that_was_killed_at_its_very_end_is_removed(store, start):
    process = start(HOLD)
    assert line(process) == "holds"
    assert not bury_dead(store)
    assert len(store.names(DRIVERS)) == 1 and store.names(CLAIMS), "it is alive"
    process.kill()
    process.wait()
    assert bury_dead(store)
    assert store.names(DRIVERS) == store.names(CLAIMS) == []


def test_a_dead_driver_elsewhere_is_waited_for_three_beats_and_followed(store):
    foreign(store)
    said: list[str] = []
    began = time.monotonic()
    with holding(store, say=said.append, beat_seconds=BEAT) as holder:
        assert 3 * BEAT <= time.monotonic() - began < 3 * BEAT + 1
        assert store.names(DRIVERS) == [f"{holder.me.id}.json"]
    assert len(said) == 2 and "took over from anna@elsewhere" in said[1]


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_clock_that_jumps_changes_nothing(store, monkeypatch, hours):
    one, true_time = foreign(store), time.time
    began = time.monotonic()
    jumps = iter(range(1, 10**9))
    monkeypatch.setattr(time, "time", lambda: true_time() + 3600 * hours * next(jumps))
    with (
        beating(store, one),
        pytest.raises(WrongInput, match="since 3 minutes"),
        holding(store, beat_seconds=2 * BEAT, say=lambda text: None),
    ):
        pass
    with holding(store, beat_seconds=BEAT, say=lambda text: None) as holder:
        assert time.monotonic() - began > 3 * BEAT
        time.sleep(5 * BEAT)
        assert not holder.lost.is_set() and holder.me.beat > 2


def test_a_store_that_cannot_be_written_for_a_while_ends_nothing(store, monkeypatch):
    written = Store.write_bytes
    full = threading.Event()

    def write(self: Store, data: bytes, *names: str) -> None:
        if full.is_set():
            raise OSError(errno.EROFS, "Read-only file system")
        written(self, data, *names)

    monkeypatch.setattr(Store, "write_bytes", write)
    with holding(store, join=True, beat_seconds=BEAT, say=pytest.fail) as holder:
        other = foreign(store)
        full.set()
        time.sleep(6 * BEAT)  # nobody can give a sign: nobody is given up
        assert store.exists(DRIVERS, f"{other.id}.json")
        before = read_driver(holder.me.id, store.read_bytes(DRIVERS, f"{holder.me.id}.json")).beat
        full.clear()
        store.remove(DRIVERS, f"{other.id}.json")
        time.sleep(3 * BEAT)
        after = read_driver(holder.me.id, store.read_bytes(DRIVERS, f"{holder.me.id}.json")).beat
        assert after > before and not holder.lost.is_set()


def test_a_claim_that_could_not_be_given_back_is_given_back_later(store, monkeypatch):
    with holding(store, beat_seconds=BEAT) as holder:
        assert holder.claim("models-a")
        with monkeypatch.context() as broken:
            broken.setattr(Store, "remove", refuse)
            holder.release("models-a")
            assert "models-a" in store.names(CLAIMS)
        time.sleep(3 * BEAT)
        assert "models-a" not in store.names(CLAIMS)
    assert store.names(CLAIMS) == []


def test_while_nobody_waits_claims_are_given_back_together(store, monkeypatch):
    monkeypatch.setattr("infra.drivers.lock.GIVING_SECONDS", 0.2)
    with holding(store, beat_seconds=60) as holder:
        for name in "abc":
            assert holder.claim(name)
        holder.release("a")
        holder.release("b")
        assert "a" not in store.names(CLAIMS) and "b" in store.names(CLAIMS)
        assert holder.claim("b") and holder.claim("b"), "it was never away"
        holder.release("b")
        time.sleep(0.2)
        holder.release("c")
        assert not {"a", "b", "c"} & set(store.names(CLAIMS))


def refuse(*_: object) -> None:
    raise OSError(errno.EROFS, "Read-only file system")


def test_a_driver_that_was_taken_for_dead_is_told_and_claims_nothing_more(store):
    called = threading.Event()
    with holding(store, beat_seconds=BEAT) as holder:
        assert holder.claim("models-a")
        holder.call_when_lost(called.set)
        store.remove(DRIVERS, f"{holder.me.id}.json")
        assert holder.lost.wait(10 * BEAT) and called.wait(1)
        assert not holder.claim("models-b")
        assert store.names(DRIVERS) == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"pid": "x", "ticks": -1, "host": 3}', b"\xff\xfe"]
)
def test_a_record_that_says_nothing_is_judged_by_its_beats(store, content):
    store.write_bytes(content, DRIVERS, "odd.json")
    said: list[str] = []
    with holding(store, say=said.append, beat_seconds=0.02) as holder:
        assert store.names(DRIVERS) == [f"{holder.me.id}.json"]
    assert "took over from somebody@an unknown host" in said[-1]


def test_two_that_join_share_by_claims(store):
    said: list[str] = []
    with (
        holding(store) as one,
        holding(store, join=True, say=said.append) as two,
    ):
        assert said == [f"working beside {one.me}"]
        assert not one.alone and not two.alone
        assert one.claim("models-a") and one.claim("models-a")
        assert not two.claim("models-a") and two.claim("models-b")
        two.release("models-a")  # another's
        assert not two.claim("models-a")
        one.release("models-a")
        assert two.claim("models-a") and not one.claim("models-a")
        for name in ("models-c", "models-d"):  # one after the other, and each at once
            assert two.claim(name)
            two.release(name)
            assert one.claim(name)
    assert store.names(CLAIMS) == []


def test_the_claims_of_a_driver_that_died_are_taken_over_by_one(store, start):
    process = start(HOLD)
    assert line(process) == "holds"
    with (
        holding(store, join=True, beat_seconds=BEAT, say=lambda text: None) as one,
        holding(store, join=True, beat_seconds=BEAT, say=lambda text: None) as two,
    ):
        assert not one.claim("models-a")
        process.kill()
        process.wait()
        winners: list[Holder] = []
        both = [
            threading.Thread(target=lambda h=h: h.claim("models-a") and winners.append(h))
            for h in (one, two)
        ]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert len(winners) == 1
        time.sleep(3 * BEAT)  # whoever looks removes the record
        assert len(store.names(DRIVERS)) == 2


def test_a_claim_of_a_driver_elsewhere_is_taken_over_when_its_beats_end(store):
    one = foreign(store)
    store.write_bytes(one.id.encode(), CLAIMS, "models-a")
    with beating(store, one), holding(store, join=True, beat_seconds=2 * BEAT) as holder:
        time.sleep(8 * BEAT)
        assert not holder.claim("models-a")
    with holding(store, join=True, beat_seconds=BEAT) as holder:
        assert not holder.claim("models-a")
        time.sleep(6 * BEAT)
        assert holder.claim("models-a")


def test_eight_processes_do_each_of_two_hundred_things_once(store, start):
    many = [start(HAMMER) for _ in range(8)]
    for process in many:
        assert line(process) == "ready"
    for process in many:
        tell(process)
    done = [name for process in many for name in process.communicate(timeout=60)[0].split()]
    assert sorted(done) == sorted(f"models-{i}" for i in range(200))
    assert store.names(DRIVERS) == store.names(CLAIMS) == []


def test_a_claim_costs_little(store):
    with holding(store) as holder:
        began = time.perf_counter()
        for i in range(300):
            assert holder.claim(f"models-{i}")
            holder.release(f"models-{i}")
        assert time.perf_counter() - began < 300 * 0.003


class Flags(Store):
    """A folder with what an object store lacks: no exclusive creation, no locks."""

    def __init__(self, uri: Any) -> None:
        super().__init__(uri)
        self.local = False

    def write_bytes(self, data: bytes, *names: str) -> None:
        if names[0] == DRIVERS:
            time.sleep(0.05)  # both look before either has written
        super().write_bytes(data, *names)

    def _temporary(self, final: str) -> str:
        Path(final).parent.mkdir(parents=True, exist_ok=True)
        return final


def test_without_exclusive_creation_of_two_at_once_one_wins(tmp_path, monkeypatch):
    monkeypatch.setattr(holders, "SETTLE_SECONDS", 0.2)
    for number in range(5):
        store = Flags(tmp_path / str(number))
        together, done = threading.Barrier(2), threading.Barrier(2)
        ended: list[str] = []

        def try_it(store=store, together=together, done=done, ended=ended) -> None:
            together.wait()
            try:
                with holding(store, say=lambda text: None):
                    ended.append("won")
                    done.wait()
            except WrongInput:
                ended.append("refused")
                done.wait()

        both = [threading.Thread(target=try_it) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert sorted(ended) == ["refused", "won"]
        assert store.names(DRIVERS) == []


@pytest.mark.parametrize(("settled", "stays"), [(True, False), (False, True)])
def test_who_has_settled_stays_whatever_its_id(tmp_path, monkeypatch, settled, stays):
    monkeypatch.setattr(holders, "SETTLE_SECONDS", 0.4)
    store = Flags(tmp_path)
    late = threading.Timer(0.2, foreign, (Store(tmp_path),), {"id": "g" * 32, "settled": settled})
    late.start()
    try:
        with holding(store, say=lambda text: None) as holder:
            assert stays and store.exists(DRIVERS, f"{holder.me.id}.json")
    except WrongInput:
        assert not stays
    assert store.names(DRIVERS) == [f"{'g' * 32}.json"]


def test_without_exclusive_creation_no_claim_is_had_by_two(tmp_path):
    store = Flags(tmp_path / "store")
    with holding(store, join=True) as one, holding(store, join=True, say=lambda t: None) as two:
        assert one.claim("models-a") and not two.claim("models-a") and one.claim("models-a")
        one.release("models-a")
        assert two.claim("models-a") and not one.claim("models-a")
        two.release("models-a")
        for i in range(50):
            together = threading.Barrier(2)
            had: list[Holder] = []

            def take(holder: Holder, i=i, together=together, had=had) -> None:
                together.wait()
                if holder.claim(f"models-{i}"):
                    had.append(holder)

            both = [threading.Thread(target=take, args=(holder,)) for holder in (one, two)]
            for thread in both:
                thread.start()
            for thread in both:
                thread.join()
            assert len(had) <= 1
        store.write_bytes(b"", CLAIMS, "compare-x@nobody")
        assert two.claim("compare-x") and not one.claim("compare-x")
    assert store.names(CLAIMS) == []
