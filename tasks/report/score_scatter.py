"""A figure of one score against another, with their rank correlation below its title."""

from __future__ import annotations

import pandas as pd

from tasks.report.figures.axes import Limits, limits
from tasks.report.figures.scatter import scatter_plot
from tasks.report.labels import Styles
from tasks.report.questions import Figure
from tasks.report.results import Column
from tasks.report.spearman import spearman


def score_scatter(
    rows: pd.DataFrame,
    across: Column,
    up: Column,
    title: str,
    where: str,
    styles: Styles,
    name: str,
    scales: tuple[Limits, Limits] | None = None,
    across_title: str = "",
    models: pd.Series[str] | None = None,
    among: tuple[str, ...] = ("data", "source"),
) -> Figure:
    """`where` says in words which models these are; without `scales` they fit the rows. `models`
    are the ids of those behind rows that are cells; `among` as in Figure."""
    agreement = str(spearman(rows[across.id], rows[up.id]))
    drawing = scatter_plot(
        models=rows,
        across=across.id,
        up=up.id,
        scales=scales or (limits(rows[across.id]), limits(rows[up.id])),
        across_title=across_title or across.title,
        styles=styles,
        name=name,
        up_title=up.title,
    )
    keys = [c for c in ("model_id", "data", "source", "method", "strength", "seed") if c in rows]
    about = f"{up.title} against {across.title} {where}: {agreement}."
    data = rows[[*keys, across.id, up.id]]
    return Figure(title, about, drawing, data, agreement, models, among)
