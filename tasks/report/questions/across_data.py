"""Do good hyperparameters of one data set do well on another? Locatello et al. 2019, Figure 17."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from tasks.report import intervals
from tasks.report.figures.axes import limits
from tasks.report.figures.scatter import scatter_plot
from tasks.report.frames import DATA_SET
from tasks.report.labels import method_legend
from tasks.report.matrices import correlation_table
from tasks.report.questions import (
    Answer,
    Figure,
    FigureGroup,
    Figures,
    Question,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Column, Results
from tasks.report.spearman import ENOUGH, correlation_matrix, spearman
from tasks.words import data_name, number, plural

QUESTION = Question(
    "Do good strengths of one data set do well on another?",
    menu="Across data sets",
    papers=(("locatello-2019", "Figures 4, 17 and 18"),),
    needs_factors=True,
)
ABOUT = (
    "Spearman's rank correlation between two data sets over the methods and strengths, each at its "
    "median over seeds."
)


def answer(results: Results) -> Answer:
    sets = results.models[DATA_SET].drop_duplicates()
    if len(sets) < 2:
        return missing("Two data sets are needed to compare.")
    content: list[Sentence | Table] = []
    for metric in results.metrics:
        medians = cell_medians(results.models, metric)
        if medians.shape[1] > 1:
            content += _of_metric(metric, medians)
    if not content:
        return missing("No score has been computed on two data sets yet.")
    legend = method_legend(results.styles, "larger marker: greater strength")
    return Answer((Sentence(ABOUT), *content, Figures(_scatters(results), legend)))


def cell_medians(models: pd.DataFrame, metric: Column) -> pd.DataFrame:
    """A row per method and strength, a column per data set that has the score."""
    scored = models.dropna(subset=[metric.id])
    by = ["method", "strength", *DATA_SET]
    return scored.groupby(by, sort=False)[metric.id].median().unstack(DATA_SET)


def _of_metric(metric: Column, medians: pd.DataFrame) -> tuple[Sentence, Table]:
    titles = [_title(*key) for key in medians.columns]
    rho, n = correlation_matrix(medians)
    caption = f"{metric.title}, up to {plural(int(n.max()), 'method and strength', 'cells')}"
    table = correlation_table(titles, titles, rho, caption, summary=f"{metric.title}: all pairs")
    return _finding(metric, titles, rho, n), table


def _title(data: str, source: str) -> str:
    return f"{data_name(data)}, look-alike" if source == "look-alike" else data_name(data)


def _finding(
    metric: Column, titles: Sequence[str], rho: NDArray[np.float64], n: NDArray[np.int64]
) -> Sentence:
    known = [pair for pair in combinations(range(len(titles)), 2) if np.isfinite(rho[pair])]
    if not known:
        few = f"{metric.title}: no two data sets share {ENOUGH} methods and strengths."
        return Sentence(few, "missing")
    best = max(known, key=lambda pair: rho[pair])
    interval = intervals.of_rank_correlation(float(rho[best]), int(n[best]))
    text = Markup("<b>{}</b>: {} and {} agree most, ρ = {}{}").format(
        metric.title,
        titles[best[0]],
        titles[best[1]],
        number(float(rho[best]), 2),
        f" ({interval.text()})" if interval else "",
    )
    if len(known) > 1:
        mean = float(np.mean([rho[pair] for pair in known]))
        text += f"; the mean over {len(known)} pairs of data sets is {number(mean, 2)}"
    return Sentence(text + ".", "finding")


def _scatters(results: Results) -> tuple[FigureGroup, ...]:
    """The cells' medians on the first data set across, on every other up."""
    collected = []
    for metric in results.metrics:
        medians = cell_medians(results.models, metric)
        figures = []
        for key in medians.columns[1:]:
            first = medians.columns[0]
            both = medians[[first, key]].dropna().reset_index()
            both.columns = pd.Index(["method", "strength", "first", "other"])
            if both.empty:
                continue
            agreement = str(spearman(both["first"], both["other"]))
            title = f"{_title(*key)} against {_title(*first)}"
            drawing = scatter_plot(
                models=both,
                across="first",
                up="other",
                scales=(limits(both["first"]), limits(both["other"])),
                across_title=_title(*first),
                styles=results.styles,
                name=f"across {metric.id} {key}",
            )
            about = f"Medians of {metric.title}, {title}: {agreement}."
            figures.append(Figure(title, about, drawing, both, agreement))
        if figures:
            collected.append(FigureGroup(metric.title, tuple(figures)))
    return tuple(collected)
