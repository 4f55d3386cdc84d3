"""Does the ranking without labels agree with the scores?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from tasks.report.figures.axes import limits
from tasks.report.figures.scatter import CROWD
from tasks.report.frames import DATA_SET, groups
from tasks.report.labels import data_label, method_label, method_legend
from tasks.report.questions import (
    Answer,
    Cell,
    FigureGroup,
    Figures,
    Heading,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Column, Results, signed_so_more_is_better
from tasks.report.score_scatter import score_scatter
from tasks.report.spearman import ENOUGH, Agreement, spearman
from tasks.words import MISSING, data_name, number

QUESTION = Question("UDR against the scores", menu="UDR")
MOST_OPEN_ROWS = 40


@dataclass(frozen=True)
class AgreementRow:
    """How one ranking agrees with one metric on one data set: over all methods, and per method."""

    data: str
    source: str
    udr: Column
    metric: Column
    overall: Agreement
    per_method: tuple[Agreement | None, ...]


def answer(results: Results) -> Answer:
    udr = results.udr
    if results.models.empty:
        return missing("No trained models yet.")
    if udr is None:
        return missing("No UDR yet, so there is nothing to set against the scores.")
    if not results.metrics:
        return missing("No supervised scores yet, so there is nothing to set UDR against.")
    crowded = results.models.groupby(DATA_SET).size().max() > CROWD
    points = "Each point is a model"
    if crowded:
        points = "Each marker is a cell, at its medians, with the middle half of its models across "
        points += "and up"
    about = (
        f"{_asked(results.metrics)} {points}; UDR here is “{udr.title}”. A title gives "
        "Spearman's rank correlation over all models in its panel. "
        f"With fewer than {ENOUGH} models there is none worth printing."
    )
    legend = method_legend(results.styles, "larger marker: greater strength")
    return Answer((Sentence(about), Figures(scatters(results, udr), legend), _table(results)))


def _asked(metrics: Sequence[Column]) -> str:
    """What the figures answer: scores without labels are no judges of a ranking."""
    without = [metric.title for metric in metrics if metric.kind == "unsupervised"]
    if len(without) == len(metrics):
        return "How does the ranking relate to scores that, like itself, need no labels?"
    question = "Does the ranking without labels agree with the scores that need labels?"
    needs = "needs" if len(without) == 1 else "need"
    return f"{question} {', '.join(without)} {needs} no labels." if without else question


def scatters(results: Results, udr: Column) -> tuple[FigureGroup, ...]:
    """One ranking against every metric."""
    models = results.models
    scales = {column.id: limits(models[column.id]) for column in (udr, *results.metrics)}
    collected = []
    for (data, source), rows in groups(models, DATA_SET):
        figures = []
        for metric in results.metrics:
            if not (rows[metric.id].notna() & rows[udr.id].notna()).any():
                continue
            figures.append(
                score_scatter(
                    rows,
                    udr,
                    metric,
                    metric.title,
                    f"on {data_name(data)}",
                    results.styles,
                    f"scatter {data} {source} {metric.id}",
                    (scales[udr.id], scales[metric.id]),
                    across_title="UDR",
                )
            )
        if figures:
            collected.append(FigureGroup(data_label(data, source), tuple(figures)))
    return tuple(collected)


def agreements(
    models: pd.DataFrame, columns: Sequence[Column], methods: Sequence[str]
) -> list[AgreementRow]:
    """Rank correlations of every ranking with every metric, per data set.

    Above 0 is agreement: where less is better the sign is changed.
    """
    models = signed_so_more_is_better(models, columns)
    collected = []
    for (data, source), rows in groups(models, DATA_SET):
        by_method = {method: part for (method,), part in groups(rows, ["method"])}
        for udr in (column for column in columns if column.is_udr):
            for metric in (column for column in columns if not column.is_udr):
                per_method = tuple(
                    spearman(by_method[method][udr.id], by_method[method][metric.id])
                    if method in by_method
                    else None
                    for method in methods
                )
                overall = spearman(rows[udr.id], rows[metric.id])
                if overall.n:
                    collected.append(AgreementRow(data, source, udr, metric, overall, per_method))
    return collected


def _table(results: Results) -> Table:
    note = "Where less is better the sign is reversed here: above 0 means that the two agree."
    reversed_signs = any(metric.direction < 0 for metric in results.metrics)
    methods = list(results.styles)
    rows = agreements(results.models, results.columns, methods)
    headings = (
        *(Heading(text) for text in ("Data set", "Ranking", "Score")),
        Heading("All methods", numeric=True),
        *(Heading(method_label(method, results.styles), numeric=True) for method in methods),
    )
    return Table(
        headings,
        tuple(_row(row) for row in rows),
        style="tight",
        caption=note if reversed_signs else "",
        summary="Rank correlations per method",
        open=len(rows) <= MOST_OPEN_ROWS,
    )


def _row(row: AgreementRow) -> Row:
    metric = row.metric.title
    if row.metric.direction < 0:
        metric = Markup('{} <span class="muted">(sign reversed)</span>').format(metric)
    return Row(
        (
            Cell(data_label(row.data, row.source)),
            Cell(row.udr.title),
            Cell(metric),
            *(_cell(agreement) for agreement in (row.overall, *row.per_method)),
        )
    )


def _cell(agreement: Agreement | None) -> Cell:
    if agreement is None or not agreement.n:
        return Cell(MISSING)
    if agreement.n < ENOUGH:
        return Cell(f"too few, n = {agreement.n}", style="muted")
    if agreement.rho is None:
        return Cell(f"all equal, n = {agreement.n}", style="muted")
    text = Markup('{} <span class="muted">n = {}</span>')
    return Cell(text.format(number(agreement.rho, 2), f"{agreement.n:,}"), agreement.rho)
