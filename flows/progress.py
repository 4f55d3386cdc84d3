"""How far a run is: counted by the flow's threads, displayed as a table or as a log."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from flows.commands.text import duration
from tasks.study.model import CAN_RETRY

LOG_SECONDS = 15.0
STAGES = ("train", "score", "compare")


class Progress:
    """Counts of what there is to do and what is done; threads may update them."""

    def __init__(
        self, todo: dict[str, int], cells: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.todo, self.cells, self.cells_done = todo, cells, 0
        self._clock = clock
        self.done: Counter[str] = Counter()
        self.bad: Counter[str] = Counter()
        self.troubles: list[str] = []
        self.note = ""  # what the run is waiting for
        self._began: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        self._lock = threading.Lock()

    def start(self, stage: str) -> None:
        with self._lock:
            self._began.setdefault(stage, self._clock())

    def add(self, stage: str, outcome: str = "") -> None:
        with self._lock:
            self.done[stage] += 1
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

    def per_minute(self, stage: str) -> float:
        began = self._began.get(stage)
        if began is None or not self.done[stage]:
            return 0.0
        end = self._ended[stage] if self.done[stage] >= self.todo[stage] else self._clock()
        return 60 * self.done[stage] / max(end - began, 1e-3)

    def minutes_left(self, stage: str) -> float | None:
        pace = self.per_minute(stage)
        return (self.todo[stage] - self.done[stage]) / pace if pace else None

    def line(self) -> str:
        """The whole state in one line, for logs."""
        parts = [
            f"{stage} {self.done[stage]}/{self.todo[stage]}" for stage in STAGES if self.todo[stage]
        ]
        if self.cells:
            parts.append(f"cells {self.cells_done}/{self.cells}")
        if pace := self.per_minute("train"):
            parts.append(f"{pace:.1f} models/min")
        if left := self.minutes_left("train"):
            parts.append(f"{duration(left)} of training left")
        parts += [f"{count} {outcome}" for outcome, count in self.bad.items()]
        parts += [self.note] if self.note else []
        return ", ".join(parts)


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
    try:
        yield
    finally:
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

    with Live(Table(), console=Console(stderr=True), refresh_per_second=2):  # type: ignore[arg-type]
        yield


def _table(progress: Progress) -> object:
    from rich.box import SIMPLE
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table(box=SIMPLE, caption=progress.note)
    for heading in ("stage", "", "done", "per minute", "left"):
        table.add_column(heading, justify="left" if heading in ("stage", "") else "right")
    for stage in STAGES:
        if not progress.todo[stage]:
            continue
        left = progress.minutes_left(stage)
        table.add_row(
            stage,
            ProgressBar(total=progress.todo[stage], completed=progress.done[stage], width=30),
            f"{progress.done[stage]}/{progress.todo[stage]}",
            f"{progress.per_minute(stage):.1f}" if progress.done[stage] else "",
            duration(left) if left is not None else "",
        )
    if progress.cells:
        table.add_row(
            "cells",
            ProgressBar(total=progress.cells, completed=progress.cells_done, width=30),
            f"{progress.cells_done}/{progress.cells}",
            "",
            ", ".join(f"{count} {outcome}" for outcome, count in progress.bad.items()),
        )
    return table
