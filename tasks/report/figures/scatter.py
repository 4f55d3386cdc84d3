"""One score against another: a point per model, or a cross per cell where there are many.

Each figure is drawn by itself at a size in CSS pixels, and the page lays them out; captions, titles
and legends are the page's text. matplotlib's objects are used directly, without pyplot's state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from tasks.report.figures import colours
from tasks.report.figures.axes import (
    STYLE,
    THIRD,
    Drawing,
    Limits,
    Margins,
    blank,
    inline,
    label,
    x_scale,
    y_scale,
)
from tasks.report.figures.colours import Style
from tasks.report.figures.points import Points, collapsed_of, points_at
from tasks.report.frames import CELL, groups

Places = NDArray[np.float64]  # (models, 2)
CROWD = 600  # with more models a scatter shows cells instead


def scatter_plot(
    models: pd.DataFrame,
    across: str,
    up: str,
    scales: tuple[Limits, Limits],
    across_title: str,
    styles: Mapping[str, Style],
    name: str,
    diagonal: bool = False,
    powers: bool = False,
    up_title: str = "",
) -> Drawing:
    """One score against another: methods by colour and marker, strengths by size, collapsed models
    hollow; with a line where both are equal, if asked for. With `powers` both scores are powers of
    10."""
    sizes = _sizes(models)
    models = models[np.isfinite(models[[across, up]].to_numpy(dtype=float)).all(axis=1)]
    crowd = is_crowd(len(models))
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank(THIRD, 250, Margins())
        axes.set_ylim(*scales[1])
        x_scale(axes, scales[0], powers)
        y_scale(axes, scales[1], powers)
        label(axes, across_title, (sum(scales[0]) / 2, scales[1][0]), (0, -24), "center", "top")
        if diagonal:
            ends = max(scales[0][0], scales[1][0]), min(scales[0][1], scales[1][1])
            axes.plot(ends, ends, color=colours.MUTED, linewidth=1, zorder=0)
        for (method,), rows in groups(models, ["method"]):
            style = styles[method]
            by_strength = {
                float(strength): rows[rows["strength"] == strength]
                for strength in np.unique(rows["strength"])
            }
            cells = [cell[[across, up]].to_numpy(dtype=float) for cell in by_strength.values()]
            hollow = [collapsed_of(cell).to_numpy() for cell in by_strength.values()]
            if crowd:
                cells = _middle_halves(axes, cells, style)
                hollow = [np.zeros(1, dtype=bool)] * len(cells)
            for strength, cell, is_hollow in zip(by_strength, cells, hollow, strict=True):
                options: dict[str, Any] = {
                    "color": style.light,
                    "alpha": 0.8 if crowd else 0.6,
                    "markersize": sizes[method, strength],
                    "clip_on": False,
                }
                axes.plot(*cell[~is_hollow].T, style.marker, mew=0, **options)
                if is_hollow.any():
                    axes.plot(*cell[is_hollow].T, style.marker, mfc="none", mew=1.2, **options)
        points = _points(axes, models, (across, up), (across_title, up_title or up), powers)
        return Drawing(inline(figure, name), THIRD, name, points)


def _sizes(models: pd.DataFrame) -> dict[tuple[str, float], float]:
    """Of the markers, by method and strength; also where a strength has no scores."""
    return {
        (method, strength): marker_size(place, len(strengths))
        for (method,), rows in groups(models, ["method"])
        for strengths in [np.unique(rows["strength"])]
        for place, strength in enumerate(strengths)
    }


def _points(
    axes: Axes, models: pd.DataFrame, scores: tuple[str, str], titles: tuple[str, str], powers: bool
) -> Points | None:
    """Every model, or every cell at its medians."""
    if is_crowd(len(models)) and {*CELL} <= {*models.columns}:
        models = models.groupby(CELL, sort=False)[list(scores)].median().reset_index()
    x, y = (models[score].to_numpy(dtype=float) for score in scores)
    values = (10**x, 10**y) if powers else (x, y)
    return points_at(axes, models, x, y, dict(zip(titles, values, strict=True)))


def is_crowd(models: int) -> bool:
    """Whether so many points would hide each other, so that cells stand for them."""
    return models > CROWD


def _middle_halves(axes: Axes, cells: list[Places], style: Style) -> list[Places]:
    """A cross per cell, over the middle half of its models in both directions; its medians."""
    quartiles = [np.quantile(cell, (0.25, 0.5, 0.75), axis=0) for cell in cells]
    across, up = np.transpose(quartiles, (2, 1, 0))  # each (quartiles, cells)
    options: dict[str, Any] = {
        "color": style.light,
        "linewidth": 1,
        "alpha": 0.45,
        "clip_on": False,
    }
    axes.hlines(up[1], across[0], across[2], **options)
    axes.vlines(across[1], up[0], up[2], **options)
    return [medians[None] for _, medians, _ in quartiles]


def marker_size(place: int, strengths: int) -> float:
    """From small (the weakest) to large (the strongest), in pixels."""
    return 4.8 + 4.2 * place / max(strengths - 1, 1)
