"""What of a study is done and what is not, read from its store alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
    scored: set[str] = set()
    with_scores: set[str] = set()
    if ended and wanted:
        named = ["model_id", "metric"]
        rows = store.read("scores", [*named, "protocol"], encoded=named)
        scored, with_scores = _with_metrics(rows, wanted)
    under_way = steps_under_way(store)
    states = []
    for cell in study.cells() if cells is None else cells:
        rows_of = {model.id: ended[model.id] for model in cell.models if model.id in ended}
        states.append(
            CellState(
                cell,
                status={i: row["status"] for i, row in rows_of.items()},
                scored=rows_of.keys() & scored if wanted else set(rows_of),
                with_scores=rows_of.keys() & with_scores,
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


def _with_metrics(rows: pa.Table, wanted: set[str]) -> tuple[set[str], set[str]]:
    """Ids of models with all of these metrics, and of those with at least one of any name.

    Millions of rows, which only compiled loops see. Arrow's own grouping, and its arrays' to_numpy,
    load pandas, which takes a second.
    """
    if not rows.num_rows:
        return set(), set()
    rows = rows.unify_dictionaries().combine_chunks()
    models, metrics = rows["model_id"].chunk(0), rows["metric"].chunk(0)
    protocols = pc.dictionary_encode(rows["protocol"].chunk(0))
    names = metrics.dictionary.to_pylist()
    is_current = np.array(
        [[not is_outdated(n, p) for p in protocols.dictionary.to_pylist()] for n in names]
    )
    of_metric = _places(metrics)
    current = is_current[of_metric, _places(protocols)]
    has = np.zeros((len(models.dictionary), len(names)), dtype=bool)
    has[_places(models)[current], of_metric[current]] = True
    complete = has[:, [place for place, name in enumerate(names) if name in wanted]].all(axis=1)
    ids = np.array(models.dictionary.to_pylist())
    with_all = set(ids[complete].tolist()) if wanted <= set(names) else set()
    return with_all, set(ids[has.any(axis=1)].tolist())


def _places(column: pa.DictionaryArray) -> NDArray[np.int32]:
    """The place in the dictionary of each row's value."""
    indices = column.indices
    whole = np.frombuffer(indices.buffers()[1], dtype=np.int32)
    return whole[indices.offset : indices.offset + len(indices)]


def totals(states: Sequence[CellState]) -> dict[str, int]:
    rows = [state.as_json() for state in states]
    names = ("models", *STATUSES, "left", "scored", "steps", "steps_left")
    return {name: sum(row[name] for row in rows) for name in names}
