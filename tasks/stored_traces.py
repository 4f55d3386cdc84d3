"""The traces of a trained model in its store, as the training writes them."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infra.store import Store
from tasks.study.dynamics import TRACES
from tasks.study.model import Model

NAMES = ("traces", "steps", "layers", "factors", "factor_names")


@dataclass(frozen=True)
class StoredTraces:
    """Activations of one model at snapshots of its training, for the samples of its data set."""

    traces: NDArray[Any]  # (snapshots, samples, units)
    steps: NDArray[np.int64]  # (snapshots,)
    layers: NDArray[np.str_]  # (units,): the layer of each
    factors: NDArray[np.int64]  # (samples, factors)
    factor_names: NDArray[np.str_]  # (factors,)


def read_traces(store: Store, model: Model) -> StoredTraces | None:
    """None if they are missing, damaged or not numbers."""
    try:
        content = store.read_bytes("models", model.id, TRACES)
    except FileNotFoundError:
        return None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            found = StoredTraces(*(file[name] for name in NAMES))
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile):
        return None
    if found.traces.ndim != 3 or found.factors.ndim != 2:
        return None
    shape = (len(found.steps), len(found.factors), len(found.layers))
    if found.traces.shape != shape or found.factors.shape[1] != len(found.factor_names):
        return None
    return found if np.isfinite(found.traces).all() else None
