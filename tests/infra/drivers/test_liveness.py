"""Whether a driver is alive, as its lock and its record show."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.drivers.liveness import Driver, DriverWatch, Life, lock_file, this_driver
from infra.store import Store
from tests.infra.drivers.records import BEAT, Clock, foreign, write_record


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def watch(store: Store, clock: Clock | None = None) -> DriverWatch:
    return DriverWatch(store, "me", BEAT, (clock or Clock()).now)


def driver_here(store: Store, **changes: Any) -> Driver:
    driver = dataclasses.replace(this_driver("0" * 32), **{"locked": True, **changes})
    write_record(store, driver)
    return driver


def test_a_driver_of_this_machine_is_alive_while_it_holds_its_lock(store):
    driver = driver_here(store, pid=2**22)  # the process id is not looked at
    with store.locked(*lock_file(driver.id)) as locked:
        assert locked and watch(store).drivers()[Life.ALIVE] == [driver]
        assert watch(store).seconds_since_heartbeat(driver) == 0
    assert watch(store).is_dead(driver.id)
    store.remove(*lock_file(driver.id))
    assert watch(store).is_dead(driver.id)


@pytest.mark.parametrize("changes", [{"host": "another"}, {"locked": False}])
def test_elsewhere_or_without_locks_it_is_judged_by_its_heartbeats(store, changes):
    """In a container with another host name, on another machine, on a drive without locks."""
    driver, clock = driver_here(store, **changes), Clock()
    watching = watch(store, clock)
    assert watching.life(driver.id) is Life.UNKNOWN
    write_record(store, dataclasses.replace(driver, beat=2))
    assert watching.life(driver.id) is Life.ALIVE
    for _ in range(3):
        clock.sleep(BEAT)
        life = watching.life(driver.id)
    assert life is Life.DEAD


def test_a_lock_that_cannot_be_asked_for_says_nothing(store, monkeypatch):
    driver = driver_here(store)
    store.write_bytes(b"", *lock_file(driver.id))

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert watch(store).life(driver.id) is Life.UNKNOWN


def test_while_we_were_suspended_nobody_dies(store):
    """A machine that sleeps may share that with the others; one look is not enough then."""
    driver, clock = foreign(store), Clock()
    watching = watch(store, clock)
    assert watching.life(driver.id) is Life.UNKNOWN
    clock.sleep(3600)
    assert watching.life(driver.id) is Life.UNKNOWN
    for _ in range(2):
        clock.sleep(BEAT)
        life = watching.life(driver.id)
    assert life is Life.DEAD


def test_a_record_that_is_written_once_more_after_it_was_removed_does_not_count(store):
    driver, watching = foreign(store), watch(store)
    watching.drivers()
    watching.remove(driver)
    foreign(store, beat=99)
    assert watching.drivers()[Life.DEAD] == [driver] and watching.is_dead(driver.id)


def test_a_key_in_a_command_is_not_written_down(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["tolstoy", "run", "--store", "s3://id:secret@bucket/x"])
    command = this_driver("me").command
    assert "s3://bucket/x" in command and "secret" not in command


def test_a_record_says_who_works_there(store):
    me = driver_here(store)
    assert str(me).endswith(f" pid {os.getpid()}") and me.host in str(me) and me.started[:2] == "20"
    with store.locked(*lock_file(me.id)):
        assert watch(store).drivers()[Life.ALIVE] == [me]
        assert DriverWatch(store, me.id, BEAT).drivers()[Life.ALIVE] == []


def test_a_record_of_an_older_version_is_read(store):
    """Version 1 wrote boot, pids and ticks, and held no lock."""
    old = b'{"id": "a", "host": "h", "boot": "b", "pids": "p", "pid": 7, "ticks": 9, "beat": 3}'
    store.write_bytes(old, "drivers", "a.json")
    assert watch(store).drivers()[Life.UNKNOWN] == [Driver("a", host="h", pid=7, beat=3)]
