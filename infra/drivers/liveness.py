"""The drivers of a store: a record each, `<store>/drivers/ID.json`, and whether it shows life.

No clock is trusted but our own monotonic one. A process of this machine is looked up. Any other
driver is alive if its record changes while we watch: its beat counts up.
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
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from infra.object_store import without_key
from infra.store import Store

DRIVERS = "drivers"
PATIENCE = 3  # beats without a sign
BOOT = Path("/proc/sys/kernel/random/boot_id")
PIDS = Path("/proc/self/ns/pid")


class Life(Enum):
    ALIVE = 1
    DEAD = 2
    UNKNOWN = 3  # not watched for long enough


@dataclass(frozen=True)
class Driver:
    """What a driver says of itself. Nothing in it is believed but its identity."""

    id: str
    host: str = "an unknown host"
    boot: str = ""  # of the machine since it was switched on; containers share it ...
    pids: str = ""  # ... but each counts its processes anew
    pid: int = 0
    ticks: int = 0  # when the process started: pids are used again
    user: str = "somebody"
    command: str = ""
    started: str = ""
    seconds: int = 0  # since then, by its own monotonic clock
    beat: int = 0
    settled: bool = True  # false while two that start at once may not know of each other

    def __str__(self) -> str:
        return f"{self.user}@{self.host} pid {self.pid}"


def myself(driver_id: str) -> Driver:
    return Driver(
        driver_id,
        *_place(),
        pid=os.getpid(),
        ticks=_ticks(os.getpid()) or 0,
        user=_user(),
        command=without_key(shlex.join(sys.argv)),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def as_bytes(driver: Driver) -> bytes:
    return (json.dumps(asdict(driver), indent=2) + "\n").encode()


def read_driver(driver_id: str, content: bytes) -> Driver:
    """A driver by its record; what is missing or of another kind is not known."""
    with suppress(ValueError):
        raw: Any = json.loads(content)
        if isinstance(raw, dict):
            kinds = {one.name: type(one.default) for one in fields(Driver)[1:]}
            known = {n: raw[n] for n, kind in kinds.items() if type(raw.get(n)) is kind}
            return Driver(driver_id, **known)
    return Driver(driver_id)


@dataclass
class _Seen:
    driver: Driver
    content: bytes
    looked_at: float
    quiet: float = 0.0  # seconds that we watched it without a change
    changed: bool = False


@dataclass
class Watch:
    """Looks at the records of all drivers but one's own, again and again."""

    store: Store
    me: str
    beat_seconds: float
    buried: set[str] = field(default_factory=set)
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def look(self) -> dict[Life, list[Driver]]:
        found: dict[Life, list[Driver]] = {life: [] for life in Life}
        for name in self.store.names(DRIVERS):
            driver_id = name.removesuffix(".json")
            if driver_id not in (name, self.me) and (life := self.life(driver_id)):
                found[life].append(self._seen[driver_id].driver)
        return found

    def is_dead(self, driver_id: str) -> bool:
        """Found dead, or gone without a record."""
        return self.life(driver_id) in (None, Life.DEAD)

    def life(self, driver_id: str) -> Life | None:
        """How a driver is; None if it has no record."""
        with self._lock:
            try:
                content = self.store.read_bytes(DRIVERS, f"{driver_id}.json")
            except FileNotFoundError:
                return None
            if driver_id in self.buried:  # it wrote once more after it was given up
                return Life.DEAD
            seen = self._noted(driver_id, content)
            runs = _process_runs(seen.driver)
            if runs is not None:
                return Life.ALIVE if runs else Life.DEAD
            if seen.quiet >= PATIENCE * self.beat_seconds:
                return Life.DEAD
            return Life.ALIVE if seen.changed else Life.UNKNOWN

    def bury(self, driver: Driver) -> None:
        self.buried.add(driver.id)
        self.store.remove(DRIVERS, f"{driver.id}.json")

    def quiet_for(self, driver: Driver) -> float:
        """Seconds since it showed life; a process that was looked up did so just now."""
        return 0.0 if _process_runs(driver) else self._seen[driver.id].quiet

    def _noted(self, driver_id: str, content: bytes) -> _Seen:
        now = time.monotonic()
        seen = self._seen.get(driver_id)
        if seen is None:
            seen = self._seen[driver_id] = _Seen(read_driver(driver_id, content), content, now)
        if content != seen.content:
            seen.driver, seen.content = read_driver(driver_id, content), content
            seen.quiet, seen.changed = 0.0, True
        else:  # where we slept ourselves, the others may have slept with us
            seen.quiet += min(now - seen.looked_at, self.beat_seconds)
        seen.looked_at = now
        return seen


def _process_runs(one: Driver) -> bool | None:
    """Whether its process runs; None if it cannot be seen from here."""
    here = _place()
    if not here[1] or here != (one.host, one.boot, one.pids) or not one.ticks or one.pid < 1:
        return None
    try:
        os.kill(one.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    ticks = _ticks(one.pid)
    return None if ticks is None else ticks == one.ticks


def _place() -> tuple[str, str, str]:
    """The host, its boot and the name space in which a pid means something."""
    boot = pids = ""
    with suppress(OSError):
        boot, pids = BOOT.read_text().strip(), str(PIDS.readlink())
    return socket.gethostname(), boot, pids


def _ticks(pid: int) -> int | None:
    """When a process started, in ticks since the machine did; -1 if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # no /proc, or one that hides other people's processes
        return None
    state, *numbers = stat.rpartition(")")[2].split()
    return -1 if state in "ZX" else int(numbers[18])


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        return str(os.getuid())
