"""The drivers of a store: one record each, `<store>/drivers/ID.json`, and whether they are alive.

- A driver on this machine is alive while it holds the lock on its file `drivers/.ID.lock`. The
  system drops that lock when the process ends, however it ends, and keeps it while it is stopped.
- Of a driver elsewhere (another host or container, an object store, a drive without locks) we watch
  the record: its heartbeat is a number that it raises. Unchanged for three heartbeats, it is dead.
- No wall clock is compared, neither ours nor theirs: clocks differ, and jump.
"""

from __future__ import annotations

import getpass
import json
import os
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from infra.object_store import without_key
from infra.store import Store

DRIVERS = "drivers"
MISSED_HEARTBEATS = 3  # after so many a driver is dead


class Life(Enum):
    ALIVE = 1
    DEAD = 2
    UNKNOWN = 3  # not watched for long enough


@dataclass(frozen=True)
class Driver:
    """A driver's record. Other versions of the program write other fields; those are ignored."""

    id: str
    host: str = "an unknown host"
    pid: int = 0
    user: str = "somebody"
    command: str = ""
    started: str = ""
    seconds: int = 0  # since it started, by its own monotonic clock
    beat: int = 0  # heartbeats so far
    locked: bool = False  # whether it holds the lock on its lock file
    settled: bool = True  # false while another that starts at the same time may be unknown to it

    def __str__(self) -> str:
        return f"{self.user}@{self.host} pid {self.pid}"


def this_driver(driver_id: str) -> Driver:
    return Driver(
        driver_id,
        host=socket.gethostname(),
        pid=os.getpid(),
        user=_user(),
        command=without_key(shlex.join(sys.argv)),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def record(driver_id: str) -> tuple[str, str]:
    """The name of a driver's record in its store."""
    return DRIVERS, f"{driver_id}.json"


def lock_file(driver_id: str) -> tuple[str, str]:
    """The name of the file that a driver locks as long as it runs."""
    return DRIVERS, f".{driver_id}.lock"


def as_bytes(driver: Driver) -> bytes:
    return (json.dumps(asdict(driver), indent=2) + "\n").encode()


def read_driver(driver_id: str, content: bytes) -> Driver:
    """A driver by its record; a field that is missing or of another type has its default."""
    with suppress(ValueError):
        raw: Any = json.loads(content)
        if isinstance(raw, dict):
            types = {field.name: type(field.default) for field in fields(Driver)[1:]}
            known = {n: raw[n] for n, kind in types.items() if type(raw.get(n)) is kind}
            return Driver(driver_id, **known)
    return Driver(driver_id)


@dataclass
class _Watched:
    driver: Driver
    content: bytes
    read_at: float
    seconds_unchanged: float = 0.0  # while we watched
    changed: bool = False


@dataclass
class DriverWatch:
    """Reads the records of all drivers except our own, again and again."""

    store: Store
    own_id: str
    beat_seconds: float
    now: Callable[[], float] = time.monotonic
    removed: set[str] = field(default_factory=set)  # dead drivers
    _watched: dict[str, _Watched] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def drivers(self) -> dict[Life, list[Driver]]:
        by_life: dict[Life, list[Driver]] = {life: [] for life in Life}
        for name in self.store.names(DRIVERS):
            driver_id = name.removesuffix(".json")
            if driver_id not in (name, self.own_id) and (life := self.life(driver_id)):
                by_life[life].append(self._watched[driver_id].driver)
        return by_life

    def is_dead(self, driver_id: str) -> bool:
        """Whether a driver is dead, or left and has no record."""
        return self.life(driver_id) in (None, Life.DEAD)

    def life(self, driver_id: str) -> Life | None:
        """Whether a driver is alive; None if it has no record."""
        with self._lock:
            try:
                content = self.store.read_bytes(*record(driver_id))
            except FileNotFoundError:
                return None
            if driver_id in self.removed:  # it wrote its record once more
                return Life.DEAD
            watched = self._read(driver_id, content)
            holds_lock = self._holds_lock(watched.driver)
            if holds_lock is not None:
                return Life.ALIVE if holds_lock else Life.DEAD
            if watched.seconds_unchanged >= MISSED_HEARTBEATS * self.beat_seconds:
                return Life.DEAD
            return Life.ALIVE if watched.changed else Life.UNKNOWN

    def remove(self, driver: Driver) -> None:
        self.removed.add(driver.id)
        self.store.remove(*record(driver.id))
        if driver.locked:
            self.store.remove(*lock_file(driver.id))

    def seconds_since_heartbeat(self, driver: Driver) -> float:
        """Of a driver that holds its lock, we know that it is alive now."""
        return 0.0 if self._holds_lock(driver) else self._watched[driver.id].seconds_unchanged

    def _holds_lock(self, driver: Driver) -> bool | None:
        """Whether a driver of this machine holds its lock; None if that cannot be seen from here.

        Locks of other machines are not asked for: some network drives do not share locks, and some
        keep those of a machine that has lost its power.
        """
        if not driver.locked or driver.host != socket.gethostname():
            return None
        try:
            return self.store.is_locked(*lock_file(driver.id))
        except OSError:
            return None

    def _read(self, driver_id: str, content: bytes) -> _Watched:
        now = self.now()
        watched = self._watched.get(driver_id)
        if watched is None:
            driver = read_driver(driver_id, content)
            watched = self._watched[driver_id] = _Watched(driver, content, now)
        if content != watched.content:
            watched.driver, watched.content = read_driver(driver_id, content), content
            watched.seconds_unchanged, watched.changed = 0.0, True
        else:  # at most one heartbeat at a time: if we were suspended, the others may have been
            watched.seconds_unchanged += min(now - watched.read_at, self.beat_seconds)
        watched.read_at = now
        return watched


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        return str(os.getuid())
