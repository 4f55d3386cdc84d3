"""How are the scores distributed over methods and strengths?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from tasks.report.figures.axes import limits
from tasks.report.figures.colours import Style
from tasks.report.figures.strips import MOST_POINTS, strip_plot
from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.labels import data_label
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
from tasks.words import data_name, method_name, number

QUESTION = Question(
    "Distributions",
    menu="Distributions",
    papers=(("duan-2020", "Figures 2, 7 and 12"), ("locatello-2019", "Figure 14")),
)
MOST_OF_PAGE = 24_000  # points: with more, a page would be slow
HOLLOW = " Collapsed models are hollow: they have no informative latent."


def answer(results: Results) -> Answer:
    figures = distributions(results.models, results.columns, results.styles)
    if not figures:
        return missing("No scores and no UDR yet, so there are no distributions to show.")
    most = points_per_cell(results.models, results.columns)
    hollow = bool(results.models["collapsed"].any())
    return Answer((Sentence(_about(most) + (HOLLOW if hollow else "")), Figures(figures)))


def points_per_cell(models: pd.DataFrame, columns: Sequence[Column]) -> int:
    """Up to how many models of a cell are drawn as points: as many as the page can hold."""
    cells = max(models.groupby(CELL).ngroups, 1)
    return min(MOST_POINTS, MOST_OF_PAGE // (cells * max(len(columns), 1)))


def _about(most: int) -> str:
    return (
        f"Every score by method and strength: a point per model, or for more than {most} seeds a "
        "box over the middle half and a line from lowest to highest. The dark bar is the median. "
        "A score has one scale on all data sets."
    )


def distributions(
    models: pd.DataFrame, columns: Sequence[Column], styles: Mapping[str, Style]
) -> tuple[FigureGroup, ...]:
    scales = {column.id: limits(models[column.id]) for column in columns}
    most = points_per_cell(models, columns)
    figure_groups = []
    for (data, source), rows in groups(models, DATA_SET):
        figures = tuple(
            Figure(
                title=column.title,
                description=_medians(rows, column, data),
                drawing=strip_plot(
                    rows,
                    column.id,
                    scales[column.id],
                    styles,
                    name=f"strip {data} {source} {column.id}",
                    title=column.title,
                    most=most,
                ),
                data=rows[["model_id", *CELL, "seed", column.id]],
            )
            for column in columns
            if rows[column.id].notna().any()
        )
        if figures:
            figure_groups.append(FigureGroup(data_label(data, source), figures))
    return tuple(figure_groups)


def _medians(rows: pd.DataFrame, column: Column, data: str) -> str:
    medians = (
        f"{method_name(method)} {number(part[column.id].median())}"
        for (method,), part in groups(rows, ["method"])
    )
    return f"{column.title} on {data_name(data)}; medians over all models: {', '.join(medians)}."
