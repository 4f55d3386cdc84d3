"""Snapshots of a model in training: a file each, until all of them become its traces."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from data.base.protocol import DataSet, Factors, Images
from infra.store import Store
from tasks.data_sets import load
from tasks.streams import stream
from tasks.study.data_choice import DataChoice
from tasks.study.dynamics import TRACES
from tasks.study.model import Model
from tasks.study.spec import Study
from tasks.study.traces import Traces, grid, snapshot_steps
from tasks.traces import TraceFacts, traces_file

PREFIX = "snapshot-"
DIGEST = 32  # bytes of SHA-256 in front of the content


@lru_cache(maxsize=1)
def trace_samples(choice: DataChoice, traces: Traces) -> tuple[Factors, Images]:
    """The ordered samples that all models of a data set are traced on."""
    data_set, draws = load(choice), stream("traces", choice.name)
    if traces.vary:
        factors = grid(traces, data_set.factor_names, data_set.factor_sizes)
    else:
        factors = data_set.sample(traces.samples, draws)
    return factors, data_set.images(factors, draws)


class Snapshots:
    """The snapshots of one model; none if its study has no traces."""

    def __init__(self, store: Store, study: Study, model: Model) -> None:
        self.store, self.folder = store, ("models", model.id)
        self.traces = study.traces
        steps = model.recipe.steps
        self.steps = snapshot_steps(self.traces, steps) if self.traces else ()

    def save(self, step: int, activations: NDArray[np.float32]) -> None:
        """Write the activations (samples, units) after so many steps, which must be one of ours."""
        assert self.traces
        most = np.finfo(self.traces.dtype).max  # float16 ends at 65,504; nan stays nan
        content = np.clip(activations, -most, most).astype(self.traces.dtype).tobytes()
        sealed = self._digest(step, content) + content
        self.store.write_bytes(sealed, *self.folder, _name(step), lasting=True)

    def missing(self, until: int) -> int | None:
        """The first step up to this one whose snapshot is missing or damaged."""
        steps = (step for step in self.steps if step <= until)
        return next((step for step in steps if self._whole(step) is None), None)

    def put_together(self, data_set: DataSet, factors: Factors) -> None:
        """Write the traces, which consist of all snapshots."""
        assert self.traces
        facts = TraceFacts.of(self.traces, self.steps, data_set.factor_names, factors)
        content = traces_file(facts, self._contents())
        self.store.write_bytes(content, *self.folder, TRACES, lasting=True)

    def remove(self) -> None:
        """Also those that another `traces` section of the spec has left."""
        for name in self.store.names(*self.folder):
            if name.startswith(PREFIX):
                self.store.remove(*self.folder, name)

    def _contents(self) -> Iterator[bytes]:
        for step in self.steps:
            if (content := self._whole(step)) is None:
                raise RuntimeError(f"the snapshot of step {step} is missing or damaged")
            yield content

    def _whole(self, step: int) -> bytes | None:
        if not self.store.exists(*self.folder, _name(step)):
            return None
        sealed = self.store.read_bytes(*self.folder, _name(step))
        content = sealed[DIGEST:]
        return content if self._digest(step, content) == sealed[:DIGEST] else None

    def _digest(self, step: int, content: bytes) -> bytes:
        """Of the content and of what it is: a snapshot of other layers or samples is not ours."""
        assert self.traces
        what = self.traces.model_dump(mode="json", exclude={"count", "every"})
        of_both = hashlib.sha256(json.dumps([step, what], sort_keys=True).encode())
        of_both.update(content)
        return of_both.digest()


def _name(step: int) -> str:
    return f"{PREFIX}{step}"
