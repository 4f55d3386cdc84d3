"""`tolstoy rank PLACE --by dynamics`: the cells of a store, or groups of models in a user's own
files, most stable first."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.commands.rank import FILES
from flows.commands.text import bar, say, table, warn
from infra.errors import WrongInput, escaped, one_of
from infra.new_file import PICTURES, is_file, new_file
from infra.store import Store
from metrics.dynamics import Settings
from tasks.study.spec import Study
from tasks.study.stored import stored_study
from tasks.study.survey import survey
from tasks.words import plural

if TYPE_CHECKING:
    from tasks.rank_cells import CellsRanking

NUMBERS = ("dynamics", "low", "high")
NAMED = 6  # cells in a line
Rows = Sequence[Mapping[str, Any]]


def rank_dynamics(
    places: Sequence[str],
    changes: Sequence[str],
    udr_options: Mapping[str, object],
    *,
    data: str | None,
    plot: Path | None,
    top: int,
    json: bool,
) -> int:
    """Rank the cells of a store or the groups in files; `udr_options` mean nothing here."""
    if top < 1:
        raise WrongInput("--top", top, "a number from 1")
    _check_unused(udr_options, "nothing, with --by dynamics")
    if all(_is_file(place) for place in places):
        options = {"--data": data, "--plot": plot}
        _check_unused(options, "nothing, with --by dynamics of files")
        return _rank_files(places, changes, top, json)
    if len(places) > 1:
        raise WrongInput("rank", f"{len(places)} places", "one store, or several files with traces")
    return _rank_store(places[0], changes, data, plot, top, json)


def _is_file(place: str) -> bool:
    return is_file(Path(place)) or place.lower().endswith(FILES)


def _check_unused(options: Mapping[str, object], accepted: str) -> None:
    for option, value in options.items():
        if value is not None and value is not False:
            raise WrongInput(option, value, accepted)


# files ---------------------------------------------------------------------------------------


def _rank_files(places: Sequence[str], changes: Sequence[str], top: int, json: bool) -> int:
    from tasks.own_traces import read_traces
    from tasks.rank_dynamics import check_files, rank_traces, settings_of, traces_text

    settings = settings_of(changes)
    files = read_traces([Path(place) for place in places])
    check_files(files, settings)
    name = ", ".join(file.path.name for file in files)
    say(escaped(f"{name}: {traces_text(files)}"))
    with bar("dynamics") as move:
        ranking = rank_traces(files, settings, lambda fraction: move("groups", fraction))
    for doubt in ranking.doubts:
        warn(f"{name}: {doubt}")
    if json:
        print(jsonlib.dumps(ranking.as_json(), indent=2))
    else:
        text = _table(ranking.groups, ("group",), top)
        print(f"{text}\n\n{_facts(ranking.groups, settings, 'group')}")
    return 0


# a store -------------------------------------------------------------------------------------


def _rank_store(
    place: str,
    changes: Sequence[str],
    data: str | None,
    plot: Path | None,
    top: int,
    json: bool,
) -> int:
    """What the store has of the same settings is read; nothing is written there."""
    from tasks.rank_cells import rank_cells
    from tasks.rank_dynamics import settings_of

    if plot is not None:
        new_file(plot, "--plot", PICTURES)
    store = Store(place)
    study = stored_study(store)
    if study.traces is None:
        accepted = "a store whose spec has traces; or files with traces and groups (.npz, .h5)"
        raise WrongInput("store", f"{store}, whose spec has no traces", accepted)
    settings = settings_of(changes, study.dynamics)
    names = [choice.name for choice in study.data]
    if data is not None:
        if data not in names:
            raise WrongInput("--data", data, one_of(names, data))
        names = [data]
    if plot is not None and len(names) > 1:
        raise WrongInput("--plot", f"{len(names)} data sets", "one of them, by --data NAME")
    states = survey(study, store)
    rankings = []
    with bar("dynamics") as move:
        for name in names:
            of_data = [state for state in states if state.cell.data == name]
            progress = partial(move, name)
            rankings.append(rank_cells(store, settings, name, of_data, progress))
    for ranking in rankings:
        for doubt in ranking.doubts:
            warn(doubt)
    if json:
        facts = {"study": study.name, "store": str(store), "settings": asdict(settings)}
        rows = [ranking.as_json() for ranking in rankings]
        print(jsonlib.dumps({**facts, "data": rows}, indent=2))
    else:
        print(_store_text(study, rankings, settings, top))
    if plot is not None:
        from tasks.plot_cells import draw_cells

        draw_cells(rankings[0], plot)
        say(f"Wrote {plot}")
    return 0


def _store_text(
    study: Study, rankings: Sequence[CellsRanking], settings: Settings, top: int
) -> str:
    blocks = []
    for ranking in rankings:
        if len(rankings) > 1:
            blocks.append(f"{ranking.data}\n{'-' * len(ranking.data)}")
        if rows := [cell.as_json() for cell in ranking.cells]:
            blocks.append(_table(rows, ("method", *study.axes, "strength"), top))
        blocks.append(_summary(ranking))
    if all_rows := [cell.as_json() for ranking in rankings for cell in ranking.cells]:
        blocks.append(_facts(all_rows, settings, "cell"))
    return "\n\n".join(blocks)


def _summary(ranking: CellsRanking) -> str:
    lines = [f"{ranking.data}: {plural(len(ranking.cells), 'cell')} ranked by training dynamics"]
    if names := ranking.without_score:
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        lines.append(
            f"{plural(len(names), 'cell')} without a score, which takes two trained models with "
            f"traces: {', '.join(names[:NAMED])}{more}"
        )
    if ranking.lost:
        lines.append(f"without readable traces: {', '.join(ranking.lost)}")
    return "\n".join(lines)


# both ----------------------------------------------------------------------------------------


def _table(rows: Rows, named: Sequence[str], top: int) -> str:
    """A line per group; `named` are the columns that name it."""
    lines = [
        [
            place,
            *(f"{v:g}" if isinstance(v := row[name], float) else str(v) for name in named),
            *("-" if row[name] is None else f"{row[name]:#.4g}" for name in NUMBERS),
            row["models"],
        ]
        for place, row in enumerate(rows[:top], 1)
    ]
    return table(["rank", *named, *NUMBERS, "models"], lines)


def _facts(rows: Rows, settings: Settings, group: str) -> str:
    """What the numbers are; `group` is the word for the models that are compared."""
    facts = (
        f"Mean MMD² between the training dynamics of two models of a {group}: lower is more stable."
    )
    if any(row["low"] is not None for row in rows):
        facts += (
            f"\nlow, high: {100 * settings.level:g} % of {settings.draws:,} draws of a {group}'s "
            "models."
        )
    if any(row["low"] is None for row in rows):
        facts += "\nTwo models are one pair, which has no interval."
    return facts
