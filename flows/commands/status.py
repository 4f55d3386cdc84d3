"""`tolstoy status`: what of a study is done and what went wrong, read from its store alone."""

from __future__ import annotations

import json as jsonlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flows.commands.failures import failures, failures_text, retry
from flows.commands.text import table
from flows.progress import duration
from infra.drivers.liveness import DriverWatch, Life
from infra.drivers.lock import BEAT_SECONDS
from infra.store import Store
from tasks.study.spec import Study
from tasks.study.stored import stored_study
from tasks.study.survey import CellState, survey, totals

COLUMNS = ("cell", "models", "trained", "scored", "diverged", "failed", "left")


@dataclass(frozen=True)
class Status:
    """A study as it stands in its store at one moment."""

    study: Study
    store: Store
    found: Sequence[CellState]
    last_finished: float | None  # seconds since 1970, when a model's row was last written
    drivers: tuple[str, ...]  # who works on it

    @property
    def totals(self) -> dict[str, int]:
        return totals(self.found)

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
            "failures": [failure.as_json() for failure in failures(self.found)],
            "retry": retry(self.found, self.store) or None,
            "cells": [one.as_json() for one in self.found],
        }

    def line(self) -> str:
        """All counts in one line."""
        count = self.totals
        parts = [f"{count['trained']:,} of {count['models']:,} models trained"]
        parts += [f"{count['scored']:,} scored"] if self.study.metrics.names else []
        parts += [f"{count[name]:,} {name}" for name in ("diverged", "failed") if count[name]]
        return ", ".join([*parts, f"{count['left']:,} left"])

    def signs_of_life(self) -> str:
        """Who works on it, and how long ago a model was finished, by clocks that may differ."""
        who = ", ".join(self.drivers)
        text = f"{who} {'works' if len(self.drivers) == 1 else 'work'} on it"
        parts = [text if who else "nobody works on it"]
        if self.last_finished is not None:
            minutes = max(0.0, time.time() - self.last_finished) / 60
            parts.append(f"the last model was finished {duration(minutes)} ago")
        return "; ".join(parts)


def at_work(store: Store, watched: DriverWatch | None = None) -> tuple[str, ...]:
    """Who works on it; a driver on another machine counts until it was seen to be still."""
    found = (watched or DriverWatch(store, "", BEAT_SECONDS)).drivers()
    return tuple(map(str, [*found[Life.ALIVE], *found[Life.UNKNOWN]]))


def look(store: Store) -> Status:
    """Read a store, also while a run writes to it."""
    study = stored_study(store)
    times = [changed for _, changed in store.listing("tables", "models")]
    found = survey(study, store)
    return Status(study, store, found, max(times) / 1e9 if times else None, at_work(store))


def print_status(status: Status, json: bool) -> int:
    if json:
        print(jsonlib.dumps(status.as_json(), indent=2))
        return 0
    rows = [one.as_json() for one in status.found]
    print(table(COLUMNS, [[row[name] for name in COLUMNS] for row in rows]))
    if lost := failures_text(status.found, status.store):
        print(f"\n{lost}")
    print(f"\n{status.study.name} in {status.store}: {status.line()}; {status.signs_of_life()}")
    return 0
