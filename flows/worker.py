"""What Ray calls on a worker: one function per stage, each told a store, a study and a model.

The time limit starts before the task is imported: imports can hang too, on a drive that does not
answer. And so the driver never imports torch.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from infra.errors import WrongInput
from infra.store import Store
from infra.time_limit import ended_after
from infra.timeline import span
from tasks.give_back import give_back
from tasks.log import comparison_log, model_log
from tasks.study.model import Model
from tasks.study.spec import Study
from tasks.study.stored import STUDY_FILE

VISIBLE_SECONDS = 60.0  # a network drive may show a new folder so late


class StoreNotMounted(WrongInput):
    """A machine of the cluster lacks the drive of the store."""


def warm_up(study: Study, compiles: bool) -> None:
    """Import what the first models need; compile what scores need, if it never was on this machine.

    What fails here fails again where it is needed, and is reported there.
    """
    with ended_after(study.training.minutes_per_model, lambda *_: None), suppress(Exception):
        with span("imports"):
            import tasks.score
            import tasks.train  # noqa: F401
        if compiles:
            with span("compiled loops"):
                from tasks.compiled_loops import compile_loops

                compile_loops(study)


def train(uri: str, study: Study, model: Model) -> str:
    """Returns the model's status."""
    store = Store(uri)
    with _limited(store, model, study.training.minutes_per_model):
        with span("imports"):
            from tasks.train import train_model

        with span(f"training {_name(model)}", model=model.id):
            return train_model(store, study, model)


def score(uri: str, study: Study, model: Model) -> str:
    store = Store(uri)
    with _limited(store, model, study.metrics.minutes_per_model):
        with span("imports"):
            from tasks.score import score_model

        with span(f"scoring {_name(model)}", model=model.id):
            return score_model(store, study, model)


def compare(
    uri: str, study: Study, group: str, models: list[Model], cells: list[tuple[str, str]]
) -> list[str]:
    """Compare the models of these pairs of cells; ids of unreadable representations."""
    store = Store(uri)
    with _limited_comparison(store, study, group, f"comparing {len(models)} models"):
        with span("imports"):
            from tasks.compare import compare_tile

        with span(f"comparing {group}"):
            return compare_tile(store, study, models, cells)


def rank(uri: str, study: Study, group: str, models: list[Model]) -> None:
    """Write the rankings of a group, all of whose pairs are in the store."""
    store = Store(uri)
    with _limited_comparison(store, study, group, f"ranking {len(models)} models"):
        with span("imports"):
            from tasks.rank import rank_models

        with span(f"ranking {group}"):
            rank_models(store, study, group, models)


def dynamics(uri: str, study: Study, cell: str, models: list[Model]) -> list[str]:
    """Compare the training dynamics of a cell; ids of models without readable traces."""
    store = Store(uri)
    with _limited_comparison(store, study, cell, f"comparing dynamics of {len(models)} models"):
        with span("imports"):
            from tasks.dynamics import score_cell

        with span(f"comparing dynamics {cell}"):
            return score_cell(store, study, cell, models)


def _name(model: Model) -> str:
    return f"{model.cell}, seed {model.seed}"


@contextmanager
def _limited(store: Store, model: Model, minutes: float | None) -> Iterator[None]:
    with ended_after(minutes, model_log(store, model.id).end):
        _check_mounted(store)
        try:
            yield
        finally:
            give_back()


@contextmanager
def _limited_comparison(store: Store, study: Study, group: str, begins: str) -> Iterator[None]:
    log, minutes = comparison_log(store, group), study.running.minutes_per_comparison
    with ended_after(minutes, log.end):
        _check_mounted(store)
        if minutes is not None:  # so that an older try's last line is not taken for this one's
            log.add(begins)
        yield


def _check_mounted(store: Store) -> None:
    """Raise on a machine that lacks the store's drive, before anything is written there."""
    began = time.monotonic()
    while store.local and not store.exists(STUDY_FILE):
        if time.monotonic() - began >= VISIBLE_SECONDS:
            found = f"{store.root}, which is not on machine {platform.node()}"
            raise StoreNotMounted(
                "--store", found, "a drive that every machine mounts, or a bucket"
            )
        time.sleep(VISIBLE_SECONDS / 60)
