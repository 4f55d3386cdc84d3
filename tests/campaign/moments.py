"""Moments at which faults strike, and ways to wait.

A fault is a generator that is asked again and again: it yields `WAITING` until it strikes, then
`STRUCK`, and returns when it is over. It raises `Lost` if what follows at once is wrong.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from tests.campaign.stage import Driver, Lost, Stage

WAITING, STRUCK = "waiting", "struck"
Fault = Callable[[Stage, random.Random], Iterator[str]]


def worker_at_work(stage: Stage, chance: random.Random, *kinds: str) -> Generator[str, None, int]:
    """A worker that runs such a task, some moments after it was seen doing so."""
    while True:
        if stage.workers(*kinds):
            yield from waits(chance.uniform(0, 0.3 if kinds == ("compare",) else 3))
            if pids := stage.workers(*kinds):
                return chance.choice(pids)
        yield WAITING


def any_driver(stage: Stage) -> Generator[str, None, Driver]:
    while stage.driver is None or stage.driver.code is not None:
        yield WAITING
    return stage.driver


def driver_at_work(stage: Stage) -> Generator[str, None, Driver]:
    while True:
        driver = yield from any_driver(stage)
        if stage.workers("train", "score") and stage.drivers_in_store():
            return driver
        yield WAITING


def waits(seconds: float) -> Iterator[str]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield WAITING


def lasts(seconds: float) -> Iterator[str]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield STRUCK


def meanwhile(action: Callable[[], None]) -> Iterator[str]:
    """Run what takes long in a thread, while the other faults continue."""
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(action)
        while not done.done():
            yield STRUCK
        done.result()


def until(done: Callable[[], bool], seconds: float, otherwise: str) -> Iterator[str]:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise Lost(otherwise)
        yield STRUCK


def trainers(stage: Stage) -> dict[str, int]:
    """Models under way and who trains them, by the last line of their logs with a pid."""
    pid_of, workers = {}, stage.workers("train")
    for model_id in stage.store.names("models"):
        with suppress(FileNotFoundError):
            log = stage.store.read_bytes("models", model_id, "log.txt").decode(errors="replace")
            pids = re.findall(r"^\S+ \S+ (\d+): ", log, re.MULTILINE)
            if pids and int(pids[-1]) in workers:
                pid_of[model_id] = int(pids[-1])
    return pid_of
