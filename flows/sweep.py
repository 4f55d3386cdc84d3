"""One run over one store: what each stage does with a cell, on Ray workers.

Nothing here keeps a record of its own: what is done is what stands in the store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from flows.comparing import groups_of, is_ranked, outdated
from flows.progress import Progress
from flows.spec import Study
from flows.survey import CellSurvey
from infra.errors import WrongInput
from infra.runtime import Workers
from infra.store import Store, no_room
from tasks.outcome import write_outcome
from tasks.pairing import missing_parts, tiles
from tasks.settings import ComparisonOrder, Model, ScoringOrder, TrainingOrder

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
    """The pairs of a tile, or, where no cells are named, the rankings of a group."""
    if order.cells:
        from tasks.compare import compare_tile

        return compare_tile(models, order)
    from tasks.ranking import rank_models

    return rank_models(group, models, order)


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
        self._ranked: set[str] = set()
        self._lock = threading.Lock()
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
        """UDR of a group of cells: what is missing of its pairs, then the rankings."""
        udr = self.study.udr
        models = [m for cell in self.groups[group] for m in self.cells[cell.name].trained]
        self.progress.start("compare")
        there = set(self.store.parts("pairs"))
        if is_ranked(self.store, group, models, udr, there) or self._rank(workers, group, models):
            self._tidy(group)
        self.progress.add("compare")

    def _rank(self, workers: Workers, group: str, models: list[Model]) -> bool:
        """Compare and rank; whether rankings of all readable models stand."""
        lost = self.compare_tiles(workers, group, models)
        while lost:  # others may take their places among the first seeds of a cell
            models = [model for model in models if model.id not in lost]
            lost = self.compare_tiles(workers, group, models)
        if lost is None or not models:
            return False
        order = ComparisonOrder(self.store.uri, self.study.udr)
        for _, outcome in workers.map(self.work.compare, [(group, models, order)]):
            if self._failed(outcome, f"{group} is not ranked"):
                return False
        return True

    def compare_tiles(self, workers: Workers, group: str, models: list[Model]) -> set[str] | None:
        """Compare what is missing; ids of models without a readable representation.

        None if something else went wrong.
        """
        calls = []
        for tile in tiles(missing_parts(self.store, models, self.study.udr)):
            cells = tuple(dict.fromkeys(part.cells for part in tile))
            inside = {name for pair in cells for name in pair}
            order = ComparisonOrder(self.store.uri, self.study.udr, cells)
            calls.append((group, [model for model in models if model.cell in inside], order))
        self.progress.more("compare", len(calls))
        lost: set[str] = set()
        failed = False
        for _, outcome in workers.map(self.work.compare, calls):
            if self._failed(outcome, f"{group} is not compared"):
                failed = True
            elif outcome != "compared":
                lost |= set(outcome.split())
            self.progress.add("compare")
        for model_id in sorted(lost):
            self.progress.fail(f"{model_id} has no rank: its representation is lost or damaged")
        return None if failed else lost

    def _failed(self, outcome: object, what: str) -> bool:
        self._stop_without_room(outcome)
        if isinstance(outcome, Exception):
            self.progress.fail(f"{what}: {_in_a_line(outcome)}")
        return isinstance(outcome, Exception)

    def _tidy(self, group: str) -> None:
        """When every group is ranked, remove what an older grouping or layout left behind."""
        with self._lock:
            self._ranked.add(group)
            if self._ranked == self.groups.keys():
                for table, name in outdated(self.store, self.groups, self.store.parts("pairs")):
                    self.store.remove_part(table, name)

    def _stop_without_room(self, outcome: object) -> None:
        """A full disk is no fault of a model's: stop, rather than fail one after the other."""
        if isinstance(outcome, Exception) and (reason := no_room(outcome)):
            accepted = "room to write; then the same command goes on"
            raise WrongInput("store", f"{self.store} ({reason})", accepted)


def _in_a_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"
