"""The traces of a trained model: activations of its decoder at snapshots of its training.

They are in `models/ID/traces.npz`, uncompressed, with the arrays that `TraceFacts` and `traces`
name. Equal traces have equal bytes.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

import models
from data.base.protocol import Factors
from infra.errors import WrongInput
from infra.store import Store
from tasks.study.dynamics import TRACES
from tasks.study.model import Model
from tasks.study.traces import Traces

ACTIVATIONS = "traces"  # the array's name in the file
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # of all files in the archive: no time in the bytes


@dataclass(frozen=True, eq=False)
class TraceFacts:
    """What the traces of a model are of."""

    steps: NDArray[np.int64]  # (snapshots,): optimiser steps done
    layers: NDArray[np.str_]  # (units,): the layer of each
    factors: Factors  # (samples, factors)
    factor_names: NDArray[np.str_]  # (factors,)
    dtype: np.dtype[Any]

    @classmethod
    def of(
        cls, traces: Traces, steps: Sequence[int], names: Sequence[str], factors: Factors
    ) -> TraceFacts:
        units = [models.DECODER_LAYERS[layer] for layer in traces.layers]
        return cls(
            np.array(steps, np.int64),
            np.repeat(np.array(traces.layers), units),
            factors.astype(np.int64),
            np.array(names, np.str_),
            traces.dtype,
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """(snapshots, samples, units)."""
        return len(self.steps), len(self.factors), len(self.layers)


ARRAYS = ("steps", "layers", "factors", "factor_names")


@dataclass(frozen=True, eq=False)
class ModelTraces(TraceFacts):
    """The traces of one model, which stay in the store until `array` reads them."""

    store: Store
    model: Model

    def array(self, layers: Sequence[str] | None = None) -> NDArray[np.floating[Any]]:
        """The activations (snapshots, samples, units) of these layers, by default of all."""
        if absent := [name for name in layers or () if name not in self.layers]:
            recorded = ", ".join(dict.fromkeys(self.layers.tolist()))
            raise WrongInput("layers", f"{', '.join(absent)}, not in the traces", recorded)
        found = _read(self.store, self.model, (ACTIVATIONS,))
        if found is None:
            raise FileNotFoundError(f"the traces of {self.model.id} were removed or damaged")
        activations: NDArray[np.floating[Any]] = found[ACTIVATIONS]
        return activations if layers is None else activations[..., np.isin(self.layers, layers)]


def read_traces(store: Store, model: Model) -> ModelTraces | None:
    """The traces of a model; None if it has none, or if they are damaged.

    The whole file is read, to know; only what the traces are of stays in memory.
    """
    found = _read(store, model, (*ARRAYS, ACTIVATIONS))
    if found is None:
        return None
    activations = found.pop(ACTIVATIONS)
    traces = ModelTraces(**found, dtype=activations.dtype, store=store, model=model)
    return traces if activations.shape == traces.shape else None


def traces_file(facts: TraceFacts, snapshots: Iterable[bytes]) -> bytes:
    """The content of the file; `snapshots` are the bytes of (samples, units), step after step."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        with archive.open(_member(ACTIVATIONS), "w", force_zip64=True) as file:
            header = {"descr": facts.dtype.str, "fortran_order": False, "shape": facts.shape}
            npy_format.write_array_header_1_0(file, header)
            for snapshot in snapshots:
                file.write(snapshot)
        for name in ARRAYS:
            with archive.open(_member(name), "w", force_zip64=True) as file:
                npy_format.write_array(file, getattr(facts, name), version=(1, 0))
    return content.getvalue()


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(f"{name}.npy", FIRST_DAY)


def _read(store: Store, model: Model, names: Sequence[str]) -> dict[str, Any] | None:
    """Arrays of a model's file; None if it does not exist or is damaged."""
    place = ("models", model.id, TRACES)
    if not store.exists(*place):
        return None
    content = io.BytesIO(store.read_bytes(*place))
    try:
        with zipfile.ZipFile(content) as archive:
            if archive.testzip() is not None:  # before a damaged header claims any size
                return None
        content.seek(0)
        with np.load(content, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}
    except MemoryError:
        raise
    except Exception:  # whatever the readers say of bytes that are no such file
        return None
