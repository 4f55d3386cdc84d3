"""Do the scores agree with each other? Locatello et al. 2019, Figures 2, 11 and 12."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from markupsafe import Markup

from tasks.report import intervals
from tasks.report.frames import DATA_SET, groups
from tasks.report.labels import data_label, method_legend
from tasks.report.matrices import correlation_table
from tasks.report.published import SIX
from tasks.report.questions import (
    Answer,
    FigureGroup,
    Figures,
    Question,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Column, Results, signed_so_more_is_better
from tasks.report.score_scatter import score_scatter
from tasks.report.spearman import ENOUGH, correlation_matrix
from tasks.words import data_name, number

QUESTION = Question(
    "Do the scores agree with each other?",
    menu="Agreement",
    papers=(("locatello-2019", "Figures 2, 11 and 12"),),
    needs_factors=True,
)
ABOUT = (
    "Spearman's rank correlation over all models of a data set. Where less is better the sign is "
    "reversed: above 0 means that two scores call the same models good."
)


def answer(results: Results) -> Answer:
    metrics = [metric for metric in results.metrics if metric.direction]
    content: list[Sentence | Table] = []
    for (data, _), rows in groups(results.models, DATA_SET):
        scored = [metric for metric in metrics if rows[metric.id].notna().any()]
        if len(scored) > 1:
            content += _of_data_set(data, rows, scored)
    if not content:
        return missing("Two scores are needed to compare.")
    legend = method_legend(results.styles, "larger marker: greater strength")
    return Answer((Sentence(ABOUT), *content, Figures(_scatters(results), legend)))


def _of_data_set(
    data: str, rows: pd.DataFrame, metrics: Sequence[Column]
) -> tuple[Sentence, Table]:
    signed = signed_so_more_is_better(rows, metrics)
    rho, n = correlation_matrix(signed[[metric.id for metric in metrics]])
    titles = [metric.title for metric in metrics]
    most = int(n.max())
    caption = f"{data_name(data)}, n = {most:,}"
    table = correlation_table(titles, titles, rho, caption, summary=f"{data_name(data)}: all pairs")
    known = [pair for pair in combinations(range(len(metrics)), 2) if np.isfinite(rho[pair])]
    if not known:
        few = f"{data_name(data)}: no two scores have {ENOUGH} models with different values."
        return Sentence(few, "missing"), table
    ordered = sorted(known, key=lambda pair: -rho[pair])

    def pair_text(pair: tuple[int, int], how: str) -> str:
        both = f"{titles[pair[0]]} and {titles[pair[1]]} {how}"
        return f"{both}, {intervals.rho_text(float(rho[pair]), int(n[pair]))}"

    text = Markup("<b>{}</b>: the mean over {} is {}; {}").format(
        data_name(data),
        "one pair of scores" if len(known) == 1 else f"all {len(known)} pairs of scores",
        number(float(np.mean([rho[pair] for pair in known])), 2),
        pair_text(ordered[0], "agree most"),
    )
    if len(ordered) > 1:
        text += Markup("; {}").format(pair_text(ordered[-1], "agree least"))
    return Sentence(text + ".", "finding"), table


def _scatters(results: Results) -> tuple[FigureGroup, ...]:
    """Every pair of the paper's six scores, on the first data set that has them."""
    six = [metric for metric in results.metrics if metric.name in SIX]
    for (data, source), rows in groups(results.models, DATA_SET):
        figures = []
        for one, other in combinations([m for m in six if rows[m.id].notna().any()], 2):
            figures.append(
                score_scatter(
                    rows,
                    one,
                    other,
                    f"{other.title} against {one.title}",
                    f"on {data_name(data)}",
                    results.styles,
                    f"pair {data} {source} {one.id} {other.id}",
                )
            )
        if figures:
            return (FigureGroup(data_label(data, source), tuple(figures)),)
    return ()
