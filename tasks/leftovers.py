"""What a model needs only while it is trained; removed when it has ended, or by a later run."""

from __future__ import annotations

from collections.abc import Iterable

from infra.store import Store
from tasks.checkpoints import Checkpoints
from tasks.snapshots import Snapshots
from tasks.study.dynamics import TRACES
from tasks.study.model import TRAINED, Model
from tasks.study.spec import Study
from tasks.study.survey import CellState
from tasks.study.under_way import forget_steps


def remove_leftovers(store: Store, study: Study, model: Model, status: str) -> None:
    """Remove checkpoints, snapshots and temporary files of a model that has ended.

    Where that fails, the file with the model's steps stays, and the next run tries again.
    """
    try:
        Checkpoints(store, model.id).remove()
        Snapshots(store, study, model).remove()
        if status != TRAINED:
            store.remove("models", model.id, TRACES)
        store.remove_temporary("models", model.id)
    except OSError:
        return
    forget_steps(store, model.id)


def remove_what_stayed(store: Store, study: Study, states: Iterable[CellState]) -> None:
    """The same for models that ended in an earlier run, whose files could not be removed then."""
    for state in states:
        for model in state.cell.models:
            if model.id in state.under_way and (status := state.status.get(model.id)):
                remove_leftovers(store, study, model, status)
