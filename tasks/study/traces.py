"""The section `traces` of a spec: what is recorded of each model while it is trained."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

import models
from data.base.protocol import Factors
from infra.errors import WrongInput, one_of
from models.recipe import CHUNK, Count
from tasks.study.settings import Settings, distinct

SNAPSHOTS = 50  # unless the spec says how many, or how often
MOST_SAMPLES = 65_536
MOST_BYTES = 4 * 10**9  # of one model: its traces are in memory once, when they are put together


class Traces(Settings):
    """Activations of the decoder's layers for the same samples, at snapshots of the training."""

    count: Count | None = None  # of snapshots, evenly spaced over the training
    every: Count | None = None  # or a snapshot each so many optimiser steps
    samples: Annotated[int, Field(ge=2, le=MOST_SAMPLES, strict=True)] = 512
    layers: tuple[str, ...] = ("dense1", "dense2")
    precision: Literal["float16", "float32"] = "float16"
    vary: tuple[str, ...] = ()  # factors: the samples are a grid of them, not a random draw

    @model_validator(mode="before")
    @classmethod
    def _count_or_every(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        count, every = raw.get("count"), raw.get("every")
        if count is not None and every is not None:
            raise WrongInput("traces", f"count {count} and every {every}", "one of them")
        return {**raw, "count": SNAPSHOTS} if count is None and every is None else raw

    @field_validator("layers")
    @classmethod
    def _layers_exist(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in models.DECODER_LAYERS:
                raise WrongInput("traces.layers", name, one_of(models.DECODER_LAYERS, name))
        return distinct("traces.layers", names)

    @field_validator("vary")
    @classmethod
    def _factors_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return distinct("traces.vary", names, empty=True)

    @model_validator(mode="after")
    def _grid_has_two_values_of_each(self) -> Traces:
        if self.vary and self.samples < (least := 2 ** len(self.vary)):
            accepted = f"at least {least}, two values of each factor in vary"
            raise WrongInput("traces.samples", self.samples, accepted)
        return self

    @property
    def units(self) -> int:
        return sum(models.DECODER_LAYERS[name] for name in self.layers)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype({"float16": "<f2", "float32": "<f4"}[self.precision])

    def snapshot_bytes(self, samples: int) -> int:
        return samples * self.units * self.dtype.itemsize


def snapshot_steps(traces: Traces, steps: int) -> tuple[int, ...]:
    """The numbers of optimiser steps after which a snapshot is taken; the last is the training's.

    Each is at the end of a chunk of steps: that in which the wanted step falls. So more than one in
    a chunk are the same, and are not listed.
    """
    if traces.every is not None:
        every = max(traces.every, CHUNK)
        wanted = [*range(every, steps, every), steps]
    else:
        count = min(traces.count or SNAPSHOTS, -(-steps // CHUNK))
        wanted = [-(-steps * place // count) for place in range(1, count + 1)]
    return tuple(sorted({min(-(-step // CHUNK) * CHUNK, steps) for step in wanted}))


def check_traces(traces: Traces, steps: int) -> None:
    """Raise if the traces of one model of so many steps are larger than a worker can hold."""
    chunks = -(-steps // CHUNK)
    wanted = -(-steps // traces.every) if traces.every else traces.count or SNAPSHOTS
    # The list may be long. It has as many, or one less where the last two fall in one chunk.
    snapshots = min(wanted, chunks)
    if (snapshots - 1) * traces.snapshot_bytes(traces.samples) <= MOST_BYTES:
        snapshots = len(snapshot_steps(traces, steps))
    if (size := snapshots * traces.snapshot_bytes(traces.samples)) > MOST_BYTES:
        found = f"{snapshots:,} snapshots × {traces.samples:,} samples × {traces.units:,} units"
        accepted = f"at most {MOST_BYTES / 1e9:g} GB of each model, not {size / 1e9:.1f}"
        raise WrongInput("traces", found, accepted)


def sample_count(traces: Traces, factor_names: Sequence[str], factor_sizes: Sequence[int]) -> int:
    """On a data set with these factors."""
    return len(grid(traces, factor_names, factor_sizes)) if traces.vary else traces.samples


def traces_bytes(
    traces: Traces, steps: int, factor_names: Sequence[str], factor_sizes: Sequence[int]
) -> int:
    """What the activations of one model take, on a data set with these factors."""
    samples = sample_count(traces, factor_names, factor_sizes)
    return len(snapshot_steps(traces, steps)) * traces.snapshot_bytes(samples)


def check_vary(traces: Traces, data: str, factor_names: Sequence[str]) -> None:
    """Raise unless the data set has the factors that the samples vary in."""
    for name in traces.vary:
        if name not in factor_names:
            accepted = one_of(factor_names, name) if factor_names else "[], as it has no factors"
            raise WrongInput("traces.vary", f"{name}, no factor of {data}", accepted)


def grid(traces: Traces, names: Sequence[str], sizes: Sequence[int]) -> Factors:
    """Every combination of evenly spaced values of some factors, the last one fastest.

    All other factors have their middle value.
    """
    places = [list(names).index(name) for name in traces.vary]
    side = _root(traces.samples, len(places))
    values = [_evenly_spaced(sizes[place], side) for place in places]
    points = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, len(places))
    factors = np.tile(np.array(sizes, np.int64) // 2, (len(points), 1))
    factors[:, places] = points
    return factors


def _root(number: int, degree: int) -> int:
    """The largest integer of which this power is at most the number."""
    root = round(math.pow(number, 1 / degree))
    return root if math.pow(root, degree) <= number else root - 1  # it was rounded up


def _evenly_spaced(size: int, count: int) -> Factors:
    """So many of a factor's values, the first and the last among them; all if there are fewer."""
    count = min(count, size)
    return np.linspace(0, size - 1, count).round().astype(np.int64)
