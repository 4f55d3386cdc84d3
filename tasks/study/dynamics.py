"""Which cells of a study have their training dynamics compared in the store."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pyarrow as pa

from infra.store import Store, made_from
from metrics.dynamics.settings import Settings
from tasks.study.dynamics_settings import settings_text
from tasks.study.model import Model
from tasks.study.spec import Study
from tasks.study.survey import CellState

TRACES = "traces.npz"  # in the folder of a model


def compared_from(model_ids: Sequence[str], settings: Settings) -> str:
    """What a cell's part of `dynamics` depends on: which models were compared, and how."""
    text = settings_text(settings) + " ".join(sorted(model_ids))
    return hashlib.sha256(text.encode()).hexdigest()


def with_traces(store: Store, models: Sequence[Model]) -> list[Model]:
    """Those that have a file of traces, which may be damaged."""
    return [model for model in models if store.exists("models", model.id, TRACES)]


def current_part(
    store: Store,
    settings: Settings,
    cell: str,
    models: Sequence[Model],
    columns: Sequence[str] = ("model_id",),
) -> pa.Table | None:
    """These columns of a cell's part, if it was made from just these trained models, as far as they
    have traces. Opens one file if all have; looks at each model's folder if not."""
    part = store.narrow_part("dynamics", cell, columns)
    if part is None:
        return None
    stored = made_from(part)
    if stored == compared_from([model.id for model in models], settings):
        return part
    traced = [model.id for model in with_traces(store, models)]
    return part if len(traced) > 1 and stored == compared_from(traced, settings) else None


def is_compared(store: Store, settings: Settings, cell: str, models: Sequence[Model]) -> bool:
    """Whether nothing is left to compare of a cell."""
    if len(models) < 2 or current_part(store, settings, cell, models) is not None:
        return True
    return len(with_traces(store, models)) < 2


def cells_without_traces(study: Study, store: Store, states: Sequence[CellState]) -> list[str]:
    """The cells that have no score, as fewer than two of their models have traces."""
    if study.traces is None:
        return []
    stored = set(store.parts("dynamics"))
    return [
        state.cell.name
        for state in states
        if state.cell.name not in stored and len(with_traces(store, state.trained)) < 2
    ]


def all_compared(study: Study, store: Store, states: Sequence[CellState]) -> bool:
    """Whether the dynamics of every cell are compared; always of a study without traces."""
    return study.traces is None or all(
        is_compared(store, study.dynamics, state.cell.name, state.trained) for state in states
    )
