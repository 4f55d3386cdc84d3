"""The rankings of a store: compare on Ray workers what is missing, then rank each data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from flows import worker
from flows.commands.text import say, warn
from flows.driver import comparison_calls, in_a_line, no_rank
from flows.progress import Progress, displayed
from flows.time_left import Pace
from infra.errors import WrongInput, one_of
from infra.new_file import PICTURES, new_file
from infra.ray_cluster import check_address
from infra.store import Store
from infra.workers import running_workers
from metrics import SIMILARITIES
from tasks.best import ADVISED_POOLS
from tasks.study.damage import damage_text, damaged_parts
from tasks.study.groups import groups_of
from tasks.study.spec import Pool, Study, Udr
from tasks.study.stored import stored_study
from tasks.study.survey import CellState, survey

if TYPE_CHECKING:
    from tasks.rank_data_set import DataSetRanking


@dataclass(frozen=True)
class RankRequest:
    """How to rank; None is what the study has."""

    pool: str | None  # None: ADVISED_POOLS, or the study's if it has none of these
    similarity: str | None
    p: int | None  # 0 means all
    data: str | None
    plot: Path | None

    def __post_init__(self) -> None:
        for option, name, known in (
            ("--pool", self.pool, get_args(Pool)),
            ("--similarity", self.similarity, SIMILARITIES),
        ):
            if name is not None and name not in known:
                raise WrongInput(option, name, one_of(known, name))
        if self.p is not None and self.p < 0:
            raise WrongInput("--p", self.p, "a number of comparisons; 0 means all")
        if self.plot is not None:
            new_file(self.plot, "--plot", PICTURES)

    def settings(self, udr: Udr) -> Udr:
        """The study's settings, changed by this request."""
        similarity = self.similarity or (udr.similarities or ("lasso",))[0]
        p = udr.p if self.p is None else self.p or None
        advised = not udr.pools or set(ADVISED_POOLS) & set(udr.pools)
        pools = (self.pool,) if self.pool else ADVISED_POOLS if advised else udr.pools
        changed = {"similarities": (similarity,), "pools": pools, "p": p}
        return Udr.model_validate({**udr.model_dump(), **changed})


def rank_store(
    uri: str, request: RankRequest, ray: str | None
) -> tuple[Study, Store, list[DataSetRanking]]:
    """Compare what is missing; the study with the settings of the request, and its rankings."""
    from tasks.rank_data_set import rank_data_set

    if ray:
        check_address(ray)
    store = Store(uri)
    study = stored_study(store)
    names = [data_set.name for data_set in study.data]
    if request.data is not None:
        if request.data not in names:
            raise WrongInput("--data", request.data, one_of(names, request.data))
        names = [request.data]
    if request.plot is not None and len(names) > 1:
        raise WrongInput("--plot", f"{len(names)} data sets", "one of them, by --data NAME")
    udr = request.settings(study.udr)
    states = [state for state in survey(study, store) if state.cell.data in names]
    if text := damage_text(store, damaged_parts(store, states)):
        warn(text)
    # Where the study compares all models of a cell, so do the parts that are written here.
    whole_cells = ("cell",) if "cell" in study.udr.pools else ()
    written = udr.model_copy(update={"pools": tuple(dict.fromkeys((*udr.pools, *whole_cells)))})
    _compare_finished(study.model_copy(update={"udr": written}), store, states, ray)
    rankings = []
    for name in names:
        of_data_set = [state for state in states if state.cell.data == name]
        rankings.append(rank_data_set(store, udr, name, of_data_set, request.plot))
    return study.model_copy(update={"udr": udr}), store, rankings


def _compare_finished(
    study: Study, store: Store, states: Sequence[CellState], ray: str | None
) -> None:
    """Write the missing pairs of cells all of whose models have ended, as a run would.

    The run itself writes the parts of other cells, each once and whole: so its numbers are the
    same to the last bit, whether or not models were ranked while it worked.
    """
    trained = {state.cell.name: state.trained for state in states}
    finished = [state.cell for state in states if not state.unfinished]
    calls = []
    for group, cells in groups_of(study, finished).items():
        models = [model for cell in cells for model in trained[cell.name]]
        calls += comparison_calls(store, study, group, models)
    if not calls:
        return
    try:
        store.prepare()
    except WrongInput:  # a store that can only be read: what it lacks is compared, not written
        return
    progress = Progress({"train": 0, "score": 0, "compare": len(calls)}, cells=0)
    with running_workers(ray) as workers, displayed(progress):
        progress.pace = Pace(
            lambda: workers.count, lambda stage: workers.mean_seconds(worker.compare)
        )
        progress.start("compare")
        for (*_, group, _, _), outcome in workers.map(worker.compare, calls):
            progress.add("compare")
            if isinstance(outcome, Exception):
                progress.fail(f"{group} is not compared: {in_a_line(outcome)}")
            else:
                for model_id in outcome:
                    progress.fail(no_rank(model_id))
    for trouble in progress.troubles:
        say(trouble)
