"""`tolstoy report --watch`: the report, renewed while its study runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from flows.commands.report import renewed_report, tables_hash
from flows.commands.status import SHARE
from flows.commands.text import warn
from infra.store import Store
from tasks.report.progress import has_driver
from tasks.study.damage import damage_text, damaged_parts
from tasks.study.groups import is_finished
from tasks.study.stored import stored_study
from tasks.study.survey import survey, totals

EVERY_SECONDS = 30.0


def watch_report(
    store: Store,
    every: float = EVERY_SECONDS,
    requested: Sequence[str] = (),
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> int:
    """Renew the report whenever the tables have changed; ends with 0 when the study is done."""
    stored_study(store)  # a place that is no store is reported at once
    store.prepare()
    watched = WatchedReport(store, requested)
    while True:
        began = now()
        for line in watched.renew():
            print(f"{datetime.now():%H:%M:%S} {line}", flush=True)
        if watched.done:
            return 0
        sleep(max(every, SHARE * (now() - began)))


class WatchedReport:
    """A report, and what of the store it was made from."""

    def __init__(self, store: Store, requested: Sequence[str] = ()) -> None:
        self.store, self.requested = store, requested
        self.done = False
        self._made_from: object = None
        self._trouble = ""
        self._damage = ""

    def renew(self) -> Iterator[str]:
        """Write the report if anything has changed; yields what there is to say."""
        try:
            yield from self._renew()
            self._trouble = ""
        except OSError as error:  # a store out of reach is tried again
            trouble = " ".join(str(error).split())
            if trouble != self._trouble:
                yield f"not renewed: {trouble}"
            self._trouble = trouble

    def _renew(self) -> Iterator[str]:
        study = stored_study(self.store)
        # before the tables are read, so that a change during the reading is noticed next time
        driven = has_driver(self.store)
        made_from = tables_hash(study, self.store), driven
        if made_from == self._made_from:
            return
        cells = survey(study, self.store)
        done = is_finished(study, self.store, cells)
        damage = damage_text(self.store, damaged_parts(self.store, cells))
        if damage and damage != self._damage:
            warn(damage)
        self._damage = damage
        # always: a run writes its report at its end, and ours may have replaced parts of it
        path = renewed_report(study, self.store, self.requested, even_if_same=True)
        self._made_from, self.done = made_from, done
        count = totals(cells)
        parts = [f"{count['models'] - count['left']:,} of {count['models']:,} models ended"]
        parts += [f"{count['scored']:,} scored"] if study.metrics.names else []
        parts += ["done"] if done else [] if driven else ["nobody works on it"]
        yield ", ".join([*parts, path])
