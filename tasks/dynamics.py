"""The training dynamics of a cell: its models' traces are read one by one, and compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from infra.errors import WrongInput
from infra.runtime import free_memory_bytes
from infra.store import Store, table_of
from metrics.base.arrays import BadArray
from metrics.dynamics import (
    Dynamics,
    Settings,
    check_shape,
    chosen_snapshots,
    dynamics,
    memory_bytes,
)
from metrics.dynamics.kernels import Array
from tasks.compare import key_columns
from tasks.dynamics_memory import first_shape
from tasks.streams import stream
from tasks.study.dynamics import compared_from, with_traces
from tasks.study.dynamics_settings import settings_text
from tasks.study.model import Model
from tasks.study.spec import Study
from tasks.traces import ModelTraces, read_traces
from tasks.words import size_text

Progress = Callable[[float], None]
IN_SPEC = "dynamics."  # before the name of a setting, in messages


@dataclass(frozen=True)
class CellDynamics:
    """What came of a cell: `result` is None if fewer than two models have readable traces."""

    models: list[Model]  # that were compared
    unreadable: list[Model]
    traces: ModelTraces | None  # of the first model
    result: Dynamics | None
    seconds: float


def named_stream(purpose: str) -> np.random.Generator:
    """The same for all cells and files, so that nothing depends on which others there are."""
    return stream("dynamics", purpose)


def score_cell(store: Store, study: Study, cell: str, models: Sequence[Model]) -> list[str]:
    """Write the dynamics of these trained models of a cell.

    Returns the ids of those without readable traces; the others are compared, if there are two.
    """
    compared = compare_cell(store, study.dynamics, cell, models)
    if compared.result is not None:
        made_from = compared_from([model.id for model in compared.models], study.dynamics)
        store.write_part("dynamics", cell, _rows(compared, study.dynamics), made_from)
    return [model.id for model in compared.unreadable]


def compare_cell(
    store: Store,
    settings: Settings,
    cell: str,
    models: Sequence[Model],
    progress: Progress = lambda fraction: None,
    prefix: str = IN_SPEC,
) -> CellDynamics:
    """Compare these trained models of a cell, of which one at a time is in memory."""
    began = time.monotonic()
    first: ModelTraces | None = None
    compared: list[Model] = []
    present = with_traces(store, sorted(models, key=lambda model: model.seed))
    _check(store, settings, cell, present, prefix)

    def traces() -> Iterator[Array]:
        nonlocal first
        for model in present:
            if (found := read_traces(store, model)) is None:
                continue
            if (activations := _activations(found, settings, prefix)) is None:
                continue
            first = first or found
            _check_same(cell, model, found, first)
            compared.append(model)
            yield activations

    result = None
    try:
        result = dynamics(traces(), settings, named_stream, progress)
    except BadArray as error:
        if len(compared) > 1:
            raise _wrong_input(error, cell, settings, prefix) from None
    ids = {model.id for model in compared}
    unreadable = [model for model in models if model.id not in ids]
    seconds = time.monotonic() - began
    return CellDynamics(compared, unreadable, first, result, seconds)


def _check(
    store: Store, settings: Settings, cell: str, models: Sequence[Model], prefix: str
) -> None:
    """Raise if the cell cannot be compared by these settings, or not in the memory of this machine,
    before all of the traces are read."""
    shape = first_shape(store, models)
    if shape is None or len(models) < 2:
        return
    try:
        check_shape(*shape[:2], settings)
    except BadArray as error:
        raise _wrong_input(error, cell, settings, prefix) from None
    needed, free = memory_bytes(len(models), shape, settings), free_memory_bytes()
    if needed > free:
        found = f"{cell}, which takes {size_text(needed)} of memory"
        accepted = f"what fits into the {size_text(free)} that are free"
        raise WrongInput("dynamics", found, f"{accepted}; --set {_option(prefix)}=... takes fewer")


def _option(prefix: str) -> str:
    return f"{prefix if prefix == IN_SPEC else ''}snapshots"


def _wrong_input(error: BadArray, cell: str, settings: Settings, prefix: str) -> WrongInput:
    if error.field in settings.__dataclass_fields__:
        found = f"{getattr(settings, error.field)}, for {cell}"
        return WrongInput(f"{prefix}{error.field}", found, error.accepted)
    return WrongInput(f"{cell}, {error.field}", error.found, error.accepted)


def _check_same(cell: str, model: Model, found: ModelTraces, first: ModelTraces) -> None:
    """Raise unless the traces are of the same steps and samples as the first model's."""
    for name in ("steps", "factors"):
        ours, theirs = getattr(found, name), getattr(first, name)
        if not np.array_equal(ours, theirs):
            what = "samples" if name == "factors" else name
            accepted = f"the same {what} for all models of a cell"
            raise WrongInput(f"{cell}, traces", f"other {what} of {model.id}", accepted)


def _activations(traces: ModelTraces, settings: Settings, prefix: str) -> Array | None:
    """Of the layers that the settings name; None if they were lost or are not finite, as where
    half precision is too short for them."""
    try:
        activations = traces.array(settings.layers)
    except FileNotFoundError:
        return None
    except WrongInput as error:
        raise WrongInput(f"{prefix}{error.field}", error.found, error.accepted) from None
    return activations if np.isfinite(activations).all() else None


def _rows(compared: CellDynamics, settings: Settings) -> pa.Table:
    """A row per model, in which the cell's facts are repeated."""
    result, traces = compared.result, compared.traces
    assert result is not None and traces is not None
    ids, count = [model.id for model in compared.models], len(compared.models)
    others = [[place for place in range(count) if place != row] for row in range(count)]
    low, high = result.interval or (None, None)
    steps = traces.steps[chosen_snapshots(len(traces.steps), settings)]
    embedding = result.embeddings.astype(np.float32).reshape(count, -1)
    factors = np.asarray(traces.factors, np.int32).ravel()
    return table_of(
        "dynamics",
        {
            **key_columns(compared.models),
            "dynamics": result.score,
            "low": low,
            "high": high,
            "models": count,
            "partners": [[ids[place] for place in places] for places in others],
            "mmd2": [result.pairs[row, places] for row, places in enumerate(others)],
            "steps": [steps.astype(np.int32)] * count,
            "samples": len(traces.factors),
            "factor_names": [list(map(str, traces.factor_names))] * count,
            "factors": [factors] * count,
            "dimensions": settings.dimensions,
            "embedding": list(embedding),
            "settings": settings_text(settings),
            "bandwidth": result.bandwidth,
            "residual": result.residual,
            "seconds": compared.seconds,
        },
    )
