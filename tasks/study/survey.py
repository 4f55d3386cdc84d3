"""What of a study is done and what is left, read from its store alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from infra.store import Store
from tasks.study.model import Cell, Model
from tasks.study.spec import Study


@dataclass
class CellState:
    """The state of one cell's models."""

    cell: Cell
    status: dict[str, str] = field(default_factory=dict)  # model id -> trained, diverged, failed
    scored: set[str] = field(default_factory=set)  # ids of models with every metric
    reasons: dict[str, str] = field(default_factory=dict)  # of those that are not trained

    @property
    def left(self) -> list[Model]:
        return [model for model in self.cell.models if model.id not in self.status]

    @property
    def unscored(self) -> list[Model]:
        return [
            model
            for model in self.cell.models
            if self.status.get(model.id) == "trained" and model.id not in self.scored
        ]

    @property
    def trained(self) -> list[Model]:
        return [model for model in self.cell.models if self.status.get(model.id) == "trained"]

    def count(self, status: str) -> int:
        return sum(1 for found in self.status.values() if found == status)

    def as_json(self) -> dict[str, Any]:
        one = self.cell.models[0]
        return {
            "cell": self.cell.name,
            "data": one.data,
            "source": one.source,
            "method": one.method,
            "strength": one.strength,
            "models": len(self.cell.models),
            "trained": self.count("trained"),
            "diverged": self.count("diverged"),
            "failed": self.count("failed"),
            "left": len(self.left),
            "scored": self.count("trained") - len(self.unscored),
        }


def survey(study: Study, store: Store) -> list[CellState]:
    """Every cell's state. Rows in the tables are the only record of progress."""
    rows = store.read("models", ["model_id", "status", "reason"])
    ended = {row["model_id"]: row for row in rows.to_pylist()}
    wanted = set(study.metrics.names)
    have: dict[str, set[str]] = {}
    if ended and wanted:
        scores = store.read("scores", ["model_id", "metric"])
        columns = (scores[name].to_pylist() for name in scores.column_names)
        for model_id, metric in set(zip(*columns, strict=True)):
            have.setdefault(model_id, set()).add(metric)
    found = []
    for cell in study.cells():
        known = {model.id: ended[model.id] for model in cell.models if model.id in ended}
        scored = {model_id for model_id in known if wanted <= have.get(model_id, set())}
        status = {model_id: row["status"] for model_id, row in known.items()}
        reasons = {model_id: row["reason"] for model_id, row in known.items() if row["reason"]}
        found.append(CellState(cell, status, scored, reasons))
    return found


def totals(found: Sequence[CellState]) -> dict[str, int]:
    rows = [one.as_json() for one in found]
    names = ("models", "trained", "diverged", "failed", "left", "scored")
    return {name: sum(row[name] for row in rows) for name in names}
