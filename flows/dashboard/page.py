"""What a run shows on its page of the dashboard: progress, scores, the report, pictures.

Prefect's own functions also send the whole content as an event at each call, which over weeks would
fill its database. Here an artifact is created once and then updated in place.
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
from flows.dashboard.traversals import Traversal, traversals
from flows.driver import StudyRun
from flows.progress import percent
from infra.store import Store

UPDATE_SECONDS = 20.0
LAST_SECONDS: float | None = 10.0  # that a run which fails or is cancelled gives its last update
UPDATE_SHARE = 60.0  # an update takes at most a sixtieth of the run, whatever the study's size
STATES = ("trained", "scored", "diverged", "failed", "left")


class Artifacts:
    """The artifacts of one flow run. If Prefect does not answer, the next call tries again."""

    def __init__(self, run_id: UUID, client: Any) -> None:
        self.run_id, self.client = run_id, client
        self._sent: dict[str, tuple[UUID, dict[str, Any]]] = {}

    def show(self, kind: str, key: str, about: str, data: object) -> None:
        """Create or update an artifact; nothing is sent if nothing changed."""
        content = {"description": about, "data": data}
        try:
            if key not in self._sent:
                new = {"key": key, "type": kind, "flow_run_id": str(self.run_id), **content}
                answer = self.client.request("POST", "/artifacts/", json=new)
                self._sent[key] = UUID(answer.json()["id"]), content
            elif self._sent[key][1] != content:
                place = {"id": self._sent[key][0]}
                self.client.request("PATCH", "/artifacts/{id}", path_params=place, json=content)
                self._sent[key] = place["id"], content
        except Exception as error:
            logging.getLogger(__name__).debug("artifact %s is not updated: %s", key, error)


class DashboardPage:
    """The page of a study's flow run."""

    def __init__(
        self, run: StudyRun, report_address: str | None, artifacts: Artifacts | None = None
    ) -> None:
        self.run, self.report_address = run, report_address
        self.artifacts = artifacts or artifacts_of_this_run()

    def update(self) -> None:
        """Show the progress of the run, and the scores so far."""
        run, cells = self.run, list(self.run.cells.values())
        models = sum(len(state.cell.models) for state in cells)
        stages = 2 if run.study.metrics.names else 1
        # of a model in training, what it has done of its steps counts
        unfinished, steps = sum(len(s.unfinished) for s in cells), sum(s.steps for s in cells)
        steps_left = sum(s.steps_left for s in cells)
        to_train = models * _share_left(unfinished, models, steps_left, steps)
        to_score = sum(len(state.unscored) + len(state.unfinished) for state in cells)
        left = to_train + (to_score if run.study.metrics.names else 0)
        done = 100.0 * (1 - left / max(1, models * stages))
        self._show("progress", "progress", run.progress.line(), round(done, 1))
        rows = [_cell_row(state.as_json()) for state in cells]
        self._show("table", "cells", "The progress of each cell", dumps(rows))
        head, medians = median_rows(run.study, run.store, cells)
        about = "Medians over the seeds of each cell, of the scores so far"
        scores = [
            {name: "" if value == "-" else value for name, value in zip(head, row, strict=True)}
            for row in medians
        ]
        self._show("table", "scores", about, dumps(scores))

    def finish(self) -> None:
        """Show everything, with the report and the pictures."""
        self.update()
        run = self.run
        show_report(self.artifacts, run.store, self.report_address)
        if pictures := traversals(run.store, list(run.cells.values())):
            about = "Each row moves one latent; the best model of each method"
            self._show("markdown", "traversals", about, _gallery(pictures))

    def _show(self, kind: str, name: str, about: str, data: object) -> None:
        self.artifacts.show(kind, key_of(self.run.store, name), about, data)


def _cell_row(facts: dict[str, Any]) -> dict[str, Any]:
    row = {name: facts[name] for name in ("cell", "models", *STATES)}
    left = _share_left(facts["left"], facts["models"], facts["steps_left"], facts["steps"])
    return {**row, "steps": percent(1 - left)}


def _share_left(unfinished: int, models: int, steps_left: int, steps: int) -> float:
    """Of the steps; of the models where these have no steps, as of PCA."""
    return steps_left / steps if steps else unfinished / max(1, models)


def show_report(artifacts: Artifacts, store: Store, address: str | None) -> None:
    """Show a link to the report; without a server that shows reports, its path."""
    place = store.address("report", "index.html")
    link = f"[Open the report]({address})" if address else f"`{place}`"
    artifacts.show("markdown", key_of(store, "report"), "The report of the study", link)


def key_of(store: Store, name: str) -> str:
    """Artifact keys consist of lower-case letters, digits and dashes."""
    key = f"{store.name.lower()}-{name}"
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in key)


def pause_after(seconds: float) -> float:
    """How long to wait after an update that took so long."""
    return max(UPDATE_SECONDS, UPDATE_SHARE * seconds)


@contextmanager
def kept_updated(
    page: DashboardPage,
    pause: Callable[[float], float] = pause_after,
    now: Callable[[], float] = time.monotonic,
) -> Iterator[None]:
    """Update the page while the block runs, and once more at its end, however it ends."""
    ended = threading.Event()
    last, patience = page.update, LAST_SECONDS

    def update() -> None:
        seconds = 0.0
        while not ended.wait(seconds):
            began = now()
            _ignoring_errors(page.update)
            seconds = pause(now() - began)
        _ignoring_errors(last)

    thread = threading.Thread(target=update, name="updates the dashboard", daemon=True)
    thread.start()
    try:
        yield
        last, patience = page.finish, None
    finally:
        ended.set()
        thread.join(patience)


def artifacts_of_this_run() -> Artifacts:
    """Of the flow run that calls this."""
    from prefect.client.orchestration import get_client
    from prefect.context import FlowRunContext

    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        raise RuntimeError("artifacts are shown on the page of a flow run")
    return Artifacts(context.flow_run.id, get_client(sync_client=True))


def _ignoring_errors(update: Callable[[], None]) -> None:
    """A run does not fail because its page cannot be updated, say from a store that is full."""
    try:
        update()
    except Exception:
        logging.getLogger(__name__).debug("the dashboard is not updated", exc_info=True)


def _gallery(pictures: Sequence[Traversal]) -> str:
    return "\n\n".join(f"**{p.title}**\n\n![{p.title}]({p.uri})" for p in pictures)
