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
from tasks.report.frames import groups

Points = NDArray[np.float64]  # (models, 2)
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
) -> Drawing:
    """One score against another: methods by colour and marker, strengths by size; with a line
    where both are equal, if asked for. With `powers` both scores are powers of 10."""
    crowd = is_crowd(len(models.dropna(subset=[across, up])))
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
            cells = _points(rows, across, up)
            if crowd:
                cells = _middle_halves(axes, cells, style)
            for place, cell in enumerate(cells):
                size = marker_size(place, len(cells))
                options: dict[str, Any] = {
                    "color": style.light,
                    "alpha": 0.8 if crowd else 0.6,
                    "markersize": size,
                }
                axes.plot(*cell.T, style.marker, mew=0, clip_on=False, **options)
        return Drawing(inline(figure, name), THIRD)


def _points(rows: pd.DataFrame, across: str, up: str) -> list[Points]:
    """The models that have both scores, per strength."""
    strengths, both = rows["strength"].to_numpy(), rows[[across, up]].to_numpy(dtype=float)
    complete = np.isfinite(both).all(axis=1)
    return [both[complete & (strengths == strength)] for strength in np.unique(strengths)]


def is_crowd(models: int) -> bool:
    """Whether so many points would hide each other, so that cells stand for them."""
    return models > CROWD


def _middle_halves(axes: Axes, cells: list[Points], style: Style) -> list[Points]:
    """A cross per cell, over the middle half of its models in both directions; its medians."""
    empty = np.full((3, 2), np.nan)
    quartiles = [np.quantile(c, (0.25, 0.5, 0.75), axis=0) if len(c) else empty for c in cells]
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
