"""What a run shows on the dashboard while it goes on: how far, which scores, the report, pictures.

Prefect's own calls send the whole content as an event as well, each time; over weeks these would
fill its database. Here an artifact is made once and then changed in place.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from json import dumps
from typing import Any
from uuid import UUID

from flows.commands.report import median_rows
from flows.dashboard.portraits import Portrait, portraits
from flows.driver import StudyRun
from infra.store import Store
from tasks.study.spec import Study

RENEW_SECONDS = 20.0
SHARE = 60.0  # what is shown costs at most this fraction of the run, whatever the study's size
STATES = ("trained", "scored", "diverged", "failed", "left")


class Page:
    """The artifacts of one flow run, by key. A dashboard that is away costs nothing but a try."""

    def __init__(self, run_id: UUID, client: Any) -> None:
        self.run_id, self.client = run_id, client
        self._shown: dict[str, tuple[UUID, dict[str, Any]]] = {}

    def show(self, kind: str, key: str, about: str, data: object) -> None:
        """Have the page show this; nothing is sent that is there already."""
        content = {"description": about, "data": data}
        try:
            if key not in self._shown:
                made = {"key": key, "type": kind, "flow_run_id": str(self.run_id), **content}
                answer = self.client.request("POST", "/artifacts/", json=made)
                self._shown[key] = UUID(answer.json()["id"]), content
            elif self._shown[key][1] != content:
                place = {"id": self._shown[key][0]}
                self.client.request("PATCH", "/artifacts/{id}", path_params=place, json=content)
                self._shown[key] = place["id"], content
        except Exception as error:
            logging.getLogger(__name__).debug("not shown: %s", error)


class Shown:
    """A sweep, on the page of its flow run."""

    def __init__(self, sweep: StudyRun, study: Study, store: Store, report: str | None) -> None:
        self.sweep, self.study, self.store, self.report = sweep, study, store, report
        self.page = this_page()

    def renew(self) -> None:
        """How far the run is, and the scores that are there."""
        progress, cells = self.sweep.progress, self.sweep.cells.values()
        models = sum(len(one.cell.models) for one in cells)
        stages = 2 if self.study.metrics.names else 1
        left = sum(stages * len(one.unfinished) + len(one.unscored) for one in cells)
        done = 100.0 * (1 - left / max(1, models * stages))
        self._show("progress", "progress", progress.line(), round(done, 1))
        rows = [{n: one.as_json()[n] for n in ("cell", "models", *STATES)} for one in cells]
        self._show("table", "cells", "How far each cell is", dumps(rows))
        head, medians = median_rows(self.study, self.store, list(cells))
        about = "Medians over the seeds of each cell, as far as there are scores"
        scores = [
            {name: "" if value == "-" else value for name, value in zip(head, row, strict=True)}
            for row in medians
        ]
        self._show("table", "scores", about, dumps(scores))

    def finish(self) -> None:
        """All of it, with the report and the pictures."""
        self.renew()
        show_report(self.page, self.store, self.report)
        if pictures := portraits(self.study, self.store, list(self.sweep.cells.values())):
            about = "Each row moves one latent; the best model of each method"
            self._show("markdown", "traversals", about, _gallery(pictures))

    def _show(self, kind: str, what: str, about: str, data: object) -> None:
        self.page.show(kind, key_of(self.store, what), about, data)


def show_report(page: Page, store: Store, address: str | None) -> None:
    """A link to the report, or, where no browser could follow one, its place."""
    place = store.address("report", "index.html")
    link = f"[Open the report]({address})" if address else f"`{place}`"
    page.show("markdown", key_of(store, "report"), "The report of the study", link)


def key_of(store: Store, what: str) -> str:
    """Artifact keys hold small letters, digits and dashes."""
    name = store.root.rstrip("/").rpartition("/")[2].lower()
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in f"{name}-{what}")


@contextmanager
def on_the_dashboard(shown: Shown) -> Iterator[None]:
    """Renewed now and then while the block runs, and at its end."""
    over = threading.Event()

    def renew() -> None:
        pause = 0.0
        while not over.wait(pause):
            began = time.monotonic()
            _at_any_rate(shown.renew)
            pause = max(RENEW_SECONDS, SHARE * (time.monotonic() - began))

    thread = threading.Thread(target=renew, name="renews the dashboard", daemon=True)
    thread.start()
    try:
        yield
    except Exception:  # not if it is cancelled: then it ends at once
        _at_any_rate(shown.renew)
        raise
    finally:
        over.set()
    thread.join()
    _at_any_rate(shown.finish)


def this_page() -> Page:
    """The page of the flow run that this is called from."""
    from prefect.client.orchestration import get_client
    from prefect.context import FlowRunContext

    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        raise RuntimeError("artifacts are shown on the page of a flow run")
    return Page(context.flow_run.id, get_client(sync_client=True))


def _at_any_rate(show: Callable[[], None]) -> None:
    """What cannot be shown, of a store that is full say, costs no run."""
    try:
        show()
    except Exception:
        logging.getLogger(__name__).debug("not shown", exc_info=True)


def _gallery(pictures: Sequence[Portrait]) -> str:
    return "\n\n".join(f"**{one.title}**\n\n![{one.title}]({one.uri})" for one in pictures)
