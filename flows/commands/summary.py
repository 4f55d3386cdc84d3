"""What `tolstoy run` says at its end: medians, what has no weights and why, where things are."""

from __future__ import annotations

import json as jsonlib
import shlex
from collections.abc import Sequence
from typing import Any

from flows.commands.failures import command, failures, failures_text, retry
from flows.commands.report import median_rows, medians
from flows.commands.text import fitting, table
from infra.store import Store
from tasks.report.published import SIX
from tasks.study.spec import Study
from tasks.study.survey import CellState, totals

CELLS_SHOWN = 40
TROUBLES_SHOWN = 10
FIXED = 2  # cell and models


def as_json(
    study: Study,
    store: Store,
    found: Sequence[CellState],
    troubles: Sequence[str],
    report: str,
) -> str:
    names, values = medians(study, store)
    facts: dict[str, Any] = {"study": study.name, "store": store.address(), "report": report}
    facts |= totals(found)
    facts["medians"] = [
        {
            "cell": one.cell.name,
            "models": one.count("trained"),
            **{name: values.get((one.cell.name, name)) for name in names},
        }
        for one in found
    ]
    facts["failures"] = [failure.as_json() for failure in failures(found)]
    facts["retry"] = retry(found, store) or None
    facts["troubles"] = list(troubles)
    return jsonlib.dumps(facts, indent=2)


def as_lines(
    study: Study,
    store: Store,
    found: Sequence[CellState],
    troubles: Sequence[str],
    report: str,
    width: int = 0,
) -> str:
    place, me = shlex.quote(str(store)), command()
    blocks = [_medians(*median_rows(study, store, found), f"{me} report {place}", width)]
    if lost := failures_text(found, store):
        blocks.append(lost)
    blocks += troubles[:TROUBLES_SHOWN]
    if len(troubles) > TROUBLES_SHOWN:
        blocks.append(f"and {len(troubles) - TROUBLES_SHOWN:,} more such lines: --json has all")
    blocks.append(f"store   {store}\nreport  {report}")
    blocks.append(
        f"Next:\n  {me} status {place}\n"
        f"  {me} plan locatello-2019\n"
        f"  {me} run mini --set seeds=2 --set training.steps=2000"
    )
    return "\n\n".join(blocks)


def _medians(head: list[str], rows: list[list[object]], report: str, width: int) -> str:
    """The rankings and the study's six metrics first, and of all as many as fit."""
    order = headlines_first(head, FIXED)
    head, rows = [head[i] for i in order], [[row[i] for i in order] for row in rows]
    shown = rows[:CELLS_SHOWN]
    count = fitting(head, shown, width)
    text = table(head[:count], [row[:count] for row in shown])
    left_out = []
    if count < len(head):
        left_out.append(f"{len(head) - count} more columns")
    if len(rows) > len(shown):
        left_out.append(f"{len(rows) - len(shown)} more cells")
    return text + (f"\nand {' and '.join(left_out)}: {report}, or --json" if left_out else "")


def headlines_first(names: Sequence[str], fixed: int = 0) -> list[int]:
    """Places of the names: the fixed ones, rankings, the six metrics of the study, the others."""

    def rank(place: int) -> int:
        if place < fixed:
            return 0
        if names[place].startswith("udr "):
            return 1
        return 2 if names[place] in SIX else 3

    return sorted(range(len(names)), key=rank)
