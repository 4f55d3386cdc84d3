"""Do good hyperparameters of one data set do well on another? Locatello et al. 2019, Figure 17."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from tasks.report import intervals
from tasks.report.claims import ALL, Claim, claims_table
from tasks.report.comparable import members
from tasks.report.frames import DATA_SET
from tasks.report.labels import method_legend
from tasks.report.matrices import correlation_table
from tasks.report.published import SIX
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
from tasks.report.score_scatter import score_scatter
from tasks.report.spearman import ENOUGH, correlation_matrix
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
    table = claims_table(transfer_claim(results), results.study)
    return Answer((Sentence(ABOUT), *content, *table, Figures(_scatters(results), legend)))


def transfer_claim(results: Results) -> Iterator[Claim]:
    """The mean over the six scores of the correlation of each pair of the paper's data sets."""
    models = members(results.models, ALL)
    six = [metric for metric in results.metrics if metric.name in SIX]
    of_pairs: dict[tuple[str, str], list[float]] = {}
    for metric in six:
        table = cell_medians(models, metric)
        if table.shape[1] < 2:
            continue
        rho, _ = correlation_matrix(table)
        for one, other in combinations(range(table.shape[1]), 2):
            if np.isfinite(rho[one, other]):
                pair = _title(*table.columns[one]), _title(*table.columns[other])
                of_pairs.setdefault(pair, []).append(float(rho[one, other]))
    means = {pair: float(np.mean(values)) for pair, values in of_pairs.items()}
    alike = {data_name("dsprites"), data_name("color_dsprites")}
    theirs = next((pair for pair in means if set(pair) == alike), None)
    finding = ""
    if theirs:
        finding = f"ρ of the two is {number(means[theirs], 2)}, the mean of {len(six)} scores"
        others = {pair: mean for pair, mean in means.items() if pair != theirs}
        if others:
            first = max(others, key=lambda pair: others[pair])
            finding += (
                f"; of the other pairs {first[0]} and {first[1]} agree most, "
                f"{number(others[first], 2)}"
            )
    yield Claim(
        "Good hyperparameters seem to transfer only between dSprites and Color-dSprites.",
        "Figures 17 and 18",
        finding + "." if finding else "",
        theirs is not None and means[theirs] == max(means.values()),
        models,
    )


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
    text = Markup("<b>{}</b>: {} and {} agree most, {}").format(
        metric.title,
        titles[best[0]],
        titles[best[1]],
        intervals.rho_text(float(rho[best]), int(n[best])),
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
        first, *others = medians.columns.to_frame().itertuples(index=False, name=None)
        figures = tuple(
            figure
            for other in others
            if (figure := _scatter(metric, medians, first, other, results))
        )
        if figures:
            collected.append(FigureGroup(metric.title, figures))
    return tuple(collected)


def _scatter(
    metric: Column,
    medians: pd.DataFrame,
    first: tuple[str, str],
    other: tuple[str, str],
    results: Results,
) -> Figure | None:
    """One data set against the first; a point leads to its cell of the other."""
    across, up = (
        Column(f"{metric.name} on {' '.join(key)}", _title(*key)) for key in (first, other)
    )
    both = pd.DataFrame({across.id: medians[first], up.id: medians[other]}).dropna().reset_index()
    if both.empty:
        return None
    models = results.models[results.models[metric.id].notna()]
    is_of = [(models[DATA_SET] == list(key)).all(axis=1) for key in (first, other)]
    return score_scatter(
        both.assign(data=other[0], source=other[1]),
        across,
        up,
        f"{up.title} against {across.title}",
        f"by the medians of {metric.title}",
        results.styles,
        f"across {metric.id} {up.id}",
        models=models.loc[is_of[0] | is_of[1], "model_id"],
    )
