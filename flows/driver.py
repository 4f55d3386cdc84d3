"""One run over one store: what each stage does with a cell, on Ray workers.

The store is the only record: what is done is what has its rows there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from flows import worker
from flows.progress import Progress
from flows.storage_wait import StorageWait
from flows.time_left import Pace
from infra.drivers.lock import DriverLock
from infra.errors import WrongInput
from infra.files import out_of_reach
from infra.store import Store
from infra.timeline import span
from infra.workers import (
    Call,
    CallQueue,
    Decision,
    Rank,
    Resources,
    Stopped,
    Workers,
    worker_died,
)
from tasks.dynamics_memory import memory_gib
from tasks.log import comparison_log, model_log
from tasks.model_row import status_of, write_row
from tasks.study.dynamics import is_compared
from tasks.study.groups import groups_of, is_ranked, outdated
from tasks.study.model import FAILED, TRAINED, Model
from tasks.study.pair_parts import missing_parts, tiles
from tasks.study.spec import PerModel, Study
from tasks.study.survey import CellState
from tasks.study.under_way import EVERY_SECONDS, forget_steps, steps_under_way

AFTER_SCORES = 1  # the priority of training: scores of trained models go first
# Tables whose parts are merged when a cell is done; representations are read model by model.
MERGED_TABLES = ("models", "curves", "pictures", "scores")
MERGING = 4  # cells at once; in an order by seeds all of them want to be merged at the end
CLAIM_SECONDS = 1.0
NAMED = 3  # models in a line
SLOW_SECONDS = 1.0


class StudyRun:
    """A study, its store, and the workers of one run. (No dataclass: Prefect would look inside.)

    Of several drivers on one store, each does what it can claim; `lock` knows of the others.
    `calls` are what workers do; a benchmark passes functions that do nothing.
    """

    def __init__(
        self,
        study: Study,
        store: Store,
        states: Sequence[CellState],
        lock: DriverLock | None = None,
        calls: Any = worker,
    ) -> None:
        self.study, self.store, self.lock, self.worker = study, store, lock, calls
        self.cells = {state.cell.name: state for state in states}
        self.groups = groups_of(study, [state.cell for state in states])
        self.priorities = _priorities(study, states)
        self.storage = StorageWait(store, study.running.storage_minutes, self._note)
        self._stopped: Callable[[], bool] = lambda: False
        self._unscored = {state.cell.name: state.unscored for state in states}
        self._to_score: dict[str, CallQueue] = {}
        self._ranked: set[str] = set()
        self._announced: set[str] = set()
        self._ranked_lock = threading.Lock()
        # few threads, whatever the number of cells: each keeps the memory that tables took in it
        self._mergers = ThreadPoolExecutor(MERGING, thread_name_prefix="merges")
        unfinished = sum(len(state.unfinished) for state in states)
        unscored = sum(len(state.unscored) for state in states)
        self.progress = Progress(
            todo={
                "train": unfinished,
                "score": unfinished + unscored if study.metrics.names else 0,
                "compare": len(self.groups),
                "dynamics": len(states) if study.traces is not None else 0,
            },
            cells=len(states),
            steps=sum(m.steps * m.step_cost for state in states for m in state.unfinished),
            models=sum(len(state.cell.models) for state in states),
        )
        self._count_steps()

    @contextmanager
    def counting_steps(self, every: float = EVERY_SECONDS) -> Iterator[None]:
        """While the block runs, read how far the models in training are."""
        ended = threading.Event()

        def read() -> None:
            while not ended.wait(every):
                with suppress(OSError):  # a store out of reach is read again
                    self.read_steps()

        threading.Thread(target=read, name="reads steps", daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    @contextmanager
    def announced_if_slow(self, text: str) -> Iterator[None]:
        """Print what is being done, if it takes long."""
        timer = threading.Timer(SLOW_SECONDS, lambda: self.progress.announce(text))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _announce_first(self, done: str, model: Model) -> None:
        """Print a line for the first trained model and the first scored one of a run."""
        if done not in self._announced:
            self._announced.add(done)
            self.progress.announce(f"First model {done}: {model.cell}, seed {model.seed}")

    def read_steps(self) -> None:
        under_way = steps_under_way(self.store)
        for state in self.cells.values():
            state.under_way = {m.id: under_way[m.id] for m in state.unfinished if m.id in under_way}
        self._count_steps()

    def _count_steps(self) -> None:
        left = sum(state.work_left for state in self.cells.values())
        self.progress.count_steps(self.progress.steps - left)

    def check(self, workers: Workers) -> None:
        """Raise if models ask for what this machine has not; a cluster may still grow."""
        needed = {
            "training": self._training_resources,
            "metrics": self._resources(self.study.metrics),
        }
        for section, resources in needed.items():
            if lacking := workers.missing(resources):
                name, wanted, most = lacking
                if not workers.cluster:
                    accepted = f"at most {most:.3g}, which a worker can have here"
                    raise WrongInput(f"{section}.{name}_per_model", wanted, accepted)
                self._note(f"no machine of the cluster has {wanted:g} {name} ({section}) so far")

    def open(self, workers: Workers) -> None:
        """Before any stage: make a queue per cell for trained models that wait to be scored."""
        self.progress.pace = Pace(
            lambda: workers.count,
            lambda stage: workers.mean_seconds(getattr(self.worker, stage)),
        )
        self._stopped = self.storage.stopped = lambda: workers.stopping
        resources = self._resources(self.study.metrics)
        for cell in self.cells:
            self._to_score[cell] = workers.calls(
                self.worker.score, resources, self._decide("scores")
            )

    def train(self, workers: Workers, cell: str) -> None:
        """Train a cell's unfinished models; each is scored as soon as it is trained."""
        state, resources = self.cells[cell], self._training_resources
        decide = self._decide("models")
        calls = workers.calls(self.worker.train, resources, decide, priority=AFTER_SCORES)
        self.progress.start("train")
        try:
            for model in state.unfinished:
                calls.add(self._call(model), self.priorities[model.id])
            calls.end()
            for (*_, model), status in self._results(calls, "models"):
                if isinstance(status, Exception):  # its worker died, or could not begin
                    status = self._give_up(model, status, resources.tries)
                state.status[model.id] = status
                known = state.under_way.pop(model.id, 0)
                self.progress.add("train", status, (model.steps - known) * model.step_cost)
                if status == TRAINED:
                    self._announce_first("trained", model)
                    self._score_soon(cell, model)
                elif self.study.metrics.names:
                    self.progress.drop("score")
        finally:
            self._to_score[cell].end()

    def score(self, cell: str) -> None:
        """Wait for the scores of a cell's models, then merge the cell's parts."""
        state = self.cells[cell]
        for model in self._unscored[cell]:
            self._score_soon(cell, model)
        for (*_, model), outcome in self._results(self._to_score[cell], "scores"):
            if isinstance(outcome, Exception):
                self.progress.fail(f"{model.id} has no scores: {in_a_line(outcome)}")
            else:
                state.scored.add(model.id)
                self._announce_first("scored", model)
            self.progress.add("score")
        self._mergers.submit(self._merge, cell).result()
        self.progress.cell_done()

    def _merge(self, cell: str) -> None:
        ids = [model.id for model in self.cells[cell].cell.models]
        with self._claimed(f"merge-{cell}"), span(f"merge {cell}"):
            for table in MERGED_TABLES:
                self.storage.retry(partial(self.store.merge, table, cell, ids))

    def compare(self, workers: Workers, group: str) -> None:
        """UDR of a group of cells: what is missing of its pairs, then the rankings."""
        models = [m for cell in self.groups[group] for m in self.cells[cell.name].trained]
        self.progress.start("compare")
        with self._claimed(f"compare-{group}"):
            parts = set(self.storage.retry(lambda: self.store.parts("pairs")))
            ranked = self.storage.retry(
                lambda: is_ranked(self.store, group, models, self.study.udr, parts)
            )
            if ranked or self._rank(workers, group, models):
                self.storage.retry(lambda: self._remove_outdated(group))
        self.progress.add("compare")

    def _rank(self, workers: Workers, group: str, models: list[Model]) -> bool:
        """Compare and rank; whether all readable models are ranked now."""
        unreadable = self._compare(workers, group, models)
        while unreadable:  # others may take their places among the first seeds of a cell
            models = [model for model in models if model.id not in unreadable]
            unreadable = self._compare(workers, group, models)
        if unreadable is None or not models:
            return False
        call = (self.store.uri, self.study, group, models)
        results = self._results(self._made(workers, self.worker.rank, [call]))
        return not any(self._failed(outcome, group, "ranked") for _, outcome in results)

    def _compare(self, workers: Workers, group: str, models: list[Model]) -> set[str] | None:
        """Compare what is missing; ids of models without a readable representation, or None if
        something else went wrong."""
        calls = self.storage.retry(lambda: comparison_calls(self.store, self.study, group, models))
        self.progress.more("compare", len(calls))
        unreadable: set[str] = set()
        failed = False
        for _, outcome in self._results(self._made(workers, self.worker.compare, calls)):
            if self._failed(outcome, group, "compared"):
                failed = True
            else:
                unreadable.update(outcome)
            self.progress.add("compare")
        for model_id in sorted(unreadable):
            self.progress.fail(no_rank(model_id))
        return None if failed else unreadable

    def dynamics(self, workers: Workers, cell: str) -> None:
        """The training dynamics of a cell, from the traces of its trained models."""
        models, settings = self.cells[cell].trained, self.study.dynamics
        self.progress.start("dynamics")
        with self._claimed(f"dynamics-{cell}"):
            done = self.storage.retry(lambda: is_compared(self.store, settings, cell, models))
            if not done:
                self._compare_dynamics(workers, cell, models)
        self.progress.add("dynamics")

    def _compare_dynamics(self, workers: Workers, cell: str, models: list[Model]) -> None:
        memory = self.storage.retry(lambda: memory_gib(self.store, self.study.dynamics, models))
        resources = Resources(memory_gib=memory, tries=self.study.running.tries)
        if memory and (lacking := workers.missing(resources)):
            _, wanted, most = lacking
            trouble = (
                f"{cell} is not compared by its dynamics: that takes {wanted:.1f} GiB of memory, "
                f"and a worker can have {most:.1f}. With --set dynamics.snapshots=... it takes less"
            )
            self.progress.fail(trouble)
            return
        call = (self.store.uri, self.study, cell, models)
        for _, outcome in self._results(
            self._made(workers, self.worker.dynamics, [call], resources)
        ):
            if not self._failed(outcome, cell, "compared by its dynamics") and outcome:
                self.progress.fail(without_traces(cell, outcome, len(models)))

    def _made(
        self,
        workers: Workers,
        function: Callable[..., Any],
        calls: Iterable[Call],
        resources: Resources | None = None,
    ) -> CallQueue:
        made = workers.calls(function, resources or Resources(tries=self.study.running.tries))
        for call in calls:
            made.add(call)
        made.end()
        return made

    def _failed(self, outcome: object, group: str, what: str) -> bool:
        if isinstance(outcome, Exception):
            cause = getattr(outcome, "cause", outcome)
            line = str(cause) if isinstance(cause, WrongInput) else in_a_line(outcome)
            reason = comparison_log(self.store, group).reason_for_end or line
            self.progress.fail(f"{group} is not {what}: {reason}")
        return isinstance(outcome, Exception)

    def _remove_outdated(self, group: str) -> None:
        """When every group is ranked, remove what an older grouping or layout left behind."""
        with self._ranked_lock:
            self._ranked.add(group)
            if self._ranked == self.groups.keys():
                for table, name in outdated(self.store, self.groups, self.store.parts("pairs")):
                    self.store.remove_part(table, name)

    # calls to workers, and their results --------------------------------------------------

    @property
    def _training_resources(self) -> Resources:
        gpus = self.study.training.gpus_per_model
        return self._resources(self.study.training, 1.0 if gpus is None else gpus)

    def _resources(self, section: PerModel, gpus: float = 0.0) -> Resources:
        tries = self.study.running.tries
        return Resources(section.cpus_per_model, gpus, section.memory_per_model, tries)

    def _call(self, model: Model) -> Call:
        return self.store.uri, self.study, model

    def _score_soon(self, cell: str, model: Model) -> None:
        if self.study.metrics.names:
            self.progress.start("score")
            self._to_score[cell].add(self._call(model), self.priorities[model.id])

    def _results(self, calls: CallQueue, table: str = "") -> Iterator[tuple[Call, Any]]:
        """What came of each call; one that found the disk full is done again when it is not.

        A machine without the store ends the run: it would fail model after model.
        """
        for call, outcome in calls:
            reason = out_of_reach(outcome) if isinstance(outcome, Exception) else ""
            if reason:
                self.storage.wait(reason)
                calls.add(call, self.priorities.get(getattr(call[-1], "id", ""), ()))
                continue
            if isinstance(problem := getattr(outcome, "cause", None), worker.StoreNotMounted):
                raise problem
            self.storage.has_room()
            yield call, outcome
            if table and self.lock:
                self.lock.release(f"{table}-{call[-1].id}")

    def _give_up(self, model: Model, error: Exception, tries: int) -> str:
        """Its worker died each time, the last time perhaps with all done, or its call could not
        begin: the run continues."""
        if status := self.storage.retry(lambda: status_of(model, self.store)):
            return status
        reason = model_log(self.store, model.id).reason_for_end or in_a_line(error)
        died_often = tries > 1 and worker_died(error)
        text = f"its worker died {tries} times: {reason}" if died_often else reason
        self.storage.retry(lambda: write_row(model, self.store, FAILED, text))
        forget_steps(self.store, model.id)
        return FAILED

    def _decide(self, table: str) -> Callable[..., Decision | OSError]:
        def claimed(uri: str, study: Study, model: Model) -> Decision | OSError:
            try:
                return Decision.NOW if self._claim(f"{table}-{model.id}") else Decision.LATER
            except OSError as error:  # a full store is waited for; other errors its worker reports
                return error if out_of_reach(error) else Decision.NOW

        return claimed

    def _claim(self, name: str) -> bool:
        return self.lock is None or self.lock.claim(name)

    @contextmanager
    def _claimed(self, name: str) -> Iterator[None]:
        """Wait until no other driver does this, and keep others from it until the block ends."""
        while not self.storage.retry(partial(self._claim, name)):
            if self._stopped():
                raise Stopped
            time.sleep(CLAIM_SECONDS)
        try:
            yield
        finally:
            if self.lock:
                self.lock.release(name)

    def _note(self, text: str) -> None:
        self.progress.note = text


def comparison_calls(store: Store, study: Study, group: str, models: list[Model]) -> list[Call]:
    """A call of `worker.compare` for each tile of pairs that the store lacks."""
    calls = []
    for tile in tiles(missing_parts(store, models, study.udr)):
        cells = list(dict.fromkeys(part.cells for part in tile))
        names = {name for pair in cells for name in pair}
        inner = [model for model in models if model.cell in names]
        calls.append((store.uri, study, group, inner, cells))
    return calls


def no_rank(model_id: str) -> str:
    return f"{model_id} has no rank: its representation is lost or damaged"


def without_traces(cell: str, unreadable: Sequence[str], models: int) -> str:
    """A line about the models of a cell whose traces are missing or damaged."""
    ids = ", ".join(unreadable[:NAMED]) + (", ..." if len(unreadable) > NAMED else "")
    left = models - len(unreadable)
    what = "are left out of its dynamics" if left > 1 else "so its dynamics are not compared"
    return (
        f"{len(unreadable)} of the {models} models of {cell} have no readable traces ({ids})"
        f"{' and' if left > 1 else ','} {what}"
    )


def _priorities(study: Study, states: Sequence[CellState]) -> dict[str, Rank]:
    """Which model is next: by seeds, all cells have their first before one has its second, and
    longer trainings go first, so that no core has one left alone at the end."""
    by_seeds = study.running.order == "seeds"
    return {
        model.id: (seed, -model.steps * model.step_cost, cell) if by_seeds else (cell, seed)
        for cell, state in enumerate(states)
        for seed, model in enumerate(state.cell.models)
    }


def in_a_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if type(error).__name__ == "OutOfMemoryError":  # Ray's, with a page of advice at its end
        return f"out of memory ({lines[0]})"
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"
