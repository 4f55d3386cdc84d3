"""Which method scores higher, and how sure is that?

Means and rankings of a few seeds say little by themselves. As in Agarwal et al. 2021, "Deep
reinforcement learning at the edge of the statistical precipice": interquartile means with
intervals from a stratified bootstrap, the probability that a model of one method scores higher
than one of another, and the share of models above every score. All strengths of a method count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from tasks.report import intervals
from tasks.report.figures.axes import limits
from tasks.report.figures.profiles import profiles_plot
from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.intervals import Interval, Scores
from tasks.report.labels import data_label, method_label, method_legend
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
from tasks.words import MISSING, data_name, method_name, number, plural

QUESTION = Question("Which method scores higher, and how sure is that?", menu="Methods compared")
ABOUT = (
    "The interquartile mean is the mean of the middle half of a method's models, over all its "
    "strengths. Its 95% interval is from seeds drawn anew within each cell. A lead is clear where "
    "the interval of the probability that a model of the best method is better than one of the "
    "next (equal scores count half) lies above 50%."
)
DRAWS = 300


@dataclass(frozen=True)
class Standing:
    """One method by one score on one data set."""

    method: str
    middle: float  # the interquartile mean
    interval: Interval | None
    models: int


@dataclass(frozen=True)
class Comparison:
    """The methods by one score on one data set, best first, and how often the first beats the
    second."""

    data: str
    source: str
    metric: Column
    methods: tuple[Standing, ...]
    wins: float | None = None
    wins_interval: Interval | None = None

    @property
    def is_clear(self) -> bool:
        return self.wins_interval is not None and self.wins_interval.low > 0.5


def answer(results: Results) -> Answer:
    metrics = [metric for metric in results.metrics if metric.direction]
    rows = comparisons(signed_so_more_is_better(results.models, metrics), metrics)
    if not any(len(row.methods) > 1 for row in rows):
        return missing("Two methods with a score are needed to compare.")
    sets = dict.fromkeys((row.data, row.source) for row in rows)
    content: list[Sentence | Table] = []
    for key in sets:
        of_data = [row for row in rows if (row.data, row.source) == key]
        content += [*_findings(key[0], of_data), _table(of_data, results)]
    figures = Figures(_profiles(results, metrics), method_legend(results.styles))
    return Answer((Sentence(ABOUT), *content, figures))


def comparisons(models: pd.DataFrame, metrics: Sequence[Column]) -> list[Comparison]:
    rows = []
    for (data, source), of_data in groups(models, DATA_SET):
        for metric in metrics:
            tables = {
                method: intervals.by_cell(part, metric.id, ["strength"])[1]
                for (method,), part in groups(of_data.dropna(subset=[metric.id]), ["method"])
            }
            names = (data, source, metric.id)
            if tables:
                standings, wins, bounds = _compared(tables, names)
                rows.append(Comparison(data, source, metric, standings, wins, bounds))
    return rows


def _compared(
    tables: Mapping[str, Scores], names: Sequence[str]
) -> tuple[tuple[Standing, ...], float | None, Interval | None]:
    standings = []
    for method, table in tables.items():
        draws = intervals.stream("middle", method, *names)
        bounds = intervals.bootstrap(table, interquartile_means, draws, DRAWS)
        middle = float(interquartile_means(table[None])[0])
        standings.append(Standing(method, middle, bounds, int(np.isfinite(table).sum())))
    standings.sort(key=lambda one: -one.middle)
    if len(standings) < 2:
        return tuple(standings), None, None
    first, second = (tables[one.method] for one in standings[:2])
    wins = float(wins_of(first[None], second[None])[0])
    bounds = None
    if intervals.enough_seeds(first) and intervals.enough_seeds(second):
        draws = intervals.stream("wins", *names)
        redrawn = (intervals.redrawn(table, draws, DRAWS) for table in (first, second))
        low, high = np.quantile(wins_of(*redrawn), intervals.LEVEL)
        bounds = Interval(float(low), float(high))
    return tuple(standings), wins, bounds


def interquartile_means(tables: Scores) -> Scores:
    """(count,) of (count, cells, seeds): the mean without the lowest and the highest quarter.

    A quarter that is no whole number of models takes its share of the model at its edge.
    """
    values = np.sort(tables.reshape(len(tables), -1), axis=1)  # NaN last
    n = int(np.isfinite(values[0]).sum())
    edges = np.arange(n + 1)
    weight = np.clip(np.minimum(edges[1:], 0.75 * n) - np.maximum(edges[:-1], 0.25 * n), 0, None)
    means: Scores = values[:, :n] @ weight / weight.sum()
    return means


def wins_of(some: Scores, others: Scores) -> Scores:
    """(count,): how often a value of one table is above one of the other; equal ones count half."""
    wins = []
    for one, other in zip(some, others, strict=True):
        mine, theirs = (np.sort(table[np.isfinite(table)]) for table in (one, other))
        below = np.searchsorted(theirs, mine, "left") + np.searchsorted(theirs, mine, "right")
        wins.append(below.mean() / (2 * len(theirs)))
    return np.array(wins)


def _findings(data: str, rows: Sequence[Comparison]) -> list[Sentence]:
    """The first score in numbers; of how many scores the best method's lead is clear."""
    compared = [row for row in rows if row.wins is not None]
    if not compared:
        return []
    first = compared[0]
    best, second = first.methods[:2]
    text = Markup("<b>{}</b>: by {}, {} comes first with an interquartile mean of {}{}").format(
        data_name(data),
        first.metric.title,
        method_name(best.method),
        number(best.middle * (-1 if first.metric.direction < 0 else 1), 2),
        _in_brackets(best.interval, first.metric.direction),
    )
    wins = first.wins or 0.0
    bounds = f" ({first.wins_interval.percent()})" if first.wins_interval else ""
    text += (
        f"; one of its models is better than one of {method_name(second.method)} in "
        f"{100 * wins:.0f}%{bounds} of cases. The lead of the best method over the next is clear "
        f"by {sum(row.is_clear for row in compared)} of {plural(len(compared), 'score')}."
    )
    return [Sentence(text, "finding")]


def _in_brackets(interval: Interval | None, direction: int) -> str:
    if interval is None:
        return ""
    low, high = sorted(abs(end) if direction < 0 else end for end in interval)
    return f" ({Interval(low, high).text()})"


def _table(rows: Sequence[Comparison], results: Results) -> Table:
    """A row per method, a column per score."""
    methods = [m for m in results.styles if any(m in _by_method(row) for row in rows)]
    headings = (
        Heading("Method"),
        *(Heading(row.metric.title, numeric=True) for row in rows),
    )
    lines = []
    for method in methods:
        cells = [Cell(method_label(method, results.styles), method, style="who")]
        for row in rows:
            standing = _by_method(row).get(method)
            cells.append(_cell(standing, row))
        lines.append(Row(tuple(cells)))
    first = rows[0]
    return Table(
        headings,
        tuple(lines),
        style="tight",
        caption=f"{data_name(first.data)}: interquartile means; the clear leader is marked",
        row_headings=True,
    )


def _by_method(row: Comparison) -> dict[str, Standing]:
    return {standing.method: standing for standing in row.methods}


def _cell(standing: Standing | None, row: Comparison) -> Cell:
    if standing is None:
        return Cell(MISSING)
    sign = -1 if row.metric.direction < 0 else 1
    value = sign * standing.middle
    below = []
    if standing.interval:
        low, high = sorted(sign * end for end in standing.interval)
        below.append(Interval(low, high).text())
    leads = row.is_clear and standing.method == row.methods[0].method
    return Cell(number(value, 2), value, tuple(below), style="agrees" if leads else "")


def _profiles(results: Results, metrics: Sequence[Column]) -> tuple[FigureGroup, ...]:
    """Per score: the share of a method's models that reach it."""
    collected = []
    scales = {metric.id: limits(results.models[metric.id]) for metric in metrics}
    for (data, source), rows in groups(results.models, DATA_SET):
        figures = []
        for metric in metrics:
            values: dict[str, NDArray[np.float64]] = {
                method: np.sort(part[metric.id].dropna().to_numpy(float))
                for (method,), part in groups(rows, ["method"])
                if part[metric.id].notna().any()
            }
            if values:
                name = f"profile {data} {source} {metric.id}"
                drawing = profiles_plot(values, scales[metric.id], results.styles, name)
                about = (
                    f"Share of the models of each method with at least so much {metric.title}, on "
                    f"{data_name(data)}."
                )
                data_of = rows[["model_id", *CELL, "seed", metric.id]]
                subtitle = "share of models with at least so much"
                figures.append(Figure(metric.title, about, drawing, data_of, subtitle))
        if figures:
            collected.append(FigureGroup(data_label(data, source), tuple(figures)))
    return tuple(collected)
