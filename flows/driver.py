"""One run over one store: what each stage does with a cell, on Ray workers.

Nothing here keeps a record of its own: what is done is what stands in the store.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from flows.progress import Progress
from flows.storage_wait import StorageWait
from flows.work import Work
from infra.drivers.lock import DriverLock
from infra.errors import WrongInput
from infra.files import no_room
from infra.store import Store
from infra.workers import Call, CallQueue, Decision, Rank, Resources, Stopped, Workers
from tasks.log import comparison_log, model_log
from tasks.model_row import outcome_of, write_outcome
from tasks.orders import ComparisonOrder, ScoringOrder, TrainingOrder
from tasks.study.groups import groups_of, is_ranked, outdated
from tasks.study.model import Model
from tasks.study.pair_parts import missing_parts, tiles
from tasks.study.spec import PerModel, Study
from tasks.study.survey import CellState

# Tables whose parts are merged when a cell is done; representations are read model by model.
MERGED_TABLES = ("models", "curves", "pictures", "scores")
MERGING = 4  # cells at once; in an order by seeds all of them want to be merged at the end
CLAIM_SECONDS = 1.0


class StudyRun:
    """A study, its store, and the workers of one run. (No dataclass: Prefect would look inside.)

    Of several drivers on one store, each does what it can claim; `holder` knows of the others.
    """

    def __init__(
        self,
        study: Study,
        store: Store,
        found: list[CellState],
        work: Work,
        holder: DriverLock | None = None,
    ) -> None:
        self.study, self.store, self.work, self.holder = study, store, work, holder
        self.cells = {one.cell.name: one for one in found}
        self.data = {choice.name: choice for choice in study.data}
        self.groups = groups_of(study, [one.cell for one in found])
        self.ranks = _ranks(study, found)
        self.room = StorageWait(store, study.running.storage_minutes, self._say)
        self._stopped: Callable[[], bool] = lambda: False
        self._unscored = {one.cell.name: one.unscored for one in found}
        self._to_score: dict[str, CallQueue] = {}
        self._ranked: set[str] = set()
        self._lock = threading.Lock()
        # few threads, whatever the number of cells: each keeps the memory that tables took in it
        self._mergers = ThreadPoolExecutor(MERGING, thread_name_prefix="merges")
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

    def check(self, workers: Workers) -> None:
        """Raise if models ask for what this machine has not; a cluster may still grow."""
        needs = {"training": self._to_train, "metrics": self._need(self.study.metrics)}
        for section, need in needs.items():
            if lacking := workers.missing(need):
                name, wanted, there = lacking
                if not workers.cluster:
                    accepted = f"at most {there:.3g}, which a worker can have here"
                    raise WrongInput(f"{section}.{name}_per_model", wanted, accepted)
                self._say(f"no machine of the cluster has {wanted:g} {name} ({section}) so far")

    def open(self, workers: Workers) -> None:
        """Decision any stage: have a place where what is trained waits for a worker to score it."""
        self._stopped = self.room.stopped = lambda: workers.stopping
        need = self._need(self.study.metrics)
        for cell in self.cells:
            self._to_score[cell] = workers.calls(self.work.score, need, self._before("scores"))

    def train(self, workers: Workers, cell: str) -> None:
        """Train what is left of a cell; each model is scored as soon as it is trained."""
        one = self.cells[cell]
        order = TrainingOrder(
            self.store.uri, self.data[one.cell.data], self.study.probe, self.study.training
        )
        need = self._to_train
        calls = workers.calls(self.work.train, need, self._before("models"))
        self.progress.start("train")
        try:
            for model in one.left:
                calls.add((model, order), self.ranks[model.id])
            calls.end()
            for (model, _), outcome in self._ended(calls, "models"):
                if isinstance(outcome, Exception):  # its worker was lost again and again
                    outcome = self._give_up(model, outcome, need.tries)
                one.status[model.id] = outcome
                self.progress.add("train", outcome)
                if outcome == "trained":
                    self._score_soon(cell, model)
                elif self.study.metrics.names:
                    self.progress.drop("score")
        finally:
            self._to_score[cell].end()

    def score(self, cell: str) -> None:
        """Wait for the scores of a cell's models, then merge the cell's parts."""
        self.progress.start("score")
        one = self.cells[cell]
        for model in self._unscored[cell]:
            self._score_soon(cell, model)
        for (model, _), outcome in self._ended(self._to_score[cell], "scores"):
            if isinstance(outcome, Exception):
                self.progress.fail(f"{model.id} has no scores: {_in_a_line(outcome)}")
            else:
                one.scored.add(model.id)
            self.progress.add("score")
        self._mergers.submit(self._merge, cell).result()
        self.progress.cell_done()

    def _merge(self, cell: str) -> None:
        ids = [model.id for model in self.cells[cell].cell.models]
        with self._claimed(f"merge-{cell}"):
            for table in MERGED_TABLES:
                self.room.patiently(partial(self.store.merge, table, cell, ids))

    def compare(self, workers: Workers, group: str) -> None:
        """UDR of a group of cells: what is missing of its pairs, then the rankings."""
        udr = self.study.udr
        models = [m for cell in self.groups[group] for m in self.cells[cell.name].trained]
        self.progress.start("compare")
        with self._claimed(f"compare-{group}"):
            there = set(self.room.patiently(lambda: self.store.parts("pairs")))
            ranked = self.room.patiently(lambda: is_ranked(self.store, group, models, udr, there))
            if ranked or self._rank(workers, group, models):
                self.room.patiently(lambda: self._tidy(group))
        self.progress.add("compare")

    def _rank(self, workers: Workers, group: str, models: list[Model]) -> bool:
        """Compare and rank; whether rankings of all readable models stand."""
        lost = self.compare_tiles(workers, group, models)
        while lost:  # others may take their places among the first seeds of a cell
            models = [model for model in models if model.id not in lost]
            lost = self.compare_tiles(workers, group, models)
        if lost is None or not models:
            return False
        order = self._comparing()
        for _, outcome in self._mapped(workers, [(group, models, order)]):
            if self._failed(outcome, group, "ranked"):
                return False
        return True

    def compare_tiles(self, workers: Workers, group: str, models: list[Model]) -> set[str] | None:
        """Compare what is missing; ids of models without a readable representation.

        None if something else went wrong.
        """
        calls: list[Call] = []
        missing = self.room.patiently(lambda: missing_parts(self.store, models, self.study.udr))
        for tile in tiles(missing):
            cells = tuple(dict.fromkeys(part.cells for part in tile))
            inside = {name for pair in cells for name in pair}
            inner = [model for model in models if model.cell in inside]
            calls.append((group, inner, self._comparing(cells)))
        self.progress.more("compare", len(calls))
        lost: set[str] = set()
        failed = False
        for _, outcome in self._mapped(workers, calls):
            if self._failed(outcome, group, "compared"):
                failed = True
            elif outcome != "compared":
                lost |= set(outcome.split())
            self.progress.add("compare")
        for model_id in sorted(lost):
            self.progress.fail(f"{model_id} has no rank: its representation is lost or damaged")
        return None if failed else lost

    def _mapped(self, workers: Workers, calls: list[Call]) -> Iterator[tuple[Call, Any]]:
        made = workers.calls(self.work.compare, Resources(tries=self.study.running.tries))
        for call in calls:
            made.add(call)
        made.end()
        return self._ended(made)

    def _comparing(self, cells: tuple[tuple[str, str], ...] = ()) -> ComparisonOrder:
        minutes = self.study.running.minutes_per_comparison
        return ComparisonOrder(self.store.uri, self.study.udr, cells, minutes)

    def _failed(self, outcome: object, group: str, what: str) -> bool:
        if isinstance(outcome, Exception):
            reason = comparison_log(self.store, group).last_words or _in_a_line(outcome)
            self.progress.fail(f"{group} is not {what}: {reason}")
        return isinstance(outcome, Exception)

    def _tidy(self, group: str) -> None:
        """When every group is ranked, remove what an older grouping or layout left behind."""
        with self._lock:
            self._ranked.add(group)
            if self._ranked == self.groups.keys():
                for table, name in outdated(self.store, self.groups, self.store.parts("pairs")):
                    self.store.remove_part(table, name)

    # what is handed to workers, and what comes back -----------------------------------------

    @property
    def _to_train(self) -> Resources:
        gpus = self.study.training.gpus_per_model
        return self._need(self.study.training, 1.0 if gpus is None else gpus)

    def _need(self, given: PerModel, gpus: float = 0.0) -> Resources:
        tries = self.study.running.tries
        return Resources(given.cpus_per_model, gpus, given.memory_per_model, tries)

    def _score_soon(self, cell: str, model: Model) -> None:
        if self.study.metrics.names:
            order = ScoringOrder(self.store.uri, self.data[model.data], self.study.metrics)
            self._to_score[cell].add((model, order), self.ranks[model.id])

    def _ended(self, calls: CallQueue, table: str = "") -> Iterator[tuple[Call, Any]]:
        """What came of each call; what found the disk full is done again when there is room."""
        for call, outcome in calls:
            reason = no_room(outcome) if isinstance(outcome, Exception) else ""
            if reason:
                self.room.wait(reason)
                calls.add(call, self.ranks.get(getattr(call[0], "id", ""), ()))
                continue
            self.room.found()
            yield call, outcome
            if table and self.holder:
                self.holder.release(f"{table}-{call[0].id}")

    def _give_up(self, model: Model, error: Exception, tries: int) -> str:
        """Its worker died each time, the last time perhaps with all done: the sweep goes on."""
        if ended := self.room.patiently(lambda: outcome_of(model, self.store)):
            return ended
        reason = model_log(self.store, model.id).last_words or _in_a_line(error)
        said = f"its worker died {tries} times: {reason}" if tries > 1 else reason
        self.room.patiently(lambda: write_outcome(model, self.store, "failed", said))
        return "failed"

    def _before(self, table: str) -> Callable[..., Decision | OSError]:
        def claimed(model: Model, order: object) -> Decision | OSError:
            try:
                return Decision.NOW if self._claim(f"{table}-{model.id}") else Decision.LATER
            except OSError as error:  # a store that is full is waited for; others its worker tells
                return error if no_room(error) else Decision.NOW

        return claimed

    def _claim(self, name: str) -> bool:
        return self.holder is None or self.holder.claim(name)

    @contextmanager
    def _claimed(self, name: str) -> Iterator[None]:
        """Wait until no other driver does this, and keep others from it meanwhile."""
        while not self.room.patiently(partial(self._claim, name)):
            if self._stopped():
                raise Stopped
            time.sleep(CLAIM_SECONDS)
        try:
            yield
        finally:
            if self.holder:
                self.holder.release(name)

    def _say(self, text: str) -> None:
        self.progress.note = text


def _ranks(study: Study, found: list[CellState]) -> dict[str, Rank]:
    """Which model is next: by seeds, all cells have their first before one has its second."""
    by_seeds = study.running.order == "seeds"
    return {
        model.id: (seed, cell) if by_seeds else (cell, seed)
        for cell, one in enumerate(found)
        for seed, model in enumerate(one.cell.models)
    }


def _in_a_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if type(error).__name__ == "OutOfMemoryError":  # Ray's, with a page of advice at its end
        return f"out of memory ({lines[0]})"
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"
