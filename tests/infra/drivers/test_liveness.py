"""Whether a driver is alive, as its lock and its record show."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import os
import sys
from pathlib import Path

import pytest

from infra.drivers import liveness
from infra.drivers.liveness import (
    Driver,
    DriverWatch,
    Life,
    holds_lock,
    lock,
    lock_file,
    this_driver,
)
from infra.store import Store
from tests.infra.drivers.records import BEAT, Clock, foreign, write_record


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of lock files, in place of /tmp."""
    monkeypatch.setattr(liveness, "LOCKS", tmp_path)
    return tmp_path


def watch(store: Store, clock: Clock | None = None) -> DriverWatch:
    return DriverWatch(store, "me", BEAT, (clock or Clock()).now)


def driver_here(store: Store) -> Driver:
    driver = dataclasses.replace(this_driver("0" * 32), pid=2**22)  # its process is not looked at
    write_record(store, driver)
    return driver


def test_a_driver_of_this_machine_is_alive_while_it_holds_its_lock(store):
    driver = driver_here(store)
    file = lock(driver.id)
    assert file and watch(store).drivers()[Life.ALIVE] == [driver]
    assert watch(store).seconds_since_heartbeat(driver) == 0
    file.close()
    assert watch(store).is_dead(driver.id)


def test_a_driver_whose_lock_file_is_not_here_is_judged_by_its_heartbeats(store):
    """It may be elsewhere, or in a container with its own /tmp; host names are not compared."""
    driver, clock = driver_here(store), Clock()
    watching = watch(store, clock)
    assert watching.life(driver.id) is Life.UNKNOWN
    write_record(store, dataclasses.replace(driver, beat=2))
    assert watching.life(driver.id) is Life.ALIVE
    for _ in range(3):
        clock.sleep(BEAT)
        life = watching.life(driver.id)
    assert life is Life.DEAD


def test_where_files_cannot_be_locked_heartbeats_count(store, monkeypatch, locks):
    driver = driver_here(store)

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as broken:
        broken.setattr(fcntl, "flock", no_locks)
        assert lock(driver.id) is None
    assert not lock_file(driver.id).exists(), "or it would look dead"
    assert watch(store).life(driver.id) is Life.UNKNOWN
    monkeypatch.setattr(liveness, "LOCKS", locks / "not-there")
    assert lock(driver.id) is None and holds_lock(driver.id) is None


def test_the_lock_file_of_a_dead_driver_is_removed(store):
    driver, watching = driver_here(store), watch(store)
    lock_file(driver.id).touch()
    assert watching.drivers()[Life.DEAD] == [driver]
    watching.remove(driver)
    assert not lock_file(driver.id).exists() and watching.life(driver.id) is None


def test_a_driver_that_was_suspended_declares_no_other_dead(store):
    """The others may have been suspended too, so one look at their heartbeats is not enough."""
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
    assert str(this_driver("x")).endswith(f" pid {os.getpid()}")
    assert me.host in str(me) and me.started[:2] == "20"
    file = lock(me.id)
    assert file and watch(store).drivers()[Life.ALIVE] == [me]
    assert DriverWatch(store, me.id, BEAT).drivers()[Life.ALIVE] == []
    file.close()


def test_a_record_of_an_older_version_is_read(store):
    """An older version also wrote boot, pids and ticks, and had no lock file."""
    old = b'{"id": "a", "host": "h", "boot": "b", "pids": "p", "pid": 7, "ticks": 9, "beat": 3}'
    store.write_bytes(old, "drivers", "a.json")
    assert watch(store).drivers()[Life.UNKNOWN] == [Driver("a", host="h", pid=7, beat=3)]
