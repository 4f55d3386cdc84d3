"""`tolstoy status`: what of a study is done and what went wrong, once or until it is done."""

from __future__ import annotations

import json as jsonlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from flows.commands.failures import failures, failures_text, retry
from flows.commands.text import duration, table
from flows.options import check_every
from flows.progress import percent, progress_bar
from infra.drivers.liveness import DriverWatch, Life
from infra.drivers.lock import BEAT_SECONDS
from infra.store import Store
from tasks.study.damage import damage_text, damaged_parts
from tasks.study.groups import is_finished
from tasks.study.spec import Study
from tasks.study.stored import stored_study
from tasks.study.survey import (
    CellState,
    instruction_sets,
    several_instructions,
    survey,
    totals,
)
from tasks.study.under_way import FOLDER as UNDER_WAY
from tasks.words import plural

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = ("cell", "models", "trained", "scored", "diverged", "failed", "left")
EVERY_SECONDS = 5.0
WATCHED = (
    *(("tables", name) for name in ("models", "scores", "pairs", "ranks", "dynamics")),
    (UNDER_WAY,),
)
SHARE = 4  # a large store takes seconds to read: a fifth of the time at most is spent on that
FEWEST_CELLS = 3
OTHER_LINES = 12  # of the screen: headings, counts, pace


@dataclass(frozen=True)
class Status:
    """A study as it is in its store at one moment."""

    study: Study
    store: Store
    cells: Sequence[CellState]
    last_finished: float | None  # seconds since 1970, when a model's row was last written
    drivers: tuple[str, ...]  # who works on it
    damaged: tuple[str, ...] = ()  # parts of its tables
    compared: int | None = None  # cells with a score of their dynamics, of a study with traces

    @property
    def totals(self) -> dict[str, int]:
        return totals(self.cells)

    def as_json(self) -> dict[str, Any]:
        moment = self.last_finished
        return {
            "study": self.study.name,
            "store": str(self.store),
            **self.totals,
            "last_finished": None
            if moment is None
            else datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds"),
            "drivers": list(self.drivers),
            **({} if self.compared is None else {"cells_compared_by_dynamics": self.compared}),
            "damaged": list(self.damaged),
            "instructions": dict(instruction_sets(self.cells)),
            "failures": [group.as_json() for group in failures(self.cells)],
            "retry": retry(self.cells, self.store) or None,
            "cells": [state.as_json() for state in self.cells],
        }

    def line(self) -> str:
        """All counts in one line."""
        count = self.totals
        parts = [f"{count['trained']:,} of {count['models']:,} models trained"]
        parts += [f"{count['scored']:,} scored"] if self.study.metrics.names else []
        if self.compared is not None:
            parts += [
                f"{self.compared:,} of {plural(len(self.cells), 'cell')} compared by dynamics"
            ]
        parts += [f"{count[name]:,} {name}" for name in ("diverged", "failed") if count[name]]
        parts += [f"{count['left']:,} left"]
        if self.damaged:
            parts += [f"{plural(len(self.damaged), 'part')} of its tables damaged"]
        if count["left"] and count["steps"]:
            parts += [f"{percent(1 - count['steps_left'] / count['steps'])} of all steps done"]
        return ", ".join(parts)

    def activity(self) -> str:
        """Who works on it, and how long ago a model was finished, by clocks that may differ."""
        who = ", ".join(self.drivers)
        text = f"{who} {'works' if len(self.drivers) == 1 else 'work'} on it"
        parts = [text if who else "nobody works on it"]
        if self.last_finished is not None:
            minutes = max(0.0, time.time() - self.last_finished) / 60
            parts.append(f"the last model was finished {duration(minutes)} ago")
        return "; ".join(parts)


def status(store: Store, *, watch: bool, every: float | None, json: bool) -> int:
    """Print a study's status, or watch it."""
    check_every(every, watch)
    if watch:
        return watch_store(store, every or EVERY_SECONDS, json)
    now = read_status(store)
    print(jsonlib.dumps(now.as_json(), indent=2) if json else _text(now))
    return 0


def read_status(store: Store) -> Status:
    """Read a store, also while a run writes to it."""
    study = stored_study(store)
    times = [changed for _, changed in store.listing("tables", "models")]
    cells = survey(study, store)
    last_finished = max(times) / 1e9 if times else None
    drivers = _drivers(DriverWatch(store, "", BEAT_SECONDS))
    damaged = tuple(damaged_parts(store, cells))
    compared = None
    if study.traces is not None:
        compared = len({state.cell.name for state in cells}.intersection(store.parts("dynamics")))
    return Status(study, store, cells, last_finished, drivers, damaged, compared)


def _drivers(watch: DriverWatch) -> tuple[str, ...]:
    """Who works on it; a driver on another machine counts until it was quiet for long enough."""
    drivers = watch.drivers()
    return tuple(map(str, [*drivers[Life.ALIVE], *drivers[Life.UNKNOWN]]))


def _text(now: Status) -> str:
    rows = [state.as_json() for state in now.cells]
    blocks = [
        table(COLUMNS, [[row[name] for name in COLUMNS] for row in rows]),
        failures_text(now.cells, now.store),
        damage_text(now.store, now.damaged),
        several_instructions(now.cells),
        f"{now.study.name} in {now.store}: {now.line()}; {now.activity()}",
    ]
    return "\n\n".join(block for block in blocks if block)


# --watch -------------------------------------------------------------------------------------


class WatchedStore:
    """What was last read of a store, and how quickly models end."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self.store = store
        self.status: Status | None = None
        self.done = False
        self.trouble = ""
        self._now = now
        self._drivers = DriverWatch(store, "", BEAT_SECONDS)
        self._listings: object = None
        self._began = 0.0
        self._first: dict[str, int] = {}  # counts when watching began

    def read(self) -> None:
        """Read the store if it has changed; one that is out of reach is read again later."""
        try:
            listings = [self.store.listing(*folder) for folder in WATCHED]
            if listings != self._listings or self.trouble:
                status = read_status(self.store)
                self.done = is_finished(status.study, self.store, status.cells)
                self._count(status)
                self.status, self._listings, self.trouble = status, listings, ""
            if self.status:
                self.status = replace(self.status, drivers=_drivers(self._drivers))
        except OSError as error:
            self.trouble = f"cannot be read at the moment: {' '.join(str(error).split())}"

    def _count(self, status: Status) -> None:
        now = status.totals
        if not self._first or now["left"] > self._first["left"]:  # some are tried again
            self._began, self._first = self._now(), now

    def _per_hour(self, count: float) -> float | None:
        hours = (self._now() - self._began) / 3600
        return count / max(hours, 1e-6) if count > 0 else None

    @property
    def models_per_hour(self) -> float | None:
        """Since watching began, while models train; one in training counts in part."""
        if self.status is None or not self.status.totals["left"]:
            return None
        now = self.status.totals
        if not now["steps"]:  # of methods that are fitted at once
            return None
        steps = self._first["steps_left"] - now["steps_left"]
        return self._per_hour(steps / now["steps"] * now["models"])

    @property
    def minutes_left(self) -> float | None:
        """Of training."""
        if (pace := self.models_per_hour) is None or self.status is None:
            return None
        now = self.status.totals
        return 60 * now["steps_left"] / now["steps"] * now["models"] / pace

    @property
    def scored_per_hour(self) -> float | None:
        if self.status is None or not self.to_score:
            return None
        return self._per_hour(self.status.totals["scored"] - self._first["scored"])

    @property
    def to_score(self) -> int:
        if self.status is None or not self.status.study.metrics.names:
            return 0
        now = self.status.totals
        return now["left"] + now["trained"] - now["scored"]

    @property
    def minutes_of_scoring_left(self) -> float | None:
        """At least as many as of training: models are scored as they are trained."""
        pace = self.scored_per_hour
        return None if pace is None else max(60 * self.to_score / pace, self.minutes_left or 0.0)

    def summary(self) -> object:
        """A new line is printed when this changes."""
        known = (self.status.line(), self.status.drivers) if self.status else None
        return known, self.done, self.trouble

    def pace(self) -> str:
        parts = []
        if self.models_per_hour and self.minutes_left is not None:
            parts += [f"{self.models_per_hour:,.1f} models per hour"]
            parts += [f"{duration(self.minutes_left)} of training left"]
        elif self.scored_per_hour:
            parts += [f"{self.scored_per_hour:,.1f} models scored per hour"]
        if (minutes := self.minutes_of_scoring_left) and minutes != self.minutes_left:
            parts += [f"{duration(minutes)} of scoring left"]
        return ", ".join(parts)

    def as_json(self) -> dict[str, Any]:
        facts = self.status.as_json() if self.status else {"store": str(self.store)}
        facts.pop("cells", None)
        names = ("models_per_hour", "minutes_left", "scored_per_hour", "minutes_of_scoring_left")
        facts |= {name: getattr(self, name) for name in names}
        return {**facts, "done": self.done, "trouble": self.trouble or None}


def watch_store(
    store: Store,
    every: float,
    json: bool,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> int:
    """Print a study's status whenever it changes; ends with 0 when it is done or at Ctrl-C."""
    watched = WatchedStore(store, now)
    try:
        with _output(watched, json) as show:
            while not watched.done:
                began = now()
                watched.read()
                show()
                if not watched.done:
                    sleep(max(every, SHARE * (now() - began)))
    except KeyboardInterrupt:  # the usual end of watching: nothing was interrupted
        pass
    return 0


@contextmanager
def _output(watched: WatchedStore, json: bool) -> Iterator[Callable[[], None]]:
    """A function that shows what was read: on a screen that is redrawn, or as lines."""
    if sys.stdout.isatty() and not json:
        from rich.live import Live

        watched.read()  # a place that is no store is reported before anything is drawn
        live = Live(_Screen(watched), refresh_per_second=1)  # type: ignore[arg-type]
        try:  # Ctrl-C may come while it starts: what it did to the terminal is then undone, too
            live.start(refresh=True)
            yield live.refresh
        finally:
            live.stop()
        return
    reported: set[object] = set()
    last: list[object] = [None]

    def print_changes() -> None:
        if (summary := watched.summary()) != last[0]:
            last[0] = summary
            lines = [jsonlib.dumps(watched.as_json())] if json else _lines(watched, reported)
            print("\n".join(lines), flush=True)

    yield print_changes


def _lines(watched: WatchedStore, reported: set[object]) -> list[str]:
    """The counts, and each reason of a failure the first time."""
    status = watched.status
    parts = [status.line() if status else "", watched.pace(), watched.trouble]
    if watched.done or (status and not status.drivers):
        parts.append("done" if watched.done else "nobody works on it")
    lines = [f"{datetime.now():%H:%M:%S} {', '.join(part for part in parts if part)}"]
    for group in failures(status.cells) if status else []:
        kind = (group.status, group.pattern)
        if kind not in reported:
            reported.add(kind)
            lines.append(f"{group.examples[0]['model_id']} {group.line}")
    return lines


class _Screen:
    """What rich draws, at any moment: from what was last read."""

    def __init__(self, watched: WatchedStore) -> None:
        self.watched = watched

    def __rich__(self) -> object:
        from rich.console import Group
        from rich.text import Text

        watched, status = self.watched, self.watched.status
        if status is None:
            return Text(watched.trouble)
        lines = [
            f"{status.study.name} in {watched.store}: {status.line()}",
            "; ".join(part for part in (watched.pace(), status.activity()) if part),
            watched.trouble,
        ]
        failed = failures_text(status.cells, watched.store)
        height = get_terminal_size().lines - OTHER_LINES - len(failed.splitlines())
        texts = [Text(line) for line in (*lines, f"\n{failed}" if failed else "") if line]
        return Group(_bars(status, max(FEWEST_CELLS, height)), *texts)


def _bars(status: Status, most: int) -> Table:
    """What is done of all, and of the cells that are neither untouched nor done."""
    from rich.box import SIMPLE
    from rich.table import Table

    bars = Table(box=SIMPLE)
    for heading in ("cell", "", "trained", "scored", "bad"):
        bars.add_column(heading, justify="left" if heading in ("cell", "") else "right")
    under_way = [
        state.as_json()
        for state in status.cells
        if (state.status or state.under_way) and (state.unfinished or state.unscored)
    ]
    for row in [{"cell": "all cells", **status.totals}, *under_way[:most]]:
        bad = row["diverged"] + row["failed"]
        bars.add_row(
            row["cell"],
            progress_bar(row["steps"] - row["steps_left"], row["steps"]),
            f"{row['trained']:,}/{row['models']:,}",
            f"{row['scored']:,}",
            f"{bad:,}" if bad else "",
        )
    if len(under_way) > most:
        bars.caption = f"and {len(under_way) - most} more cells under way"
    return bars
