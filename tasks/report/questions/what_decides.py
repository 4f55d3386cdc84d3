"""What decides a score: the method, its strength, or the seed?

Locatello et al. 2019, section 5.3. The variance of a score over all models of a data set has three
parts: between methods, between the strengths of a method, and between seeds. The first two are
estimated without what chance adds to means of few seeds, so that they are comparable
between studies of few and of many seeds; the plain R² of the paper is in variance_explained.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from tasks.report import intervals
from tasks.report.claims import ALL, Claim, claims_table
from tasks.report.comparable import (
    COMPARABLE_SOURCES,
    PAPERS_STEPS,
    Population,
    members,
    why_not_quoted,
)
from tasks.report.figures.axes import limits
from tasks.report.figures.lines import strength_lines
from tasks.report.frames import DATA_SET, groups
from tasks.report.intervals import Interval, Scores
from tasks.report.labels import data_label, method_legend
from tasks.report.published import EXPLAINED_BY_CELL, EXPLAINED_BY_METHOD, SIX
from tasks.report.questions import (
    Answer,
    Cell,
    Figure,
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
from tasks.report.sweeps import medians, sweep_of
from tasks.report.variance import moved, shares
from tasks.words import MISSING, data_name, plural

QUESTION = Question(
    "What decides a score: method, strength or seed?",
    menu="What decides?",
    papers=(("locatello-2019", "Figures 3, 4, 13 to 15 and Table 5"),),
)
ABOUT = (
    "The variance of a score over all models of a data set, in three parts: between methods, "
    "between the strengths of a method, and between seeds. Means of few seeds differ by chance, "
    "too: that is taken off the first two. For intervals of 95%, seeds are drawn anew within each "
    "cell."
)


@dataclass(frozen=True)
class Shares:
    """Parts of a score's variance on one data set; what is left is due to the seed."""

    data: str
    source: str
    metric: Column
    method: float
    cell: float  # method and strength together
    method_interval: Interval | None
    cell_interval: Interval | None
    models: int
    by: str  # what varies: "method", "strength", or "method and strength"


def answer(results: Results) -> Answer:
    rows = variance_shares(results.models, results.metrics)
    if not rows:
        return missing(
            "Nothing to divide: a data set needs two methods or strengths, and two scored models "
            "of a cell."
        )
    steps, axes = results.study.training.steps, results.study.axes
    findings = [
        finding(data, list(part), steps if source in COMPARABLE_SOURCES and not axes else None)
        for (data, source), part in groupby(rows, key=lambda row: (row.data, row.source))
    ]
    legend = method_legend(results.styles)
    return Answer(
        (
            Sentence(ABOUT),
            *findings,
            *_ranges(results),
            shares_table(rows, not axes and not why_not_quoted(results.study, results.models)),
            *claims_table(_claims(results), results.study),
            Figures(_figures(results), legend),
        )
    )


def variance_shares(models: pd.DataFrame, metrics: Sequence[Column]) -> list[Shares]:
    rows = []
    for (data, source), of_data in groups(models, DATA_SET):
        for metric in metrics:
            keys, table = intervals.by_cell(of_data, metric.id, ["method", "strength"])
            of_method = pd.factorize(keys["method"])[0]
            if len(keys) < 2 or (np.isfinite(table).sum(axis=1) < 2).all():
                continue
            estimates = shares(table[None], of_method)[0]
            if not np.isfinite(estimates).all():
                continue
            bounds = _intervals(table, of_method, estimates, (data, source, metric.id))
            by_method, by_cell = map(float, estimates)
            models_scored = int(np.isfinite(table).sum())
            of = (data, source, metric, by_method, by_cell, *bounds, models_scored)
            rows.append(Shares(*of, what_varies(of_method)))
    return rows


def what_varies(of_method: NDArray[np.int64]) -> str:
    """Between these cells, which are given by their methods."""
    methods = int(of_method.max()) + 1
    if methods == 1:
        return "strength"
    return "method" if methods == len(of_method) else "method and strength"


def _intervals(
    table: Scores, of_method: NDArray[np.int64], estimates: Scores, names: Sequence[str]
) -> tuple[Interval | None, Interval | None]:
    if not intervals.enough_seeds(table):
        return None, None
    distances = moved(table, of_method, intervals.stream("shares", *names))
    low, high = np.clip(estimates + np.quantile(distances, intervals.LEVEL, axis=0), 0.0, 1.0)
    return Interval(float(low[0]), float(high[0])), Interval(float(low[1]), float(high[1]))


def finding(data: str, rows: Sequence[Shares], steps: int | None = None) -> Sentence:
    """Of one metric in numbers, DCI if it is there, of the others the range; `steps`: how long
    models were trained, if it was on the paper's pictures."""
    first = next((row for row in rows if row.metric.name == "dci"), rows[0])
    by_cell = _share_text(first.cell, first.cell_interval)
    if first.by == "method and strength":
        by_method = _share_text(first.method, first.method_interval)
        text = Markup(
            "<b>{}</b>: the method explains {} of the variance of {}; with the strength, {}"
        )
        text = text.format(data_name(data), by_method, first.metric.title, by_cell)
    else:
        text = Markup("<b>{}</b>: the {} explains {} of the variance of {}")
        text = text.format(data_name(data), first.by, by_cell, first.metric.title)
    if steps is not None and first.by == "method and strength":
        text += _papers_shares(first, steps)
    if len(rows) > 1:
        verb = f"{first.by} explain" if " " in first.by else f"the {first.by} explains"
        low, high = min(row.cell for row in rows), max(row.cell for row in rows)
        text += f". Over all {len(rows)} scores, {verb} {100 * low:.0f}% to {100 * high:.0f}%"
    return Sentence(text + ".", "finding")


def _papers_shares(row: Shares, steps: int) -> str:
    key = row.data, row.metric.name
    if key not in EXPLAINED_BY_METHOD:
        return ""
    fewer = f" of {steps:,} steps in place of {PAPERS_STEPS:,}" if steps < PAPERS_STEPS else ""
    return (
        f". The paper’s {100 * EXPLAINED_BY_METHOD[key]:.0f}% and "
        f"{100 * EXPLAINED_BY_CELL[key]:.0f}% are plain R² of "
        f"{plural(Population((row.data,)).models, 'model')}; this study has {row.models:,}{fewer}"
    )


def _share_text(share: float, interval: Interval | None) -> str:
    return f"{100 * share:.0f}%" + (f" ({interval.percent()})" if interval else "")


def _ranges(results: Results) -> Iterator[Sentence]:
    """How far apart methods are, and how often the best cell of one score is that of another."""
    metrics = [m for m in results.metrics if m.direction]
    models = signed_so_more_is_better(results.models, metrics)
    apart, pairs = methods_apart(models, metrics)
    if pairs:
        yield Sentence(
            f"One method's lower quartile lies above all others' upper quartile in {apart} of "
            f"{plural(pairs, 'pair')} of data set and score.",
            "finding",
        )
    same, chances = same_best_cell(models, metrics)
    if chances:
        yield Sentence(
            f"The best method and strength by a score on a data set is also the best by another "
            f"score or on another data set in {same} of {chances:,} cases.",
            "finding",
        )


def _claims(results: Results) -> Iterator[Claim]:
    metrics = [metric for metric in results.metrics if metric.name in SIX]
    models = members(results.models, ALL)
    apart, pairs = methods_apart(models, metrics)
    if pairs:
        yield Claim(
            "No method is consistently better: the scores of the methods overlap heavily.",
            "Figure 13",
            f"One method stands above all others, by quartiles, in {apart} of {pairs} pairs of "
            "data set and score.",
            None,
            models,
        )
    same, chances = same_best_cell(models, metrics)
    if chances:
        yield Claim(
            "No method dominates all others, and no strength is best throughout.",
            "Figure 15",
            "The best method and strength by one score is also that by another, or on other "
            f"data, in {same} of {chances:,} cases.",
            same < chances,
            models,
        )


def methods_apart(models: pd.DataFrame, metrics: Sequence[Column]) -> tuple[int, int]:
    """In how many of (data set, metric) one method stands above all others by quartiles."""
    apart = pairs = 0
    for _, rows in groups(models, DATA_SET):
        for metric in metrics:
            by_method = rows.dropna(subset=[metric.id]).groupby("method")[metric.id]
            low, high = by_method.quantile(0.25).to_numpy(), by_method.quantile(0.75).to_numpy()
            if len(low) > 1:
                pairs += 1
                apart += bool(low.max() > np.delete(high, low.argmax()).max())
    return apart, pairs


def same_best_cell(models: pd.DataFrame, metrics: Sequence[Column]) -> tuple[int, int]:
    """Of all ordered pairs of different (data set, metric): how often both have one best cell."""
    best = []
    for _, rows in groups(models, DATA_SET):
        table = medians(rows, [metric.id for metric in metrics])
        for metric in metrics:
            scored = table.dropna(subset=[metric.id])
            if len(scored) > 1:
                top = scored[scored[metric.id] == scored[metric.id].max()]
                best.append(set(zip(top["method"], top["strength"], strict=True)))
    same = sum(bool(one & other) for i, one in enumerate(best) for other in best[:i])
    return 2 * same, len(best) * (len(best) - 1)


def shares_table(rows: Sequence[Shares], with_published: bool = False) -> Table:
    by_method, by_cell = (EXPLAINED_BY_METHOD, EXPLAINED_BY_CELL) if with_published else ({}, {})
    headings = (
        Heading("Data set"),
        Heading("Score"),
        Heading("Method", numeric=True),
        Heading("Method and strength", numeric=True),
        Heading("Seed", numeric=True),
        Heading("Models", numeric=True),
    )
    return Table(
        headings,
        tuple(
            Row(
                (
                    Cell(data_label(row.data, row.source)),
                    Cell(row.metric.title),
                    Cell(MISSING)
                    if row.by == "strength"
                    else _cell(row, row.method, row.method_interval, by_method),
                    _cell(row, row.cell, row.cell_interval, by_cell),
                    Cell(f"{100 * (1 - row.cell):.0f}%", 1 - row.cell),
                    Cell(f"{row.models:,}", row.models),
                )
            )
            for row in rows
        ),
        style="tight",
        id="what-decides-table",
        summary=plural(len(rows), "score") if len(rows) > 16 else "",
        open=len(rows) <= 16,
    )


def _cell(
    row: Shares, share: float, interval: Interval | None, published: dict[tuple[str, str], float]
) -> Cell:
    below = [interval.percent()] if interval else []
    if (theirs := published.get((row.data, row.metric.name))) is not None:
        below.append(f"paper, R²: {100 * theirs:.0f}%")
    return Cell(f"{100 * share:.0f}%", share, below=tuple(below))


def _figures(results: Results) -> tuple[FigureGroup, ...]:
    """Medians against the place of the strength, all methods in one panel."""
    collected = []
    scales = {metric.id: limits(results.models[metric.id]) for metric in results.metrics}
    for (data, source), rows in groups(results.models, DATA_SET):
        table = medians(rows, [metric.id for metric in results.metrics])
        figures = []
        for metric in results.metrics:
            medians_of = sweep_of(table, metric.id)
            if len(medians_of):
                drawing = strength_lines(
                    medians_of,
                    metric.id,
                    scales[metric.id],
                    results.styles,
                    name=f"sweep {data} {source} {metric.id}",
                    title=metric.title,
                )
                about = f"Median of {metric.title} per strength on {data_name(data)}."
                ids = rows.loc[rows[metric.id].notna(), "model_id"]
                figures.append(Figure(metric.title, about, drawing, medians_of, models=ids))
        if figures:
            collected.append(FigureGroup(data_label(data, source), tuple(figures)))
    return tuple(collected)
