"""`tolstoy run`: do what is not done, show progress, survive Ctrl-C, and print the result."""

from __future__ import annotations

import json as jsonlib
import shlex
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from flows.commands.failures import command, failures, failures_text, retry
from flows.commands.next_steps import next_steps
from flows.commands.own_data import say_what_was_read
from flows.commands.report import median_rows, medians, renewed_report
from flows.commands.text import fitting, preparing, say, table
from flows.open_study import OpenStudy, open_study
from flows.start_up import StartedWorkers
from infra.errors import RUN_AGAIN, WrongInput
from infra.prefect_server import configured_server, no_answer, starting_prefect_api
from infra.ray_cluster import cluster_machines
from infra.runtime import cores
from infra.store import DAMAGED as DAMAGED_FOLDER
from infra.store import Store
from infra.timeline import span
from infra.workers import Stopped
from tasks.report.published import SIX
from tasks.study.damage import damage_text
from tasks.study.dynamics import cells_without_traces
from tasks.study.model import DAMAGED, DIVERGED, FAILED, TRAINED
from tasks.study.precision import check_local_precision
from tasks.study.spec import Study
from tasks.study.stored import STUDY_FILE
from tasks.study.survey import CellState, several_instructions, survey, totals
from tasks.words import plural

if TYPE_CHECKING:
    from flows.study import RunResult

CELLS_SHOWN = 40
TROUBLES_SHOWN = 10
CELLS_NAMED = 3
FIXED = 2  # cell and models


def run_study(
    study: Study,
    uri: str,
    *,
    workers: int | None = None,
    ray: str | None = None,
    retry: set[str] | None = None,
    join: bool = False,
    json: bool = False,
) -> int:
    """Run what of a study is not done in its store; returns the exit code."""
    if ray:
        cluster_machines(ray)
    else:
        _check_cores(study, workers or cores())
        check_local_precision(study.training)
    store = Store(uri)
    if retry or not store.exists(STUDY_FILE):  # before the store is changed
        configured_server()
    opening = open_study(study, store, retry or set(), join, preparing)
    with _sigterm_as_ctrl_c(), opening as opened:
        study, store, states = opened.study, opened.store, opened.states
        say_what_was_read(study)
        for line in _effects(opened, workers, ray, retry or set(), join):
            say(line)
        if opened.finished:
            say(f"{study.name}: nothing to train, score or compare; {store} has all of it.")
            return _end(study, store, states, (), renewed_report(study, store), json)
        count = totals(states)
        unscored = sum(len(state.unscored) for state in states)
        left = plural(count["left"], "model")
        to_score = f"{count['left'] + unscored} to score, " if study.metrics.names else ""
        say(
            f"{study.name}: {left} to train, {to_score}"
            f"{count['trained']} trained before; store {store}"
        )
        cells = [state.cell for state in states]
        try:
            result = _run_flow(opened, workers, ray)
        except (KeyboardInterrupt, SystemExit, Stopped):  # Ray makes the second of a SIGTERM
            return _interrupted(survey(study, store, cells))
        report = result.report or renewed_report(study, store)
        return _end(study, store, survey(study, store, cells), result.troubles, report, json)


def _check_cores(study: Study, count: int) -> None:
    """Raise if a model asks for more cores than there are, before Ray starts and finds it."""
    sections = {"training": study.training, "metrics": study.metrics}
    for name, section in sections.items():
        if section.cpus_per_model > count:
            accepted = f"at most {count}, as many cores as the run has here"
            raise WrongInput(f"{name}.cpus_per_model", section.cpus_per_model, accepted)


def _effects(
    opened: OpenStudy, workers: int | None, ray: str | None, retry: set[str], join: bool
) -> Iterator[str]:
    """What options did that is not seen elsewhere, above all if it is nothing."""
    if opened.parts_set_aside:
        parts = plural(opened.parts_set_aside, "damaged part")
        yield f"Moved {parts} of the tables to {opened.store}/{DAMAGED_FOLDER}."
    if opened.retried:
        yield f"{plural(opened.retried, 'model')} will be tried again."
    elif retry and not opened.parts_set_aside:
        statuses = " or ".join(sorted(retry))
        yield f"--retry changes nothing: no model of {opened.store} is {statuses}."
    if join and (opened.lock is None or opened.lock.alone):
        yield f"--join changes nothing: no other run works on {opened.store}."
    if workers and ray:
        yield "--workers changes nothing with --ray: a cluster uses all of its cores."
    elif workers and workers > cores():
        yield f"--workers {workers} is more than the {cores()} cores here, so nothing gets quicker."


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """A SIGTERM leaves no more behind than a Ctrl-C; Prefect and Ray pass it on to us."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run_flow(opened: OpenStudy, workers: int | None, ray: str | None) -> RunResult:
    """Prefect's server starts while Ray does, and both while this process and workers import."""
    models = sum(len(state.unfinished) for state in opened.states)
    with starting_prefect_api() as wait_for_api:
        say("Starting Ray and Prefect ...")
        with span("imports: Prefect"):
            from flows.study import RunResult, study_flow

        result = RunResult()
        with closing(StartedWorkers(ray, workers, opened.study, models)) as started:
            wait_for_api()
            try:
                study_flow(opened.study, opened, ray, workers, result, started)
            except Exception as error:
                _explain(error, result)
    return result


def _explain(error: Exception, result: RunResult) -> None:
    """Raise what ended the flow, unless Prefect alone failed when all was done."""
    from httpx import HTTPError
    from prefect.settings import get_current_settings

    if result.interrupted:
        raise KeyboardInterrupt from None
    if not result.ended:
        url = get_current_settings().api.url
        if url and (isinstance(error, HTTPError) or not result.began):
            reason = str(error.__cause__ or error).partition("\n")[0]
            raise no_answer(url, reason) from None
        raise error
    say("Prefect did not answer at the end: what it shows of this run may be old.")


def _interrupted(states: Sequence[CellState]) -> int:
    count = totals(states)
    say(
        f"\nInterrupted. {count['trained']} of {count['models']} models are trained and "
        f"{count['scored']} scored; the others continue from their last checkpoint.\n"
        f"{RUN_AGAIN}"
    )
    return 130


def _end(
    study: Study,
    store: Store,
    states: Sequence[CellState],
    troubles: Sequence[str],
    report: str,
    json: bool,
) -> int:
    unfinished = sum(len(state.unfinished) for state in states)
    unscored = sum(len(state.unscored) for state in states)
    if unfinished or unscored:  # something lost or damaged their rows while the run worked
        missing = f"{unfinished} models are left to train and {unscored} to score"
        troubles = [*troubles, f"{missing}. {RUN_AGAIN}"]
    damaged = sorted(part for part in store.damaged if store.is_damaged(*part, deep=True))
    if damaged:
        names = [f"{table}/{key}.parquet" for table, key in damaged]
        again = f"To make it again: {command()} run SPEC --store {store} --retry {DAMAGED}"
        troubles = [*troubles, damage_text(store, names, again)]
    if names := cells_without_traces(study, store, states):
        say(_without_dynamics(names, len(states)))
    if warning := several_instructions(states):
        say(warning)
    show = as_json if json else as_lines
    print(show(study, store, states, troubles, report))
    bad = sum(state.count(FAILED) + state.count(DIVERGED) for state in states)
    return 1 if troubles or bad else 0


def _without_dynamics(names: Sequence[str], cells: int) -> str:
    more = f" and {len(names) - CELLS_NAMED:,} more" if len(names) > CELLS_NAMED else ""
    return (
        f"{len(names):,} of {plural(cells, 'cell')} have no score of their training dynamics, as "
        f"fewer than two of their models have traces: {', '.join(names[:CELLS_NAMED])}{more}."
    )


def as_json(
    study: Study,
    store: Store,
    states: Sequence[CellState],
    troubles: Sequence[str],
    report: str,
) -> str:
    names, values = medians(study, store)
    facts: dict[str, Any] = {"study": study.name, "store": store.address(), "report": report}
    facts |= totals(states)
    facts["medians"] = [
        {
            "cell": state.cell.name,
            "models": state.count(TRAINED),
            **{name: values.get((state.cell.name, name)) for name in names},
        }
        for state in states
    ]
    facts["failures"] = [failure.as_json() for failure in failures(states)]
    facts["retry"] = retry(states, store) or None
    facts["troubles"] = list(troubles)
    return jsonlib.dumps(facts, indent=2)


def as_lines(
    study: Study,
    store: Store,
    states: Sequence[CellState],
    troubles: Sequence[str],
    report: str,
    width: int = 0,
) -> str:
    place, tolstoy = shlex.quote(str(store)), command()
    blocks = [_medians(*median_rows(study, store, states), f"{tolstoy} report {place}", width)]
    if failed := failures_text(states, store):
        blocks.append(failed)
    blocks += troubles[:TROUBLES_SHOWN]
    if len(troubles) > TROUBLES_SHOWN:
        blocks.append(f"and {len(troubles) - TROUBLES_SHOWN:,} more such lines: --json has all")
    blocks.append(f"store   {store}\nreport  {report}")
    blocks.append(next_steps(study, store, states))
    return "\n\n".join(blocks)


def _medians(head: list[str], rows: list[list[object]], report: str, width: int) -> str:
    """The rankings and the study's six metrics first, and of all as many as fit."""
    order = [i for i in headlines_first(head, FIXED) if not _is_empty(i, rows)]
    empty = len(head) - len(order)
    head, rows = [head[i] for i in order], [[row[i] for i in order] for row in rows]
    first_rows = rows[:CELLS_SHOWN]
    count = fitting(head, first_rows, width)
    text = table(head[:count], [row[:count] for row in first_rows])
    left_out = []
    if count < len(head):
        left_out.append(f"{len(head) - count} more columns")
    if len(rows) > len(first_rows):
        left_out.append(f"{len(rows) - len(first_rows)} more cells")
    if empty:
        left_out.append(f"{plural(empty, 'column')} without a value")
    return text + (f"\nand {' and '.join(left_out)}: {report}, or --json" if left_out else "")


def _is_empty(column: int, rows: Sequence[Sequence[object]]) -> bool:
    """Whether no cell has a value of it."""
    return bool(rows) and column >= FIXED and all(row[column] == "-" for row in rows)


def headlines_first(names: Sequence[str], fixed: int = 0) -> list[int]:
    """Places of the names: the fixed ones, rankings, the six metrics of the study, the others."""

    def rank(place: int) -> int:
        if place < fixed:
            return 0
        if names[place].startswith("udr "):
            return 1
        return 2 if names[place] in SIX else 3

    return sorted(range(len(names)), key=rank)
