"""How far a run is: counted by the flow's threads, displayed as a table or as a log."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from flows.commands.text import duration
from flows.time_left import Counts, Pace, Since, minutes_left
from infra.errors import escaped
from tasks.study.model import CAN_RETRY

if TYPE_CHECKING:
    from rich.progress_bar import ProgressBar

LOG_SECONDS = 15.0
ROUNDED_TO = 10.0  # seconds, of less than a minute that is left
STAGES = ("train", "score", "compare", "dynamics")


class Progress:
    """Counts of what there is to do and what is done; threads may update them.

    Training is also counted in optimiser steps, `steps` in all, so that it moves while long models
    train: those of models that ended, and those that models under way have reported.
    """

    def __init__(
        self,
        todo: dict[str, int],
        cells: int,
        steps: int = 0,
        clock: Callable[[], float] = time.monotonic,
        models: int = 0,
    ) -> None:
        self.todo = dict.fromkeys(STAGES, 0) | todo
        self.cells, self.cells_done = cells, 0
        self.models = models  # of the report; 0: none is written
        self.steps, self.steps_done = steps, 0
        self._steps_at_start = 0
        self._first_steps: tuple[float, int, int] | None = None  # when, steps and scores by then
        self._clock = clock
        self.pace = Pace()
        self.done: Counter[str] = Counter()
        self.bad: Counter[str] = Counter()
        self.troubles: list[str] = []
        self.note = ""  # what the run is waiting for
        self.announce: Callable[[str], None] = (
            _announce_to_nobody  # prints a line where progress is displayed
        )
        self._began: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        self._lock = threading.Lock()

    def start(self, stage: str) -> None:
        with self._lock:
            if stage not in self._began:
                self._began[stage] = self._clock()
                if stage == "train":
                    self._steps_at_start = self.steps_done

    def count_steps(self, done: int) -> None:
        """Steps that are done, of all; before training starts, those of earlier runs."""
        with self._lock:
            self.steps_done = done
            self._note_first_steps()

    def add(self, stage: str, outcome: str = "", steps: int = 0) -> None:
        """One thing more is done, and these steps that were not counted so far."""
        with self._lock:
            self.done[stage] += 1
            self.steps_done += steps
            self._note_first_steps()
            self._ended[stage] = self._clock()
            if outcome in CAN_RETRY:
                self.bad[outcome] += 1

    def drop(self, stage: str) -> None:
        """One thing less to do."""
        self.more(stage, -1)

    def more(self, stage: str, count: int) -> None:
        """More to do than was known."""
        with self._lock:
            self.todo[stage] += count

    def fail(self, trouble: str) -> None:
        """Record something that could not be done; the run continues and prints it at the end."""
        with self._lock:
            self.troubles.append(trouble)

    def cell_done(self) -> None:
        with self._lock:
            self.cells_done += 1

    def fraction(self, stage: str) -> float:
        """How much of a stage is done, from 0 to 1; of training: of its steps."""
        if stage == "train" and self.steps and self.done[stage] < self.todo[stage]:
            return self.steps_done / self.steps
        return self.done[stage] / max(1, self.todo[stage])

    def per_minute(self, stage: str) -> float:
        """Things done in a minute since the first began; models in training count in part."""
        began = self._began.get(stage)
        if began is None:
            return 0.0
        ended = self.done[stage] >= self.todo[stage]
        done: float = self.done[stage]
        if stage == "train" and self.steps and not ended:
            done = (self.steps_done - self._steps_at_start) / self.steps * self.todo[stage]
        end = self._ended.get(stage, began) if ended else self._clock()
        return 60 * max(0.0, done) / max(end - began, 1e-3)

    def minutes_left(self) -> float | None:
        """Of the whole run, its report included; None until the run says how fast it is."""
        with self._lock:
            left = {stage: max(0, self.todo[stage] - self.done[stage]) for stage in STAGES}
            counts = Counts(left, self.todo["train"], self.steps, self.steps_done, self.models)
            return minutes_left(counts, self._since_first_steps(), self.pace)

    def _since_first_steps(self) -> Since | None:
        """What happened after the first report of steps: before it, the workers start."""
        if self._first_steps is None:
            return None
        began, steps, scores = self._first_steps
        seconds = self._clock() - began
        return Since(seconds, self.steps_done - steps, self.done["score"] - scores)

    def _note_first_steps(self) -> None:
        if self._first_steps or "train" not in self._began:
            return
        if self.steps_done > self._steps_at_start:
            self._first_steps = self._clock(), self.steps_done, self.done["score"]

    def line(self) -> str:
        """The whole state in one line, for logs."""
        parts = [f"{stage} {self.count(stage)}" for stage in STAGES if self.todo[stage]]
        if self.cells:
            parts.append(f"cells {self.cells_done}/{self.cells}")
        if pace := self.per_minute("train"):
            parts.append(pace_text(pace, "models "))
        parts += [left] if (left := self.time_left()) else []
        parts += [f"{count} {outcome}" for outcome, count in self.bad.items()]
        parts += [self.note] if self.note else []
        return ", ".join(parts)

    def time_left(self) -> str:
        """For people; nothing while nothing is known of it."""
        if (minutes := self.minutes_left()) is None:
            return ""
        if minutes < 1:
            minutes = math.ceil(60 * minutes / ROUNDED_TO) * ROUNDED_TO / 60
        return f"about {duration(minutes)} left"

    def count(self, stage: str) -> str:
        """How many are done; of models under way, how many steps."""
        text = f"{self.done[stage]}/{self.todo[stage]}"
        if stage == "train" and self.steps and self.done[stage] < self.todo[stage]:
            text += f" ({percent(self.fraction(stage))} of steps)"
        return text


def _announce_to_nobody(text: str) -> None:
    pass


def pace_text(per_minute: float, what: str = "") -> str:
    """Per hour where less than one is done in a minute."""
    if per_minute < 1:
        return f"{60 * per_minute:.1f} {what}per hour"
    return f"{per_minute:.1f} {what}per minute"


def percent(fraction: float) -> str:
    """Rounded down, so that 100% means that nothing is left."""
    return f"{math.floor(100 * fraction)}%"


@contextmanager
def displayed(progress: Progress, file: TextIO | None = None) -> Iterator[None]:
    """Display the progress while the block runs: live on a terminal, else a line now and then."""
    file = file or sys.stderr
    if file.isatty():
        with _live(progress):
            yield
    else:
        with _logged(progress, file):
            yield


@contextmanager
def _logged(progress: Progress, file: TextIO) -> Iterator[None]:
    ended = threading.Event()

    def log() -> None:
        last = ""
        while not ended.wait(LOG_SECONDS):
            if (line := progress.line()) != last:
                print(line, file=file, flush=True)
                last = line

    thread = threading.Thread(target=log, daemon=True)
    thread.start()
    progress.announce = lambda text: print(escaped(text), file=file, flush=True)
    try:
        yield
    finally:
        progress.announce = _announce_to_nobody
        ended.set()
        thread.join()
        print(progress.line(), file=file, flush=True)


@contextmanager
def _live(progress: Progress) -> Iterator[None]:
    from rich.console import Console
    from rich.live import Live

    class Table:
        def __rich__(self) -> object:
            return _table(progress)

    console = Console(stderr=True)
    with Live(Table(), console=console, refresh_per_second=2):  # type: ignore[arg-type]
        progress.announce = lambda text: console.print(escaped(text), markup=False, highlight=False)
        try:
            yield
        finally:
            progress.announce = _announce_to_nobody


def _table(progress: Progress) -> object:
    from rich.box import SIMPLE
    from rich.table import Table

    caption = ", ".join(text for text in (progress.time_left(), progress.note) if text)
    table = Table(box=SIMPLE, caption=caption)
    for heading in ("stage", "", "done", "pace"):
        table.add_column(heading, justify="left" if heading in ("stage", "") else "right")
    for stage in STAGES:
        if not progress.todo[stage]:
            continue
        table.add_row(
            stage,
            progress_bar(progress.fraction(stage), 1.0),
            progress.count(stage),
            pace_text(pace) if (pace := progress.per_minute(stage)) else "",
        )
    if progress.cells:
        table.add_row(
            "cells",
            progress_bar(progress.cells_done, progress.cells),
            f"{progress.cells_done}/{progress.cells}",
            ", ".join(f"{count} {outcome}" for outcome, count in progress.bad.items()),
        )
    return table


def progress_bar(done: float, total: float) -> ProgressBar:
    """A bar in colours that also a terminal of 16 has: rich's own are all one grey there."""
    from rich.progress_bar import ProgressBar

    return ProgressBar(
        total=total,
        completed=done,
        width=30,
        style="bright_black",
        complete_style="magenta",
        finished_style="green",
    )
