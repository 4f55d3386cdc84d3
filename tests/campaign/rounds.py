"""A round: the study is run, and run again, through its faults until it ends well; then judged."""

from __future__ import annotations

import math
import operator
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from infra.store import Store
from tests.campaign.faults import ALONE, FAULTS, STRUCK
from tests.campaign.stage import Driver, Lost, Stage
from tests.flows.conftest import contents

ROUND_SECONDS = 1500.0
PAUSE_SECONDS = 2.0  # before a driver that ended is started again, as a supervisor would
AT_ONCE = 4
OVER = "over"


class Round:
    """One store; `struck` are the faults that it met."""

    def __init__(
        self, stage: Stage, kinds: Sequence[str], chance: random.Random, say: Callable[[str], None]
    ) -> None:
        self.stage, self.todo, self.chance, self.say = stage, deque(kinds), chance, say
        self.active: dict[str, Iterator[str]] = {}
        self.struck: list[str] = []
        self.gave_up = False  # whether a run ended without a model, which the next one tried again
        self.struck_now: set[str] = set()  # and what is not over
        self._next_at = self._in_a_while()
        if "poison model" in kinds:  # which takes every try
            stage.tries = 3

    def play(self) -> None:
        """Run the study until it is done; raises Lost if it does not get there."""
        stage = self.stage
        deadline = time.monotonic() + ROUND_SECONDS
        driver = stage.driver = stage.start_driver()
        while True:
            if time.monotonic() > deadline:
                raise Lost(f"not done after {ROUND_SECONDS:.0f} s: {driver.output[-300:]}")
            self._start_faults()
            self._step()
            if driver.code is not None:
                if driver.code == 0 and not stage.active_faults:
                    return
                if driver.code != 0:
                    driver = stage.driver = self._again(driver)
            time.sleep(0.1)

    def _again(self, ended: Driver) -> Driver:
        lines = ended.output.strip().splitlines()
        self.say(f"    driver ended with {ended.code}: {lines[-1] if lines else ''}")
        if "Traceback" in ended.output:
            self.say(f"    with a traceback: {ended.log}")
        self.gave_up |= ended.code == 1
        time.sleep(PAUSE_SECONDS)
        return self.stage.start_driver(*(("--retry", "failed") if ended.code == 1 else ()))

    def _start_faults(self) -> None:
        if len(self.active) == AT_ONCE or time.monotonic() < self._next_at:
            return
        alone = any(kind in ALONE for kind in self.active)
        for kind in self.todo:
            if kind not in self.active and not (alone and kind in ALONE):
                self.todo.remove(kind)
                self.active[kind] = FAULTS[kind](self.stage, self.chance)
                self._next_at = self._in_a_while()
                return

    def _step(self) -> None:
        for kind, fault in list(self.active.items()):
            state = next(fault, OVER)
            if state == STRUCK and kind not in self.struck_now:
                self.say(f"  {kind}")
                self.struck_now.add(kind)
                self.struck.append(kind)
                self.stage.disturbed += 1
            elif state == OVER:
                del self.active[kind]
                self.struck_now.discard(kind)
            self.stage.active_faults = len(self.struck_now)

    def _in_a_while(self) -> float:
        return time.monotonic() + self.chance.uniform(0.5, 6)


def judge(stage: Stage, undisturbed: dict[str, Any], gave_up: bool) -> None:
    """Raises Lost unless the store is as if nothing had happened, and nothing was left behind.

    All to the last bit; but comparisons multiply the codes of all models of a tile in one product
    of single precision, which rounds as its shape has it: if a model came later than the others,
    what is compared is the same to five digits.
    """
    store = Store(stage.store)
    ids = store.read("models")["model_id"].to_pylist()
    if len(ids) != len(set(ids)):
        raise Lost("a model twice")
    rows_of = contents(stage.store)
    for name, rows in undisturbed.items():
        same = near if gave_up and name in ("pairs", "ranks") else operator.eq
        if not same(rows_of[name], rows):
            raise Lost(f"{name}: {len(rows_of[name])} rows differ from the {len(rows)} undisturbed")
    litter = [str(path.relative_to(stage.store)) for path in _litter(stage.store)]
    if litter:
        raise Lost(f"left behind: {litter}")
    within(60, lambda: stage.workers("train", "score", "compare"), "workers that still run")
    within(60, stage.server.under_way, "still Running in Prefect")


def near(rows: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> bool:
    """Whether these are the same rows, their numbers up to rounding."""
    return len(rows) == len(wanted) and all(
        keys == others and all(math.isclose(a, b, rel_tol=1e-5) for a, b in zip(x, y, strict=True))
        for (keys, x), (others, y) in zip(_by_keys(rows), _by_keys(wanted), strict=True)
    )


def _by_keys(rows: list[dict[str, Any]]) -> list[tuple[str, list[float]]]:
    """What names a row, and its numbers."""
    numbers = ("udr", "udr_eq2")
    return sorted(
        (
            repr([value for name, value in row.items() if name not in numbers]),
            [row[name] for name in numbers if name in row],
        )
        for row in rows
    )


def _litter(store: Path) -> list[Path]:
    patterns = ("*.tmp", "checkpoint*", "drivers/*.json", "claims/[!.]*", "*probe*")
    return [path for pattern in patterns for path in store.rglob(pattern)]


def within(seconds: float, remaining: Callable[[], Sequence[object]], what: str) -> None:
    deadline = time.monotonic() + seconds
    while rest := remaining():
        if time.monotonic() > deadline:
            raise Lost(f"{what}: {list(rest)[:5]}")
        time.sleep(1)
