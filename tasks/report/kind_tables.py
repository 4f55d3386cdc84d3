"""Kinds of models by factor, with the numbers of Eastwood and Williams 2018 below ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.report.kinds import REGRESSORS, Kind, OfData, RegressorScores
from tasks.report.papers_kinds import why_not
from tasks.report.published import KINDS_DATA
from tasks.report.questions import Heading, Row, Sentence, Table
from tasks.report.results import Results
from tasks.words import data_name, number


def in_paper(of_data: OfData, kind: Kind) -> str:
    """What the paper calls this kind; empty where it has none such, or other pictures."""
    return kind.in_paper if of_data.data == KINDS_DATA else ""


def paper_line(value: float | None) -> tuple[str, ...]:
    """Below a number of ours."""
    return () if value is None else (f"paper: {number(value, 2)}",)


def paper_note(of_data: OfData, results: Results) -> list[Sentence]:
    """That the paper's numbers are below ours, and whether they are comparable."""
    if not any(in_paper(of_data, kind) for kind in of_data.kinds):
        return []
    text = "The paper's numbers, each of one model, are below ours"
    if reasons := why_not(of_data, results.study):
        text += f". They are not comparable: {reasons}"
    return [Sentence(f"{text}.", "note")]


def factor_table(
    of_data: OfData,
    scores: RegressorScores,
    regressor: str,
    part: str,
    what: str,
    papers: Mapping[str, Sequence[float]],
    results: Results,
) -> Table:
    """A row per kind, a column per factor and one for their mean. `papers` has numbers in this
    order by the kind's name in the paper."""
    names = [*of_data.factors.names, ""]  # the mean has no factor
    rows = []
    for kind in of_data.kinds:
        of_paper = papers.get(in_paper(of_data, kind))
        cells = [kind.cell(results)]
        for place, name in enumerate(names):
            below = paper_line(of_paper[place] if of_paper else None)
            cells.append(scores.mean(kind, regressor, part, name).cell(*below))
        rows.append(Row(tuple(cells)))
    return Table(
        (Heading("Kind"), *(Heading(name or "mean", numeric=True) for name in names)),
        tuple(rows),
        style="tight",
        row_headings=True,
        summary=f"{data_name(of_data.data)}, {REGRESSORS[regressor]}: {what}",
        open=False,
    )
