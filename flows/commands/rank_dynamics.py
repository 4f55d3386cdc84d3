"""`tolstoy rank FILE --by dynamics`: groups of models in a user's own files, most stable first."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flows.commands.text import bar, say, table, warn
from infra.errors import WrongInput, escaped
from metrics.dynamics import Settings

FILES_WITH_TRACES = "files with traces (.npz or .h5); a store has none"


def rank_dynamics(
    places: Sequence[str],
    changes: Sequence[str],
    udr_options: Mapping[str, object],
    top: int,
    json: bool,
) -> int:
    """Rank the groups in these files; `udr_options` are those that mean nothing here."""
    from tasks.own_traces import read_traces
    from tasks.rank_dynamics import check_files, rank_traces, settings_of, traces_text

    if top < 1:
        raise WrongInput("--top", top, "a number from 1")
    for option, value in udr_options.items():
        if value is not None and value is not False:
            raise WrongInput(option, value, "nothing, with --by dynamics")
    settings = settings_of(changes)
    for place in places:
        if Path(place).is_dir():
            raise WrongInput("FILE", f"{place}, a folder", FILES_WITH_TRACES)
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
        print(_text(ranking.groups, settings, top))
    return 0


def _text(rows: Sequence[Mapping[str, Any]], settings: Settings, top: int) -> str:
    lines = [
        [
            place,
            str(row["group"]),
            *("-" if row[name] is None else f"{row[name]:#.4g}" for name in ("dynamics", "low")),
            "-" if row["high"] is None else f"{row['high']:#.4g}",
            row["models"],
        ]
        for place, row in enumerate(rows[:top], 1)
    ]
    text = table(["rank", "group", "dynamics", "low", "high", "models"], lines)
    facts = (
        "Mean MMD² between the training dynamics of two models of a group: lower is more stable."
    )
    if any(row["low"] is not None for row in rows):
        facts += (
            f"\nlow, high: {100 * settings.level:g} % of {settings.draws:,} draws of a group's "
            "models."
        )
    if any(row["low"] is None for row in rows):
        facts += "\nTwo models are one pair, which has no interval."
    return f"{text}\n\n{facts}"
