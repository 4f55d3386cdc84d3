"""What of a study is done and what is not, read from its store alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from infra.store import Store
from infra.tables import AXES
from tasks.study.model import STATUSES, TRAINED, Cell, Model
from tasks.study.scores import is_outdated
from tasks.study.spec import Study
from tasks.study.under_way import steps_under_way
from tasks.words import plural


@dataclass
class CellState:
    """The state of one cell's models."""

    cell: Cell
    status: dict[str, str] = field(default_factory=dict)  # by model id, of models that ended
    scored: set[str] = field(default_factory=set)  # ids of models with every metric
    with_scores: set[str] = field(default_factory=set)  # ids of models with at least one metric
    reasons: dict[str, str] = field(default_factory=dict)  # of those that are not trained
    under_way: dict[str, int] = field(default_factory=dict)  # steps done, of models in training
    instructions: dict[str, str] = field(default_factory=dict)  # sets, where the rows name them

    @property
    def unfinished(self) -> list[Model]:
        return [model for model in self.cell.models if model.id not in self.status]

    @property
    def unscored(self) -> list[Model]:
        return [model for model in self.trained if model.id not in self.scored]

    @property
    def trained(self) -> list[Model]:
        return [model for model in self.cell.models if self.status.get(model.id) == TRAINED]

    @property
    def steps(self) -> int:
        """Optimiser steps of all its models."""
        return sum(model.steps for model in self.cell.models)

    @property
    def steps_left(self) -> int:
        """A model that ended has none left, whatever its status."""
        return sum(
            max(0, model.steps - self.under_way.get(model.id, 0)) for model in self.unfinished
        )

    @property
    def work_left(self) -> int:
        """The same, each counted as the steps of β-VAE that take as long."""
        return self.steps_left * self.cell.models[0].step_cost

    def count(self, status: str) -> int:
        return list(self.status.values()).count(status)

    def as_json(self) -> dict[str, Any]:
        first = self.cell.models[0]
        return {
            "cell": self.cell.name,
            "data": first.data,
            "source": first.source,
            "method": first.method,
            "strength": first.strength,
            **{axis: getattr(first, axis) for axis in AXES},
            "models": len(self.cell.models),
            **{status: self.count(status) for status in STATUSES},
            "left": len(self.unfinished),
            "scored": self.count(TRAINED) - len(self.unscored),
            "steps": self.steps,
            "steps_left": self.steps_left,
        }


def survey(study: Study, store: Store, cells: Sequence[Cell] | None = None) -> list[CellState]:
    """Every cell's state. Rows in the tables are the only record of progress.

    `cells` are the study's, where they were expanded before: 12,600 ids take a while.
    """
    rows = store.read("models", ["model_id", "status", "reason", "instructions"])
    ended = {row["model_id"]: row for row in rows.to_pylist()}
    wanted = set(study.metrics.names)
    metrics_of: dict[str, set[str]] = {}
    if ended and wanted:
        scores = store.read("scores", ["model_id", "metric", "protocol"])
        for model_id, metric, protocol in _distinct(scores):
            if not is_outdated(metric, protocol):
                metrics_of.setdefault(model_id, set()).add(metric)
    under_way = steps_under_way(store)
    states = []
    for cell in study.cells() if cells is None else cells:
        rows_of = {model.id: ended[model.id] for model in cell.models if model.id in ended}
        states.append(
            CellState(
                cell,
                status={i: row["status"] for i, row in rows_of.items()},
                scored={i for i in rows_of if wanted <= metrics_of.get(i, set())},
                with_scores=rows_of.keys() & metrics_of.keys(),
                reasons={i: row["reason"] for i, row in rows_of.items() if row["reason"]},
                instructions={
                    i: row["instructions"] for i, row in rows_of.items() if row["instructions"]
                },
                under_way={m.id: under_way[m.id] for m in cell.models if m.id in under_way},
            )
        )
    return states


def instruction_sets(states: Sequence[CellState]) -> Counter[str]:
    """How many models were trained with each, of those whose rows say it."""
    return Counter(name for state in states for name in state.instructions.values())


def several_instructions(states: Sequence[CellState]) -> str:
    """What to say where models of a study were trained with different instruction sets."""
    count = instruction_sets(states)
    if len(count) < 2:
        return ""
    sets = "; ".join(f"{name} ({plural(n, 'model')})" for name, n in count.most_common())
    return (
        f"The models were trained with different instruction sets: {sets}. These round "
        "differently, so the same model has other last digits with another set. Each model has "
        "one set: the column instructions of the table models names it."
    )


def _distinct(rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Each row once, of millions.

    Arrow's own grouping, and its arrays' to_numpy, load pandas, which takes a second.
    """
    encoded = [
        pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
        for column in rows.columns
    ]
    if not rows.num_rows:
        return
    sizes = [len(column.dictionary) for column in encoded]
    places = np.ravel_multi_index([_places(column.indices) for column in encoded], sizes)
    distinct = np.unravel_index(np.unique(places), sizes)
    values = [column.dictionary.to_pylist() for column in encoded]
    yield from zip(
        *([of[p] for p in place.tolist()] for of, place in zip(values, distinct, strict=True)),
        strict=True,
    )


def _places(indices: pa.Array) -> NDArray[np.int32]:
    whole = np.frombuffer(indices.buffers()[1], dtype=np.int32)
    return whole[indices.offset : indices.offset + len(indices)]


def totals(states: Sequence[CellState]) -> dict[str, int]:
    rows = [state.as_json() for state in states]
    names = ("models", *STATUSES, "left", "scored", "steps", "steps_left")
    return {name: sum(row[name] for row in rows) for name in names}
