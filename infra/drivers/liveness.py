"""The drivers of a store: one record each, `<store>/drivers/ID.json`, and whether they are alive.

- A driver locks a file of its machine, `/tmp/tolstoy-driver-ID.lock`. If that file exists here, the
  driver is alive while the file is locked: the system drops the lock when the process ends, however
  it ends, and keeps it while the process is stopped.
- If not (it runs on another machine, or in a container with its own /tmp), we watch the record, in
  which the driver counts its heartbeats. Unchanged for three heartbeats, it is dead.
- No wall clock is compared, neither ours nor theirs: clocks differ, and jump.
"""

from __future__ import annotations

import fcntl
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
from pathlib import Path
from typing import IO, Any

from infra.object_store import without_key
from infra.store import Store

DRIVERS = "drivers"
MISSED_HEARTBEATS = 3  # after so many a driver is dead
LOCKS = Path("/tmp")  # not TMPDIR, which may differ between the users and jobs of a machine


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


def lock_file(driver_id: str) -> Path:
    return LOCKS / f"tolstoy-driver-{driver_id}.lock"


def lock(driver_id: str) -> IO[bytes] | None:
    """Lock a driver's file until it is closed, or this process ends; None where that is refused.

    Programs that this process starts do not inherit the lock.
    """
    path = lock_file(driver_id)
    try:
        file = path.open("wb")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        path.unlink(missing_ok=True)  # or others would take this driver for dead
        return None
    return file


def holds_lock(driver_id: str) -> bool | None:
    """Whether a driver holds its lock; None if its file is not on this machine."""
    try:
        with lock_file(driver_id).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


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
            if (locked := holds_lock(driver_id)) is not None:
                return Life.ALIVE if locked else Life.DEAD
            if watched.seconds_unchanged >= MISSED_HEARTBEATS * self.beat_seconds:
                return Life.DEAD
            return Life.ALIVE if watched.changed else Life.UNKNOWN

    def remove(self, driver: Driver) -> None:
        self.removed.add(driver.id)
        self.store.remove(*record(driver.id))
        with suppress(OSError):  # another user's
            lock_file(driver.id).unlink(missing_ok=True)

    def seconds_since_heartbeat(self, driver: Driver) -> float:
        """Of a driver that holds its lock, we know that it is alive now."""
        return 0.0 if holds_lock(driver.id) else self._watched[driver.id].seconds_unchanged

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
