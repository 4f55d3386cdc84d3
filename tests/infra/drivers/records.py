"""Records that look like those of other machines, and a clock that tests move."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from infra.drivers.liveness import Driver, as_bytes, record
from infra.store import Store

BEAT = 10.0  # seconds of the clock below


class Clock:
    """Time that passes only while somebody sleeps; `meanwhile` happens during each sleep."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.seconds, self.meanwhile = 100.0, meanwhile

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.meanwhile()


def write_record(store: Store, driver: Driver) -> None:
    store.write_bytes(as_bytes(driver), *record(driver.id))


def foreign(store: Store, **changes: Any) -> Driver:
    """A record as a driver of another machine would have left it."""
    driver = Driver("f" * 32, host="elsewhere", pid=17, user="anna", seconds=200)
    driver = dataclasses.replace(driver, **changes)
    write_record(store, driver)
    return driver


def beating(store: Store, driver: Driver) -> Callable[[], None]:
    """What a living driver elsewhere does: each call is one heartbeat."""
    beats = iter(range(driver.beat + 1, 10**9))
    return lambda: write_record(store, dataclasses.replace(driver, beat=next(beats)))
