"""Opening a study in its store: settle it, lock the store, and read once what is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from infra.drivers.lock import DriverLock, driver_lock, remove_dead_drivers
from infra.errors import WrongInput
from infra.prefect_settings import may_have_server
from infra.store import Store
from infra.timeline import span
from tasks.leftovers import remove_what_stayed
from tasks.study.groups import is_finished
from tasks.study.model import DAMAGED
from tasks.study.repair import forget_damaged
from tasks.study.sources import ShowProgress, no_progress
from tasks.study.spec import Study
from tasks.study.stored import STUDY_FILE, check_store, forget, settled_study, stored_study
from tasks.study.survey import CellState, survey
from tasks.study.under_way import remove_abandoned


class OpenStudy:
    """A study as its store has it, and the state of its cells when it was opened.

    `lock` is none where all was done before. (No dataclass: Prefect would look inside.)
    """

    def __init__(
        self,
        study: Study,
        store: Store,
        states: Sequence[CellState],
        finished: bool,
        lock: DriverLock | None = None,
        retried: int = 0,
        parts_set_aside: int = 0,
    ) -> None:
        self.study, self.store, self.states = study, store, states
        self.finished, self.lock = finished, lock
        self.retried = retried  # models whose rows were dropped, to be trained again
        self.parts_set_aside = parts_set_aside  # damaged ones


@contextmanager
def open_study(
    study: Study,
    store: Store,
    retry: set[str],
    join: bool = False,
    show: ShowProgress = no_progress,
) -> Iterator[OpenStudy]:
    """Open the study in its store, until the block ends."""
    with span("data sources"):
        study = settled_study(study, store, show)
    new = check_store(study, store)
    store.prepare()
    states = None
    if not new and not retry:
        with span("survey"):
            states = survey(study, store)
        if is_finished(study, store, states):
            if remove_dead_drivers(store):
                remove_what_stayed(store, study, states)
                if may_have_server():
                    from flows.dashboard.crashed_runs import close_all_runs

                    close_all_runs(store)
            yield OpenStudy(study, store, states, finished=True)
            return
    with driver_lock(store, join) as lock:
        remove_abandoned(store)
        if retry and not lock.alone:
            raise WrongInput("--retry", "another driver on this store", "a store that has no other")
        if not lock.alone and (changed := _changed(study, store)):
            accepted = f"that of the run that works there, in {store}/{STUDY_FILE}"
            raise WrongInput("SPEC", f"with --join, one with other {changed}", accepted)
        if check_store(study, store):
            store.write_json(study.model_dump(mode="json"), STUDY_FILE)
        retried = forget(study, store, retry) if retry else 0
        set_aside = 0
        if DAMAGED in retry:
            with span("every part is read"):
                forgotten = forget_damaged(study, store)
            retried += forgotten.models
            set_aside = forgotten.parts
        finished = False
        if states is None:
            with span("survey"):
                states = survey(study, store)
            finished = is_finished(study, store, states)
        remove_what_stayed(store, study, states)
        yield OpenStudy(study, store, states, finished, lock, retried, set_aside)


def _changed(study: Study, store: Store) -> str:
    """What differs between the study and the store's: drivers that share a store must agree."""
    if not store.exists(STUDY_FILE):
        return ""
    older = stored_study(store)
    parts = {
        "models": (study.cells(), older.cells()),
        "metrics": (study.metrics.names, older.metrics.names),
        "udr": (study.udr, older.udr),
        "traces": (study.traces, older.traces),
        "dynamics": (study.dynamics, older.dynamics),
    }
    return ", ".join(name for name, (ours, stored) in parts.items() if ours != stored)
