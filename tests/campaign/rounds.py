"""A round: the study is run, and run again, through its faults until it ends well."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from tests.campaign.kinds import ALONE, FAULTS
from tests.campaign.moments import STRUCK
from tests.campaign.stage import Driver, Lost, Stage

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
        retry = ["failed"] * (ended.code == 1) + ["damaged"] * self.stage.has_damage
        return self.stage.start_driver(*(("--retry", ",".join(retry)) if retry else ()))

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
