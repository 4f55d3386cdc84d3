"""The traces of a trained model in its store, as the training writes them.

Replaced by tasks/traces.py, of which this is what a comparison needs.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infra.errors import WrongInput
from infra.store import Store
from tasks.study.dynamics import TRACES
from tasks.study.model import Model

FACTS = ("steps", "layers", "factors", "factor_names")


@dataclass(frozen=True, eq=False)
class ModelTraces:
    """What the traces of a model are of; `array` reads them."""

    steps: NDArray[np.int64]  # (snapshots,)
    layers: NDArray[np.str_]  # (units,): the layer of each
    factors: NDArray[np.int64]  # (samples, factors)
    factor_names: NDArray[np.str_]  # (factors,)
    store: Store
    model: Model

    def array(self, layers: Sequence[str] | None = None) -> NDArray[np.floating[Any]]:
        """The activations (snapshots, samples, units) of these layers, by default of all."""
        if absent := [name for name in layers or () if name not in self.layers]:
            recorded = ", ".join(dict.fromkeys(self.layers.tolist()))
            raise WrongInput("layers", f"{', '.join(absent)}, not in the traces", recorded)
        found = _read(self.store, self.model, ("traces",))
        if found is None:
            raise FileNotFoundError(f"the traces of {self.model.id} were removed or damaged")
        activations: NDArray[np.floating[Any]] = found["traces"]
        return activations if layers is None else activations[..., np.isin(self.layers, layers)]


def read_traces(store: Store, model: Model) -> ModelTraces | None:
    """The traces of a model; None if it has none, or if they are damaged."""
    found = _read(store, model, (*FACTS, "traces"))
    if found is None:
        return None
    shape = found.pop("traces").shape
    traces = ModelTraces(**found, store=store, model=model)
    expected = (len(traces.steps), len(traces.factors), len(traces.layers))
    return traces if shape == expected else None


def _read(store: Store, model: Model, names: Sequence[str]) -> dict[str, Any] | None:
    place = ("models", model.id, TRACES)
    if not store.exists(*place):
        return None
    content = io.BytesIO(store.read_bytes(*place))
    try:
        with np.load(content, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}
    except MemoryError:
        raise
    except Exception:  # whatever the readers say of bytes that are no such file
        return None
