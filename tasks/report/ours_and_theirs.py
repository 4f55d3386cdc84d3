"""Tables of the papers' numbers with ours: at each question, and all of them on one page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from tasks.report.intervals import Interval
from tasks.report.questions import (
    GRIDS,
    Answer,
    Cell,
    Content,
    Filter,
    FilterBar,
    GridKind,
    Heading,
    Published,
    Row,
    Sentence,
    Table,
)
from tasks.report.verdicts import AGREES, DIFFERS, difference, difference_interval, verdict
from tasks.words import MISSING, number, plural

PAGE = "papers"  # the question that opens the page of all of them
MOST_OPEN_ROWS = 16
HEADINGS = (
    Heading("What", style="wrap"),
    Heading("Published", numeric=True),
    Heading("Here", numeric=True),
    Heading("Difference", numeric=True),
    Heading("Comparable", style="wrap"),
)
MEANINGS: dict[GridKind, str] = {
    "full": "full grid",
    "partial grid": "part of the paper's grid",
    "look-alike data": "look-alike data",
    "fewer steps": "fewer steps",
    "other architecture": "other architecture",
    "other settings": "other settings",
    "not computed": "not computed",
}


def beside_the_paper(about: str, rows: Iterable[Published]) -> Answer:
    """The answer of a question that is a table of ours and the paper's numbers."""
    published = tuple(rows)
    return Answer((Sentence(about, "note"), *published_tables(published)), published)


def published_tables(rows: Sequence[Published]) -> list[Table]:
    """A table for each place in the papers, folded where it is long."""
    in_order = sorted(rows, key=lambda row: row.place)
    tables = []
    for place, part in groupby(in_order, key=lambda row: row.place):
        of_place = tuple(part)
        rows_of_place = tuple(_row(row) for row in of_place)
        tables.append(_table(f"{place}: {_summary(of_place)}", rows_of_place, _id(place)))
    return tables


def _table(summary: str, rows: tuple[Row, ...], id_: str) -> Table:
    return Table(
        HEADINGS,
        rows,
        id=id_,
        style="tight",
        row_headings=True,
        summary=summary,
        open=len(rows) <= MOST_OPEN_ROWS,
    )


def with_all_published(parts: Sequence[Sequence[tuple[str, Answer]]]) -> dict[str, Answer]:
    """By name of a question, its answer with what its page lacks: on the page of the papers a
    choice of rows, and the tables of the questions that have other pages."""
    here = [section for section in parts if section[0][0] == PAGE]
    if not here:
        return {}
    others = [a for section in parts if section not in here for _, a in section]
    published = [row for answer in others for row in answer.published]
    ((name, first), *more) = here[0]
    tables = published_tables(published)
    if first.published:  # mostly a table of a paper in one row
        rows = tuple(_row(row, with_place=True) for row in first.published)
        tables.append(_table(f"Other numbers: {_summary(first.published)}", rows, _id("others")))
    every = [*published, *(row for _, answer in here[0] for row in answer.published)]
    ids = [table.id for _, answer in more for table in answer.content if isinstance(table, Table)]
    content: list[Content] = [*first.content]
    if every:
        content.append(Sentence(_counts(every), "note"))
        present = {row.grid for row in every}
        options = tuple((grid, MEANINGS[grid]) for grid in reversed(GRIDS) if grid in present)
        bar = FilterBar(
            (Filter("grid", "Comparable", options),), (*(table.id for table in tables), *ids)
        )
        content += [bar, *tables]
    return {name: replace(first, content=tuple(content))}


def _id(place: str) -> str:
    words = "".join(c if c.isalnum() else " " for c in place.lower()).split()
    return "-".join(["theirs", *words])


def _summary(rows: Sequence[Published]) -> str:
    computed = sum(row.ours is not None for row in rows)
    comparable = sum(not row.why_not for row in rows)
    return f"{plural(len(rows), 'number')}, {computed} computed, {comparable} comparable"


def _counts(rows: Sequence[Published]) -> str:
    """How many numbers there are of each kind, and what can be said of those that compare."""
    grids = Counter(row.grid for row in rows)
    text = f"{plural(len(rows), 'published number')}: " + ", ".join(
        f"{grids[grid]:,} {MEANINGS[grid]}" for grid in reversed(GRIDS) if grids[grid]
    )
    verdicts = Counter(verdict(row) for row in rows if not row.why_not)
    if verdicts:
        text += f". Of the full grids {verdicts[AGREES]:,} numbers agree within their intervals"
        text += f" and {verdicts[DIFFERS]:,} differ by more than chance allows"
        chance = 0.05 * (verdicts[AGREES] + verdicts[DIFFERS])
        text += f"; by chance alone about {chance:.0f} would"
    return text + "."


def _row(row: Published, with_place: bool = False) -> Row:
    cells = (
        Cell(row.what, row.what, (row.place,) if with_place else (), style="wrap"),
        Cell(
            value_text(row, row.published)
            + ("" if row.deviation is None else f" ± {value_text(row, row.deviation)}"),
            row.published,
            _below(row, row.published_interval, row.published_n),
        ),
        Cell(value_text(row, row.ours), row.ours, _below(row, row.interval, row.n)),
        Cell(
            value_text(row, difference(row)), difference(row), _below(row, difference_interval(row))
        ),
        Cell(MEANINGS[row.grid], row.grid, (_verdict(row),), style="wrap"),
    )
    return Row(cells, keys={"grid": row.grid})


def _verdict(row: Published) -> str:
    """In its cell, where what comes before `: ` says the same again."""
    return row.why_not if row.grid == "not computed" else verdict(row)


def _below(row: Published, interval: Interval | None, n: int | None = None) -> tuple[str, ...]:
    lines = []
    if interval:
        low, high = (value_text(row, bound) for bound in interval)
        lines.append(f"{low} to {high}")
    if n:
        lines.append(f"n = {n:,}")
    return tuple(lines)


def value_text(row: Published, value: float | None) -> str:
    if value is None:
        return MISSING
    if row.percent:
        return f"{number(100 * value, row.digits)}%"
    return number(value, row.digits)
