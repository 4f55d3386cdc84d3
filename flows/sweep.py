"""One run over one store: what each stage does with a cell, on Ray workers.

Nothing here keeps a record of its own: what is done is what stands in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from flows.progress import Progress
from flows.spec import Study
from flows.survey import CellSurvey
from infra.errors import WrongInput
from infra.runtime import Workers
from infra.store import Store, no_room
from tasks.outcome import write_outcome
from tasks.settings import Cell, ComparisonOrder, Model, ScoringOrder, TrainingOrder

# Tables whose parts are merged when a cell is done; representations are read model by model.
MERGED_TABLES = ("models", "curves", "pictures", "scores")


def train(model: Model, order: TrainingOrder) -> str:
    """On a worker: torch is imported there, and never by the driver."""
    from tasks.train import train_model

    return train_model(model, order)


def score(model: Model, order: ScoringOrder) -> str:
    from tasks.score import score_model

    return score_model(model, order)


def compare(group: str, models: list[Model], order: ComparisonOrder) -> str:
    from tasks.compare import compare_models

    return compare_models(group, models, order)


@dataclass(frozen=True)
class Work:
    """What is given to Ray; a benchmark passes functions that do nothing."""

    train: Callable[[Model, TrainingOrder], str] = train
    score: Callable[[Model, ScoringOrder], str] = score
    compare: Callable[[str, list[Model], ComparisonOrder], str] = compare


class Sweep:
    """A study, its store, and the workers of one run. (No dataclass: Prefect would look inside.)"""

    def __init__(self, study: Study, store: Store, found: list[CellSurvey], work: Work) -> None:
        self.study, self.store, self.work = study, store, work
        self.cells = {one.cell.name: one for one in found}
        self.data = {choice.name: choice for choice in study.data}
        self.groups = groups_of(study, [one.cell for one in found])
        left = sum(len(one.left) for one in found)
        unscored = sum(len(one.unscored) for one in found)
        self.progress = Progress(
            todo={
                "train": left,
                "score": left + unscored if study.metrics.names else 0,
                "compare": len(self.groups),
            },
            cells=len(found),
        )

    def train(self, workers: Workers, cell: str) -> None:
        """Train what is left of a cell."""
        one = self.cells[cell]
        order = TrainingOrder(
            self.store.uri,
            self.data[one.cell.data],
            self.study.probe,
            self.study.training,
        )
        self.progress.start("train")
        calls = [(model, order) for model in one.left]
        wanted = self.study.training.gpus_per_model
        gpus = 1.0 if wanted is None else wanted
        for (model, _), outcome in workers.map(self.work.train, calls, gpus):
            self._stop_without_room(outcome)
            if isinstance(outcome, Exception):  # its worker was lost again and again
                write_outcome(model, self.store, "failed", _in_a_line(outcome))
                outcome = "failed"
            one.status[model.id] = outcome
            self.progress.add("train", outcome)
            if outcome != "trained" and self.study.metrics.names:
                self.progress.drop("score")

    def score(self, workers: Workers, cell: str) -> None:
        """Score the trained models of a cell that lack a score, then merge the cell's parts."""
        one = self.cells[cell]
        if self.study.metrics.names:
            order = ScoringOrder(self.store.uri, self.data[one.cell.data], self.study.metrics)
            self.progress.start("score")
            calls = [(model, order) for model in one.unscored]
            for (model, _), outcome in workers.map(self.work.score, calls):
                self._stop_without_room(outcome)
                if isinstance(outcome, Exception):
                    self.progress.fail(f"{model.id} has no scores: {_in_a_line(outcome)}")
                self.progress.add("score")
        for table in MERGED_TABLES:
            self.store.merge(table, cell, [model.id for model in one.cell.models])
        self.progress.cell_done()

    def compare(self, workers: Workers, group: str) -> None:
        """UDR of a group of cells, as one Ray task."""
        order = ComparisonOrder(self.store.uri, self.study.udr)
        models = [model for cell in self.groups[group] for model in cell.models]
        self.progress.start("compare")
        for _, outcome in workers.map(self.work.compare, [(group, models, order)]):
            self._stop_without_room(outcome)
            if isinstance(outcome, Exception):
                self.progress.fail(f"{group} is not compared: {_in_a_line(outcome)}")
            self.progress.add("compare")

    def _stop_without_room(self, outcome: object) -> None:
        """A full disk is no fault of a model's: stop, rather than fail one after the other."""
        if isinstance(outcome, Exception) and (reason := no_room(outcome)):
            accepted = "room to write; then the same command goes on"
            raise WrongInput("store", f"{self.store} ({reason})", accepted)


def groups_of(study: Study, cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """The cells that are compared together, by the name of their part of `ranks`."""
    groups: dict[str, list[Cell]] = {}
    if study.udr.similarities:
        whole = "method" in study.udr.pools
        for cell in cells:
            groups.setdefault(cell.group if whole else cell.name, []).append(cell)
    return groups


def _in_a_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"
