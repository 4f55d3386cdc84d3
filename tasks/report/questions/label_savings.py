"""Do disentangled models save labels? Locatello et al. 2019, Figures 6, 20 and 21.

The efficiency of a model is its accuracy after 100 labels divided by that after 10,000: 1 where 100
labels are as good as 10,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import pandas as pd
from markupsafe import Markup

from tasks.report import intervals
from tasks.report.frames import DATA_SET, groups
from tasks.report.labelled_tasks import LEARNERS, disentanglement_of, efficiency
from tasks.report.labels import data_label, method_legend
from tasks.report.questions import (
    Answer,
    Figure,
    FigureGroup,
    Figures,
    Question,
    Sentence,
    missing,
)
from tasks.report.results import Column, Results
from tasks.report.score_scatter import score_scatter
from tasks.report.spearman import spearman
from tasks.words import data_name

QUESTION = Question(
    "Do disentangled models save labels?",
    section="downstream",
    papers=(("locatello-2019", "Figures 6, 20 and 21"),),
    needs_factors=True,
)
ABOUT = (
    "Up: the efficiency, which is the accuracy after 100 labels divided by that after 10,000: 1 "
    "where 100 labels are as good as 10,000. Across: a score of disentanglement."
)
Pair: TypeAlias = tuple[Column, Column]  # a score, and an efficiency


def answer(results: Results) -> Answer:
    columns = [efficiency(learner) for learner in LEARNERS]
    models = results.with_parts(columns)
    metrics = disentanglement_of(results)
    collected, findings = [], []
    for (data, source), rows in groups(models, DATA_SET):
        pairs = [
            (metric, column)
            for column in columns
            for metric in metrics
            if rows[[metric.id, column.id]].notna().all(axis=1).any()
        ]
        if pairs:
            findings += _finding(data, rows, pairs)
            figures = tuple(_figure(data, source, rows, pair, results) for pair in pairs)
            collected.append(FigureGroup(data_label(data, source), figures))
    if not collected:
        return missing("No efficiency yet: it needs a labelled task with 10,000 training rows.")
    legend = method_legend(results.styles, "larger marker: greater strength")
    return Answer((Sentence(ABOUT), *findings, Figures(tuple(collected), legend)))


def _finding(data: str, rows: pd.DataFrame, pairs: Sequence[Pair]) -> list[Sentence]:
    """The pair that agrees most, by the direction of its metric."""
    agreements = [spearman(rows[metric.id], rows[column.id]) for metric, column in pairs]
    known = [
        (agreement.rho * metric.direction, agreement, metric, column)
        for agreement, (metric, column) in zip(agreements, pairs, strict=True)
        if agreement.rho is not None
    ]
    if not known:
        return []
    _, agreement, metric, column = max(known, key=lambda row: row[0])
    text = Markup("<b>{}</b>: the strongest relation is that of {} with {}: {}.").format(
        data_name(data),
        column.title,
        metric.title,
        intervals.rho_text(agreement.rho or 0.0, agreement.n),
    )
    return [Sentence(text, "finding")]


def _figure(data: str, source: str, rows: pd.DataFrame, pair: Pair, results: Results) -> Figure:
    metric, column = pair
    return score_scatter(
        rows.dropna(subset=[metric.id, column.id]),
        metric,
        column,
        f"{column.title}, against {metric.title}",
        f"on {data_name(data)}",
        results.styles,
        f"efficiency {data} {source} {metric.id} {column.id}",
    )
