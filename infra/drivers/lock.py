"""The lock on a store: one driver works on it, or several that joined and share it by claims.

A driver writes a record when it starts, renews it every few seconds (its heartbeat) and removes it
when it ends. A second driver is refused while the first is alive. Records of dead ones are removed.
"""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import IO

from infra.drivers import claims
from infra.drivers.liveness import (
    DRIVERS,
    MISSED_HEARTBEATS,
    Driver,
    DriverWatch,
    Life,
    as_bytes,
    lock,
    lock_file,
    record,
    this_driver,
)
from infra.errors import WrongInput
from infra.store import Store

BEAT_SECONDS = 10.0
SETTLE_SECONDS = 2.0  # longer than an object store takes to show a record that was written
RELEASE_SECONDS = 0.5  # without other drivers, claims are released together, this often
LOCK = (DRIVERS, ".lock")
NAME_LENGTH = 45  # characters of a store's name in a message that must stay one line


class DriverLock:
    """This driver's lock on a store, and its claims there."""

    def __init__(
        self,
        store: Store,
        beat_seconds: float,
        say: Callable[[str], None],
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.store, self.beat_seconds, self.say = store, beat_seconds, say
        self.me = this_driver(uuid.uuid4().hex)
        self.lost = threading.Event()  # another driver took over: this run must end
        self.watch = DriverWatch(store, self.me.id, beat_seconds, now)
        self._now, self._sleep = now, sleep
        self._lock_file: IO[bytes] | None = None
        self._when_lost: Callable[[], None] = lambda: None
        self._claimed: set[str] = set()
        self._to_release: set[str] = set()  # as soon as the store can be written
        self._claiming = threading.Lock()
        self._began = now()
        self._released_at = 0.0
        self._shared = False  # whether there were other drivers at the last heartbeat
        self._leaving = threading.Event()
        self._heartbeats = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    @property
    def alone(self) -> bool:
        """Whether no other driver works on the store, or may do so."""
        return not _not_dead(self.watch.drivers())

    @property
    def has_taken_over(self) -> bool:
        """Whether another driver died, and this one took over its work."""
        return bool(self.watch.removed)

    def claim(self, name: str) -> bool:
        """Whether this driver may do `name` now; raises OSError if the store cannot be written."""
        if self.lost.is_set():
            return False
        with self._claiming:
            if name not in self._claimed:
                try:
                    taken = claims.take(self.store, name, self.me.id, self.watch.is_dead)
                except OSError:
                    self._to_release.add(name)  # its file may be there
                    raise
                if not taken:
                    return False
                self._claimed.add(name)
                self._to_release.discard(name)
        return True

    def release(self, name: str) -> None:
        """Let others do it; soon, or as soon as the store can be written."""
        with self._claiming:
            if name in self._claimed:
                self._to_release.add(name)
                self._claimed.discard(name)
        if self._shared or self._now() - self._released_at >= RELEASE_SECONDS:
            self._release_claims()

    def call_when_lost(self, action: Callable[[], None]) -> None:
        self._when_lost = action
        if self.lost.is_set():
            action()

    # starting and ending ----------------------------------------------------------------------

    def enter(self, join: bool) -> None:
        """Lock the store; raise if others work on it and we are not to join them."""
        others = self._register(join)
        self._shared = bool(others)
        for driver in others:
            self.say(f"sharing the work with {driver}")
        if not self.me.settled:
            self._settle()
        self._heartbeats.start()

    def leave(self) -> None:
        """Remove record and claims; a record that cannot be removed looks like a dead driver's."""
        self._leaving.set()
        if self._heartbeats.is_alive():
            self._heartbeats.join(timeout=self.beat_seconds)
        with self._claiming:
            self._to_release |= self._claimed
        self._release_claims()
        with suppress(OSError):
            claims.remove_driver(self.store, self.me.id)
            self.store.remove(*record(self.me.id))
            lock_file(self.me.id).unlink(missing_ok=True)
        if self._lock_file:
            self._lock_file.close()

    def _register(self, join: bool) -> list[Driver]:
        """Write the first record as soon as that is allowed; the other drivers at that moment."""
        waited_for: set[str] = set()
        while True:
            with self.store.locked(*LOCK) as exclusive:
                drivers = self.watch.drivers()
                for dead in drivers[Life.DEAD]:
                    self._remove(dead)
                    self.say(f"took over from {dead}, which is dead")
                if drivers[Life.ALIVE] and not join:
                    raise self._locked_by(drivers[Life.ALIVE][0])
                others = _not_dead(drivers)
                if join or not others:
                    if not others:
                        claims.remove_all(self.store)
                    self._lock_file = lock(self.me.id)
                    self._write(settled=exclusive or join)
                    return others
            for driver in others:
                if driver.id not in waited_for:
                    waited_for.add(driver.id)
                    wait = MISSED_HEARTBEATS * self.beat_seconds
                    self.say(f"waiting up to {wait:g} s to see whether {driver} is alive")
            self._sleep(self.beat_seconds / 20)

    def _settle(self) -> None:
        """Two drivers may have started at the same time; the one with the lower id stays."""
        self._sleep(min(SETTLE_SECONDS, self.beat_seconds))
        for driver in _not_dead(self.watch.drivers()):
            if driver.settled or driver.id < self.me.id:
                raise self._locked_by(driver)
        self._write(settled=True)

    def _locked_by(self, driver: Driver) -> WrongInput:
        silent = self.watch.seconds_since_heartbeat(driver)
        last = f"{silent:.0f} s ago" if silent >= 1 else "just now"
        place = str(self.store)
        place = place if len(place) <= NAME_LENGTH else "..." + place[3 - NAME_LENGTH :]
        return WrongInput(
            "store",
            f"{place}, held by {driver} since {_age(driver.seconds + silent)} (last sign {last})",
            "a store on which no other driver works; --join shares the work with it",
        )

    def _release_claims(self) -> None:
        self._released_at = self._now()
        with self._claiming, suppress(OSError):
            if self._to_release:
                claims.release(self.store, sorted(self._to_release), self.me.id)
                self._to_release.clear()

    def _remove(self, dead: Driver) -> None:
        self.watch.remove(dead)
        claims.remove_driver(self.store, dead.id)

    # heartbeats -------------------------------------------------------------------------------

    def heartbeat(self) -> None:
        """Renew the record, release claims, and remove drivers that died."""
        try:
            if not self.store.exists(*record(self.me.id)):
                self.lost.set()
                self._when_lost()
                return
            self._write(settled=True)
        except OSError:  # full, read-only or out of reach: try again at the next heartbeat
            return  # without judging the others, who cannot renew their records either
        self._release_claims()
        with suppress(OSError):
            drivers = self.watch.drivers()
            self._shared = bool(_not_dead(drivers))
            for dead in drivers[Life.DEAD]:
                known = dead.id in self.watch.removed
                self._remove(dead)
                if not known:
                    self.say(f"{dead} is dead; this driver takes over its work")

    def _beat(self) -> None:
        while not self._leaving.wait(self.beat_seconds) and not self.lost.is_set():
            self.heartbeat()

    def _write(self, settled: bool) -> None:
        seconds = int(self._now() - self._began)
        self.me = replace(self.me, beat=self.me.beat + 1, seconds=seconds, settled=settled)
        self.store.write_bytes(as_bytes(self.me), *record(self.me.id))


@contextmanager
def driver_lock(
    store: Store,
    join: bool = False,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
    beat_seconds: float = BEAT_SECONDS,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[DriverLock]:
    """Work on a store: as its only driver, or with others if `join`."""
    driver = DriverLock(store, beat_seconds, say, now, sleep)
    try:
        driver.enter(join)
        yield driver
    finally:
        driver.leave()


def remove_dead_drivers(store: Store, beat_seconds: float = BEAT_SECONDS) -> bool:
    """Remove what drivers left that were killed while they ended; whether no driver is left."""
    with suppress(OSError), store.locked(*LOCK):
        watch = DriverWatch(store, "", beat_seconds)
        drivers = watch.drivers()
        for dead in drivers[Life.DEAD]:
            watch.remove(dead)
        if not _not_dead(drivers):
            claims.remove_all(store)
            return True
    return False


def _not_dead(drivers: dict[Life, list[Driver]]) -> list[Driver]:
    return drivers[Life.ALIVE] + drivers[Life.UNKNOWN]


def _age(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "a moment ago"
