"""`tolstoy status STORE --watch`: look again and again until the study is done, or Ctrl-C."""

from __future__ import annotations

import json as jsonlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from shutil import get_terminal_size
from typing import Any

from flows.commands.failures import failures, failures_text
from flows.commands.status import Status, at_work, look
from flows.progress import duration
from infra.drivers.liveness import DriverWatch
from infra.drivers.lock import BEAT_SECONDS
from infra.store import Store
from tasks.study.groups import is_finished

WATCHED = ("models", "scores", "pairs", "ranks")
SHARE = 4  # a large store takes seconds to read: a fifth of the time at most is spent on that
FEWEST_CELLS = 3
OTHER_LINES = 12  # of the screen: headings, counts, pace


class Watch:
    """What was last seen of a store, and how quickly it goes on."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.status: Status | None = None
        self.done = False
        self.trouble = ""
        self._drivers = DriverWatch(store, "", BEAT_SECONDS)
        self._stamp: object = None
        self._began = self._ended_at_first = self._ended = 0.0

    def look(self) -> None:
        """Read the store if it has changed; one that is out of reach is looked at again later."""
        try:
            stamp = [self.store.listing("tables", table) for table in WATCHED]
            if stamp != self._stamp or self.trouble:
                status = look(self.store)
                self.done = is_finished(status.study, self.store, status.found)
                self._count(status)
                self.status, self._stamp, self.trouble = status, stamp, ""
            if self.status:
                now = at_work(self.store, self._drivers)
                self.status = replace(self.status, drivers=now)
        except OSError as error:
            self.trouble = f"cannot be read at the moment: {' '.join(str(error).split())}"

    def _count(self, status: Status) -> None:
        self._ended = status.totals["models"] - status.totals["left"]
        if self.status is None or self._ended < self._ended_at_first:  # some are tried again
            self._began, self._ended_at_first = time.monotonic(), self._ended

    @property
    def models_per_hour(self) -> float | None:
        """Of what ended since watching began, by a clock that nobody sets."""
        count = self._ended - self._ended_at_first
        hours = (time.monotonic() - self._began) / 3600
        return count / max(hours, 1e-6) if count else None

    @property
    def minutes_left(self) -> float | None:
        pace = self.models_per_hour
        return 60 * self.status.totals["left"] / pace if pace and self.status else None

    def changed(self) -> object:
        """What is told again when it is another."""
        known = (self.status.line(), self.status.drivers) if self.status else None
        return known, self.done, self.trouble

    def pace(self) -> str:
        if self.models_per_hour is None:
            return ""
        left = self.minutes_left
        more = f", {duration(left)} of training left" if left else ""
        return f"{self.models_per_hour:,.1f} models per hour{more}"

    def as_json(self) -> dict[str, Any]:
        facts = self.status.as_json() if self.status else {"store": str(self.store)}
        facts.pop("cells", None)
        facts |= {"models_per_hour": self.models_per_hour, "minutes_left": self.minutes_left}
        return {**facts, "done": self.done, "trouble": self.trouble or None}


def watch(store: Store, every: float, json: bool) -> int:
    """Show a study as it goes on; ends with 0 when it is done or at Ctrl-C."""
    seen = Watch(store)
    try:
        with _shown(seen, json) as tell:
            while not seen.done:
                began = time.monotonic()
                seen.look()
                tell()
                if not seen.done:
                    time.sleep(max(every, SHARE * (time.monotonic() - began)))
    except KeyboardInterrupt:  # that is how one leaves: nothing was interrupted
        pass
    return 0


@contextmanager
def _shown(seen: Watch, json: bool) -> Iterator[Callable[[], None]]:
    """What tells of a look: a screen that is drawn again, or lines of what has changed."""
    if sys.stdout.isatty() and not json:
        from rich.live import Live

        seen.look()  # a place that is no store is told before anything is drawn
        with Live(_Screen(seen), refresh_per_second=1) as live:  # type: ignore[arg-type]
            yield live.refresh
        return
    told: set[object] = set()
    last: list[object] = [None]

    def tell() -> None:
        if (now := seen.changed()) != last[0]:
            last[0] = now
            for line in [jsonlib.dumps(seen.as_json())] if json else _lines(seen, told):
                print(line, flush=True)

    yield tell


def _lines(seen: Watch, told: set[object]) -> list[str]:
    """The state, and each reason of a failure when it is first met."""
    status = seen.status
    parts = [status.line() if status else "", seen.pace(), seen.trouble]
    if seen.done or (status and not status.drivers):
        parts.append("done" if seen.done else "nobody works on it")
    lines = [f"{datetime.now():%H:%M:%S} {', '.join(part for part in parts if part)}"]
    for failure in failures(status.found) if status else []:
        kind = (failure.status, failure.pattern)
        if kind not in told:
            told.add(kind)
            lines.append(f"{failure.examples[0]['model_id']} {failure.line}")
    return lines


class _Screen:
    """Drawn by rich whenever it likes: from what was last seen."""

    def __init__(self, seen: Watch) -> None:
        self.seen = seen

    def __rich__(self) -> object:
        from rich.console import Group
        from rich.text import Text

        seen, status = self.seen, self.seen.status
        if status is None:
            return Text(seen.trouble)
        texts = [f"{status.study.name} in {seen.store}: {status.line()}"]
        texts.append("; ".join(part for part in (seen.pace(), status.signs_of_life()) if part))
        texts += [seen.trouble] if seen.trouble else []
        lost = failures_text(status.found, seen.store)
        room = get_terminal_size().lines - OTHER_LINES - len(lost.splitlines())
        bars = _bars(status, max(FEWEST_CELLS, room))
        return Group(bars, *map(Text, texts), *([Text(f"\n{lost}")] if lost else []))


def _bars(status: Status, most: int) -> Any:
    """What is done of all, and of the cells under way."""
    from rich.box import SIMPLE
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table(box=SIMPLE)
    for heading in ("cell", "", "trained", "scored", "bad"):
        table.add_column(heading, justify="left" if heading in ("cell", "") else "right")
    cells = [one.as_json() for one in status.found]
    under_way = [
        row for row in cells if row["left"] < row["models"] and (row["left"] or _unscored(row))
    ]
    rows = [{"cell": "all cells", **status.totals}, *under_way[:most]]
    for row in rows:
        table.add_row(
            row["cell"],
            ProgressBar(total=row["models"], completed=row["models"] - row["left"], width=30),
            f"{row['trained']:,}/{row['models']:,}",
            f"{row['scored']:,}",
            f"{row['diverged'] + row['failed']:,}" if row["diverged"] + row["failed"] else "",
        )
    if len(under_way) > most:
        table.caption = f"and {len(under_way) - most} more cells under way"
    return table


def _unscored(row: dict[str, Any]) -> int:
    return int(row["trained"] - row["scored"])
