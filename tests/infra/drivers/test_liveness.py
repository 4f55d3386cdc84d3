"""Whether a driver is alive, as its record and its process show."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from pathlib import Path

import pytest

from infra.drivers.liveness import DRIVERS, Life, Watch, as_bytes, myself
from infra.store import Store
from tests.infra.drivers.test_lock import BEAT, foreign


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_pid_that_is_used_again_is_not_taken_for_the_driver(store):
    me = myself("0" * 32)
    for changes, dead in (({}, False), ({"ticks": me.ticks + 1}, True), ({"pid": 2**22}, True)):
        store.write_bytes(as_bytes(dataclasses.replace(me, **changes)), DRIVERS, f"{me.id}.json")
        assert Watch(store, "me", BEAT).is_dead(me.id) is dead, changes


@pytest.mark.parametrize("other", ["host", "boot", "pids"])
def test_a_pid_says_nothing_on_another_machine_or_in_another_container(store, other):
    """The same pid with the same start may be there, and be another process."""
    me = myself("0" * 32)
    store.write_bytes(as_bytes(dataclasses.replace(me, **{other: "x"})), DRIVERS, f"{me.id}.json")
    assert Watch(store, "me", BEAT).life(me.id) is Life.UNKNOWN
    gone = dataclasses.replace(me, pid=2**22, **{other: "x"})
    store.write_bytes(as_bytes(gone), DRIVERS, f"{me.id}.json")
    assert Watch(store, "me", BEAT).life(me.id) is Life.UNKNOWN


def test_where_we_slept_ourselves_nobody_is_found_dead(store, monkeypatch):
    """A machine that sleeps takes its neighbours with it; then one look is not enough."""
    one, watch = foreign(store), Watch(store, "me", 10.0)
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    assert watch.life(one.id) is Life.UNKNOWN
    now[0] += 3600
    assert watch.life(one.id) is Life.UNKNOWN
    for _ in range(2):
        now[0] += 10
        found = watch.life(one.id)
    assert found is Life.DEAD


def test_a_record_written_once_more_after_it_was_given_up_does_not_count(store):
    one, watch = foreign(store), Watch(store, "me", BEAT)
    watch.look()
    watch.bury(one)
    foreign(store, beat=99)
    assert watch.look()[Life.DEAD] == [one] and watch.is_dead(one.id)


def test_a_key_in_a_command_is_not_written_down(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["tolstoy", "run", "--store", "s3://id:secret@bucket/x"])
    assert "s3://bucket/x" in myself("me").command and "secret" not in myself("me").command


def test_a_record_says_who_works_there(store):
    me = myself("0" * 32)
    assert str(me).endswith(f" pid {os.getpid()}") and me.host in str(me) and me.started[:2] == "20"
    store.write_bytes(as_bytes(me), DRIVERS, f"{me.id}.json")
    assert Watch(store, "me", BEAT).look()[Life.ALIVE] == [me]
    assert Watch(store, me.id, BEAT).look()[Life.ALIVE] == []


def test_without_proc_a_driver_is_judged_by_its_beats(store, monkeypatch):
    """As on macOS, which has neither a boot's id nor /proc."""
    monkeypatch.setattr("infra.drivers.liveness.BOOT", Path("/nowhere"))
    me = myself("0" * 32)
    store.write_bytes(as_bytes(me), DRIVERS, f"{me.id}.json")
    watch = Watch(store, "me", BEAT)
    assert watch.life(me.id) is Life.UNKNOWN
    store.write_bytes(as_bytes(dataclasses.replace(me, beat=2)), DRIVERS, f"{me.id}.json")
    assert watch.life(me.id) is Life.ALIVE
