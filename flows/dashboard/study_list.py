"""The first page of the reports' server: the studies, how far they are, and their reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path

from flows.commands.status import read_status
from flows.dashboard.limits import Limits
from infra.errors import WrongInput
from infra.report_server import PAGE
from infra.store import Store
from tasks.study.stored import STUDY_FILE

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .5rem 1.5rem .5rem 0;
         border-bottom: 1px solid #ddd; }
td:first-child, td:last-child { white-space: nowrap; }
a { color: #0b57a4; }
"""


@dataclass(frozen=True)
class Row:
    """A study of the list: the name of its store, how far it is, when its report was written."""

    name: str
    state: str
    report: datetime | None


def study_list(limits: Limits) -> str:
    """The page, as HTML."""
    rows = [_line(row) for row in studies(limits)]
    table = (
        "<table><tr><th>Study</th><th>State</th><th>Report</th></tr>" + "".join(rows) + "</table>"
        if rows
        else "<p>There is no study yet. The dashboard starts one, or <code>tolstoy run</code>.</p>"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Studies · Tolstoy</title><style>{STYLE}</style></head>"
        f"<body><h1>Studies</h1>{table}</body></html>\n"
    )


def studies(limits: Limits) -> Iterator[Row]:
    """Every folder with a study, by name."""
    for file in sorted(Path(limits.studies).absolute().glob(f"*/{STUDY_FILE}")):
        try:
            store = Store(limits.store(file.parent.name))
        except WrongInput:  # a link out of the folder, or a name that no store has
            continue
        yield Row(file.parent.name, _state(store), _written(file.parent / PAGE))


def _state(store: Store) -> str:
    try:
        status = read_status(store)
    except (WrongInput, OSError) as error:
        return str(error)
    return f"{status.line()}; {status.activity()}"


def _written(report: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(report.stat().st_mtime)
    except OSError:
        return None


def _line(row: Row) -> str:
    name, report = escape(row.name), "none yet: run <em>report</em>"
    if row.report is not None:
        name = f'<a href="{name}/{PAGE}">{name}</a>'
        report = f"{row.report:%Y-%m-%d %H:%M}"
    return f"<tr><td>{name}</td><td>{escape(row.state)}</td><td>{report}</td></tr>"
