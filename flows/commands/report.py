"""What a finished run shows: the report, renewed when its tables changed, and medians per cell."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from statistics import median
from typing import Any

import pyarrow as pa

from flows.commands.text import warn
from flows.options import check_every
from infra.errors import WrongInput, one_of
from infra.store import Store
from infra.tables import AXES
from tasks.study.damage import damage_text, damaged_parts
from tasks.study.model import cell_of
from tasks.study.scores import headlines, read_scores
from tasks.study.spec import Study
from tasks.study.stored import stored_study
from tasks.study.survey import CellState, survey

MADE_FROM = ("report", "made-from.json")


def report(
    uri: str,
    requested: Sequence[str] = (),
    *,
    watch: bool = False,
    every: float | None = None,
) -> int:
    """Write the report of a store, with these further questions, and print its path; with `watch`
    again and again until the study is done."""
    from tasks.report.page import write_report
    from tasks.report.questions import ON_REQUEST, QUESTIONS

    check_every(every, watch)
    for name in requested:
        if name not in ON_REQUEST:
            raise WrongInput("--with", name, one_of(ON_REQUEST, name))
    store = Store(uri)
    if watch:
        from flows.commands.watch_report import EVERY_SECONDS, watch_report

        return watch_report(store, every or EVERY_SECONDS, requested)
    study = stored_study(store)
    store.prepare()
    if text := damage_text(store, damaged_parts(store, survey(study, store))):
        warn(text)
    print(write_report(store, study, (*QUESTIONS, *dict.fromkeys(requested))))
    return 0


def tables_hash(study: Study, store: Store) -> str:
    """Changes when the study or its tables do."""
    parts = [store.listing("tables", name) for name in store.names("tables")]
    return hashlib.sha256(f"{study.model_dump_json()} {parts}".encode()).hexdigest()


def renewed_report(
    study: Study, store: Store, requested: Sequence[str] = (), even_if_same: bool = False
) -> str:
    """Write the report if the tables have changed since; returns its path."""
    made_from = tables_hash(study, store)
    has_report = store.exists(*MADE_FROM) and store.exists("report", "index.html")
    if not even_if_same and has_report and store.read_json(*MADE_FROM) == made_from:
        return store.address("report", "index.html")
    from tasks.report.page import write_report
    from tasks.report.questions import QUESTIONS

    path = write_report(store, study, (*QUESTIONS, *dict.fromkeys(requested)))
    store.write_json(made_from, *MADE_FROM)
    return path


def median_rows(
    study: Study, store: Store, cells: Sequence[CellState]
) -> tuple[list[str], list[list[object]]]:
    """A heading, and a row per cell: the median over its seeds of every headline and of UDR."""
    names, values = medians(study, store)
    rows: list[list[object]] = []
    for state in cells:
        of_cell = (values.get((state.cell.name, name)) for name in names)
        numbers = ["-" if value is None else f"{value:.3f}" for value in of_cell]
        rows.append([state.cell.name, state.count("trained"), *numbers])
    return ["cell (medians over seeds)", "models", *names], rows


def medians(study: Study, store: Store) -> tuple[list[str], dict[tuple[str, str], float]]:
    """The names of headlines and rankings, and by cell and name the median over seeds."""
    columns = ("data", "method", *AXES, "strength")
    scores = read_scores(store, [*columns, "metric", "part", "factor", "value"], where=headlines())
    ranks = store.read("ranks", [*columns, "similarity", "pool", "udr"])
    values: dict[tuple[str, str], list[float]] = {}
    for key, numbers in _grouped(scores, (*columns, "metric"), "value").items():
        cell = cell_of(dict(zip(columns, key, strict=False)), study.axes)
        values.setdefault((cell, key[-1]), []).extend(numbers)
    for key, numbers in _grouped(ranks, (*columns, "similarity", "pool"), "udr").items():
        cell = cell_of(dict(zip(columns, key, strict=False)), study.axes)
        values.setdefault((cell, _ranking(study, *key[-2:])), []).extend(numbers)
    udr = study.udr
    rankings = [_ranking(study, name, pool) for name in udr.similarities for pool in udr.pools]
    names = [*study.metrics.names, *rankings]
    return names, {key: median(numbers) for key, numbers in values.items()}


def _grouped(
    rows: pa.Table, columns: Sequence[str], value: str
) -> dict[tuple[Any, ...], list[float]]:
    """The values, without nulls, of the rows that have the same in these columns."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    keys = zip(*(rows[name].to_pylist() for name in columns), strict=True)
    for key, number in zip(keys, rows[value].to_pylist(), strict=True):
        if number is not None:
            groups.setdefault(key, []).append(number)
    return groups


def _ranking(study: Study, similarity: str, pool: str) -> str:
    """The similarity is named only where the study has several."""
    several = len(study.udr.similarities) > 1
    return f"udr ({similarity}, {pool})" if several else f"udr ({pool})"
