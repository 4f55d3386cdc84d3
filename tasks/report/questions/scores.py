"""What does each cell score?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from markupsafe import Markup

from metrics import DEVIATION, HEADLINE
from tasks.report.every_model import cell_page
from tasks.report.figures.axes import Limits, limits
from tasks.report.figures.sparklines import sparkline
from tasks.report.frames import CELL, DATA_SET, Frames, groups
from tasks.report.header import data_sets
from tasks.report.labels import data_label, method_label
from tasks.report.questions import (
    Answer,
    Cell,
    Filter,
    Heading,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Column, Results
from tasks.words import (
    MISSING,
    POOL_MEANINGS,
    data_name,
    method_name,
    metric_name,
    number,
    plural,
)

QUESTION = Question("Scores per cell", menu="Scores")
FEW_ROWS = 6  # need no filters
FITTING = 9  # columns of scores, in a window of 1280 pixels
MARKED = Markup('<span class="marked">marked</span>')


@dataclass(frozen=True)
class Summary:
    """One score over the seeds of a cell; no values, no median."""

    values: tuple[float, ...]  # rising
    median: float | None = None
    best: bool = False


@dataclass(frozen=True)
class CellRow:
    """One row of the table of scores."""

    data: str
    source: str
    method: str
    strength: float
    trained: int
    ended: int  # trained, diverged or failed
    collapsed: int
    scores: tuple[Summary, ...]


def answer(results: Results) -> Answer:
    if results.models.empty:
        text = "No model has been trained to its end yet, so there is nothing to score, to rank or "
        return missing(text + "to show.")
    rows = cell_rows(results.frames, results.models, results.columns)
    notes = (*_repeats(results), *_chaotic_dci(results))
    return Answer((*_sentences(results, rows), *notes, score_table(results, rows)))


def _chaotic_dci(results: Results) -> list[Sentence]:
    """What one DCI is worth where its trees' steps are so long that rounding decides."""
    if "metric dci" not in results.models:
        return []
    stable = Column("dci", "DCI", part="stable")
    models = results.with_parts([stable]).dropna(subset=["metric dci", stable.id])
    sentences = []
    for (data, source), rows in groups(models, DATA_SET):
        differ = rows[rows["metric dci"] != rows[stable.id]]
        if len(differ):
            text = Markup(
                "{}: DCI of {} of {} is from boosted trees whose steps are so long that rounding "
                "and the order of latents decide. For one β-VAE of Cars3D, numbers of other "
                "orders deviate by 0.01 (docs/choices.md, “One DCI on Cars3D”). The median of the "
                "models named here is {}, and {} with bounded steps (part “stable”)."
            ).format(
                data_label(data, source),
                f"{len(differ):,}",
                plural(len(rows), "model"),
                number(float(differ["metric dci"].median())),
                number(float(differ[stable.id].median())),
            )
            sentences.append(Sentence(text, "note"))
    return sentences


def _repeats(results: Results) -> list[Sentence]:
    """What repeated draws say of the error of a single score."""
    repeats = results.study.metrics.repeats
    if repeats == 1:
        return []
    columns = [replace(metric, part=HEADLINE + DEVIATION) for metric in results.metrics]
    models = results.with_parts(columns)
    texts = [
        f"{metric.title} {number(float(deviations.median()), 3)}"
        for metric, column in zip(results.metrics, columns, strict=True)
        if len(deviations := models[column.id].dropna())
    ]
    about = (
        f"Every score is the mean of {repeats} independent draws of points and groups. One draw "
        "deviates by (median over models, n - 1): "
    )
    return [Sentence(f"{about}{', '.join(texts)}.", "note")] if texts else []


def cell_rows(
    frames: Frames,
    models: pd.DataFrame,
    columns: Sequence[Column],
    best_of_method: bool = False,
) -> list[CellRow]:
    """A row per cell of which any model ended, in the order of the grid. The best of each data set
    is marked, or of each of its methods."""
    trained = dict(groups(models, CELL))
    rows = []
    for key, ended in groups(frames.models, CELL):
        of_cell = trained.get(key, models.iloc[:0])
        data, source, method, strength = key
        rows.append(
            CellRow(
                data=data,
                source=source,
                method=method,
                strength=float(strength),
                trained=len(of_cell),
                ended=len(ended),
                collapsed=int(of_cell["collapsed"].sum()),
                scores=tuple(summarise(of_cell[column.id]) for column in columns),
            )
        )
    return _mark_best(rows, columns, best_of_method)


def summarise(scores: pd.Series[float]) -> Summary:
    values = np.sort(scores.dropna().to_numpy(dtype=float))
    if not len(values):
        return Summary(())
    return Summary(tuple(values.tolist()), float(np.quantile(values, 0.5)))


def _mark_best(rows: list[CellRow], columns: Sequence[Column], of_method: bool) -> list[CellRow]:
    """Mark the best median of every data set (or of its methods) and score, where there is a
    choice; the lowest where less is better."""
    marked = [list(row.scores) for row in rows]
    for place, column in enumerate(columns):
        of_data: dict[tuple[str, str, str], list[int]] = {}
        for i, row in enumerate(rows):
            if column.direction and row.scores[place].median is not None:
                key = (row.data, row.source, row.method if of_method else "")
                of_data.setdefault(key, []).append(i)
        for candidates in of_data.values():
            medians = [rows[i].scores[place].median or 0.0 for i in candidates]
            top = max(medians) if column.more_is_better else min(medians)
            winners = [i for i in candidates if rows[i].scores[place].median == top]
            if len(winners) < len(candidates):
                for i in winners:
                    marked[i][place] = replace(marked[i][place], best=True)
    return [replace(row, scores=tuple(s)) for row, s in zip(rows, marked, strict=True)]


def _sentences(results: Results, rows: Sequence[CellRow]) -> list[Sentence]:
    """What is missing, what the table shows, and what its columns mean."""
    sentences = [Sentence(text, "missing") for text in _unscored(results.frames)]
    if not results.metrics and not sentences:
        sentences.append(Sentence("No supervised scores yet.", "missing"))
    if results.udr is None:
        why = ": no model had another to be compared with" if results.rankings else ""
        sentences.append(Sentence(f"No UDR yet{why}.", "missing"))
    if results.models["seed"].nunique() == 1:
        one_seed = "There is a single seed, so there are no ranges: a difference between two cells "
        sentences.append(Sentence(one_seed + "may be chance.", "missing"))
    about: str = (
        "A row per cell, that is data set, method and strength: the median over seeds, with the "
        "lowest and the highest below it. Click a heading to sort by it."
    )
    if any(column.direction for column in results.columns):
        text = "{} The best median of each data set, over all methods, is {}."
        about = Markup(text).format(about, MARKED)
    sentences.append(Sentence(about))
    if len(results.columns) > FITTING:
        wide = "The table is wider than the page: scroll it sideways."
        at_its_end = " UDR is at its right end." if results.rankings else ""
        sentences.append(Sentence(wide + at_its_end, "note"))
    for column in results.rankings:
        if column.pool in POOL_MEANINGS:
            sentences.append(Sentence(f"{column.title}: {POOL_MEANINGS[column.pool]}.", "note"))
    if any(row.collapsed for row in rows):
        collapsed = "Collapsed: a model without informative latents; its UDR is 0."
        sentences.append(Sentence(collapsed, "note"))
    return sentences


def _unscored(frames: Frames) -> list[str]:
    """What could not be scored, a sentence per data set and reason."""
    sentences: list[str] = []
    for (data, source, reason), rows in groups(frames.unscored, [*DATA_SET, "reason"]):
        counts = rows["metric"].value_counts(sort=False)
        metrics = ", ".join(metric_name(name) for name in counts.index)
        models = plural(int(counts.max()), "model")
        text = Markup("No {} for {} on {}: {}.")
        sentences.append(text.format(metrics, models, data_label(data, source), reason))
    return sentences


def score_table(results: Results, rows: Sequence[CellRow]) -> Table:
    """A row per cell, which leads to its page."""
    scales = [limits(results.models[column.id]) for column in results.columns]
    return Table(
        headings=(
            Heading("Cell", style="pin narrow"),
            Heading("Models", style="narrow"),
            *(Heading(column.title) for column in results.columns),
        ),
        rows=tuple(_row(place, row, scales, results) for place, row in enumerate(rows, 1)),
        id="score-table",
        style="scores",
        caption="Scores per cell",
        row_headings=True,
        sortable=True,
        filters=_filters(results) if len(rows) > FEW_ROWS else (),
    )


def _filters(results: Results) -> tuple[Filter, ...]:
    sets = tuple(
        (f"{one.name} {one.source}", f"{data_name(one.name)}, {one.source}")
        for one in data_sets(results.study, results.frames.models)
        if one.source is not None
    )
    methods = tuple((method, method_name(method)) for method in results.styles)
    filters = Filter("set", "Data set", sets), Filter("method", "Method", methods)
    return tuple(filter for filter in filters if len(filter.options) > 1)


def _row(place: int, row: CellRow, scales: Sequence[Limits], results: Results) -> Row:
    label = method_label(row.method, results.styles, row.strength)
    name = Markup('<a class="plain" href="../cells/{}.html">{}</a>').format(
        cell_page({key: getattr(row, key) for key in CELL}), label
    )
    below = (Markup('<span class="ill">of {}</span>').format(row.ended),)
    counts = (
        *(below if row.ended > row.trained else ()),
        *((f"{row.collapsed} collapsed",) if row.collapsed else ()),
    )
    colour = results.styles[row.method].variable
    return Row(
        (
            Cell(name, place, (data_label(row.data, row.source),), style="pin who"),
            Cell(str(row.trained), row.trained, counts),
            *(
                _score_cell(summary, row.trained, scale, colour)
                for summary, scale in zip(row.scores, scales, strict=True)
            ),
        ),
        keys={"set": f"{row.data} {row.source}", "method": row.method},
    )


def _score_cell(summary: Summary, trained: int, scale: Limits, colour: str) -> Cell:
    values = summary.values
    if summary.median is None:
        return Cell(MISSING, style="muted")
    below = []
    if len(values) > 1:
        below.append(f"{number(values[0])} to {number(values[-1])}")
    if len(values) < trained:
        below.append(f"n = {len(values)}")
    return Cell(
        text=Markup("<b>{}</b>").format(number(summary.median)),
        value=summary.median,
        below=tuple(below),
        style="best" if summary.best else "",
        mark=sparkline(values, scale, colour),
    )
