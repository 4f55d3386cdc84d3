"""`tolstoy run`: do what is left, show it, survive Ctrl-C, and say what came of it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from flows.commands.report import renewed_report
from flows.commands.summary import as_json, as_lines
from flows.commands.text import preparing
from infra.drivers.lock import Holder, bury_dead, holding
from infra.errors import WrongInput
from infra.store import Store
from infra.workers import Stopped, check_address
from tasks.study.groups import all_stands
from tasks.study.spec import Study
from tasks.study.stored import STUDY_FILE, check_store, forget, settled_study, stored_study
from tasks.study.survey import CellState, survey, totals


def run_study(
    study: Study,
    uri: str,
    workers: int | None,
    ray: str | None,
    retry: set[str],
    join: bool,
    json: bool,
) -> int:
    """Run what is left of a study in a store; the exit code says how it ended."""
    if ray:
        check_address(ray)
    store = Store(uri)
    with _terminated_as_interrupted(), opened(study, store, retry, join) as (study, found, holder):
        left, unscored = sum(len(o.left) for o in found), sum(len(o.unscored) for o in found)
        troubles: list[str] = []
        if not all_done(study, store, found):
            done = totals(found)["trained"]
            _say(
                f"{study.name}: {left} models to train, {left + unscored} to score, "
                f"{done} trained before; store {store}"
            )
            try:
                troubles = _flow(study, store, workers, ray, holder)
            except (KeyboardInterrupt, SystemExit, Stopped):  # Ray makes the second of a SIGTERM
                return _interrupted(study, store)
            found = survey(study, store)
        else:
            _say(f"{study.name}: nothing to train, score or compare; all of it stands in {store}.")
        report = renewed_report(study, store)
        return _end(study, store, found, troubles, report, json)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """A SIGTERM leaves no more behind than a Ctrl-C; Prefect and Ray hand it on to us."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def opened(
    study: Study, store: Store, retry: set[str], join: bool = False
) -> Iterator[tuple[Study, list[CellState], Holder | None]]:
    """The study as it stands in its store from now on, what is done of it, and our hold on it.

    What is to be tried again is forgotten. A study with nothing to do needs no hold.
    """
    study = settled_study(study, store, preparing)
    new = check_store(study, store)
    store.prepare()
    if not new and not retry and all_done(study, store, found := survey(study, store)):
        if bury_dead(store):
            from flows.dashboard.crashed_runs import close_runs_of_nobody

            close_runs_of_nobody(store)
        yield study, found, None
        return
    with holding(store, join) as holder:
        if retry and not holder.alone:
            raise WrongInput("--retry", "another driver on this store", "a store that has no other")
        if not holder.alone and (changed := _changed(study, store)):
            accepted = f"that of the run that works there, in {store}/{STUDY_FILE}"
            raise WrongInput("SPEC", f"with --join, one with other {changed}", accepted)
        if check_store(study, store):
            store.write_json(study.model_dump(mode="json"), STUDY_FILE)
        if retry and (forgotten := forget(study, store, retry)):
            _say(f"{forgotten} models will be tried again.")
        yield study, survey(study, store), holder


def _changed(study: Study, store: Store) -> str:
    """What of the work of a store's study would be another: drivers that share it must agree."""
    if not store.exists(STUDY_FILE):
        return ""
    older = stored_study(store)
    works = {
        "models": (study.cells(), older.cells()),
        "metrics": (study.metrics.names, older.metrics.names),
        "udr": (study.udr, older.udr),
    }
    return ", ".join(name for name, (ours, theirs) in works.items() if ours != theirs)


def all_done(study: Study, store: Store, found: Sequence[CellState]) -> bool:
    """Whether nothing is left to train, score or compare."""
    left = any(one.left or one.unscored for one in found)
    return not left and all_stands(study, store, found)


def _flow(
    study: Study, store: Store, workers: int | None, ray: str | None, holder: Holder | None
) -> list[str]:
    from httpx import HTTPError
    from prefect.settings import get_current_settings

    from flows.study import Ended, study_flow
    from infra.prefect_server import away, prefect_api

    ended = Ended()
    with prefect_api():
        try:
            study_flow(study, store, ray, workers, holder, ended)
        except Exception as error:
            if ended.troubles is None:
                url = get_current_settings().api.url
                if url and (isinstance(error, HTTPError) or not ended.began):
                    reason = str(error.__cause__ or error).partition("\n")[0]
                    raise away(url, reason) from None
                raise
            _say("Prefect did not answer at the end: what it shows of this run may be old.")
    return ended.troubles or []


def _interrupted(study: Study, store: Store) -> int:
    total = totals(survey(study, store))
    _say(
        f"\nInterrupted. {total['trained']} of {total['models']} models are trained and "
        f"{total['scored']} scored; models under way go on from their last checkpoint.\n"
        "The same command goes on from here."
    )
    return 130


def _end(
    study: Study,
    store: Store,
    found: Sequence[CellState],
    troubles: Sequence[str],
    report: str,
    json: bool,
) -> int:
    left, unscored = sum(len(o.left) for o in found), sum(len(o.unscored) for o in found)
    if left or unscored:  # what was done of them was lost or damaged meanwhile
        missing = f"{left} models are left to train and {unscored} to score"
        troubles = [*troubles, f"{missing}: the same command goes on"]
    show = as_json if json else as_lines
    print(show(study, store, found, troubles, report))
    return 1 if troubles or any(one.count("failed") + one.count("diverged") for one in found) else 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
