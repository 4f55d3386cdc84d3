"""The ranking of a data set's cells by their training dynamics, from a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from infra.errors import WrongInput
from infra.store import Store
from infra.tables import AXES
from metrics.dynamics import Settings
from metrics.dynamics.embedding import TOLERANCE
from tasks.dynamics import compare_cell
from tasks.study.dynamics import current_part
from tasks.study.model import Model
from tasks.study.survey import CellState

Progress = Callable[[float], None]
STORED = ("model_id", "dynamics", "low", "high", "models", "residual")
SETTING = "--set "  # before the name of a setting, in messages


@dataclass(frozen=True)
class RankedCell:
    """The score of a cell, of which `model` is one of the models."""

    model: Model
    dynamics: float
    low: float | None  # None with two models
    high: float | None
    models: int

    def as_json(self) -> dict[str, Any]:
        return {
            "group": self.model.cell,
            "method": self.model.method,
            **{axis: getattr(self.model, axis) for axis in AXES},
            "strength": self.model.strength,
            "dynamics": self.dynamics,
            "low": self.low,
            "high": self.high,
            "models": self.models,
        }


@dataclass(frozen=True)
class CellsRanking:
    """The cells of a data set, the most stable first."""

    data: str
    cells: list[RankedCell]
    without_score: list[str]  # names of cells
    lost: list[str]  # ids of trained models without readable traces
    missing: int  # models that are not compared
    doubts: list[str]  # why a score is missing or may mean little

    def as_json(self) -> dict[str, Any]:
        return {
            "data": self.data,
            "groups": [cell.as_json() for cell in self.cells],
            "without_score": self.without_score,
            "missing": self.missing,
            "lost": self.lost,
        }


def rank_cells(
    store: Store,
    settings: Settings,
    data: str,
    states: Sequence[CellState],
    progress: Progress = lambda fraction: None,
) -> CellsRanking:
    """Rank the cells of a data set as they are now.

    What the store has of the same models and settings is read; other cells are compared in this
    process, and not written: the run does that when a cell is trained.
    """
    cells, lost, doubts = [], [], []
    for number, state in enumerate(states):

        def move(fraction: float, place: int = number) -> None:
            progress((place + fraction) / len(states))

        try:
            scored, without_traces, residual = _scored(store, settings, state, move)
        except WrongInput as error:
            if error.field.startswith(SETTING):
                raise
            doubts.append(f"{state.cell.name} has no score: {error}")
            continue
        lost += without_traces
        if scored is None:
            continue
        cells.append(scored)
        if residual > TOLERANCE:
            doubts.append(not_converged(state.cell.name, residual))
    names = {cell.model.cell for cell in cells}
    return CellsRanking(
        data=data,
        cells=sorted(cells, key=lambda cell: (cell.dynamics, cell.model.cell)),
        without_score=[state.cell.name for state in states if state.cell.name not in names],
        lost=sorted(lost),
        missing=sum(len(state.cell.models) for state in states)
        - sum(cell.models for cell in cells),
        doubts=doubts,
    )


def not_converged(group: object, residual: float) -> str:
    return (
        f"group {group}: the joint embedding has not converged (residual {residual:.1g}); "
        "a larger t separates its dimensions better (--set t=...)"
    )


def _scored(
    store: Store, settings: Settings, state: CellState, progress: Progress
) -> tuple[RankedCell | None, list[str], float]:
    """A cell's score if it has one, ids of models without traces, the embedding's residual."""
    name, models = state.cell.name, state.trained
    ids = [model.id for model in models]
    if (part := current_part(store, settings, name, models, STORED)) is not None:
        rows = part.to_pylist()
        compared = {row["model_id"] for row in rows}
        facts = {column: rows[0][column] for column in ("dynamics", "low", "high", "models")}
        without = [model_id for model_id in ids if model_id not in compared]
        return RankedCell(models[0], **facts), without, rows[0]["residual"]
    found = compare_cell(store, settings, name, models, progress, SETTING)
    without = [model.id for model in found.unreadable]
    if found.result is None:
        return None, without, 0.0
    low, high = found.result.interval or (None, None)
    scored = RankedCell(models[0], found.result.score, low, high, len(found.models))
    return scored, without, found.result.residual
