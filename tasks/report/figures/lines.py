"""A number against the place of a strength in its sweep: a line per method.

Strengths of different methods are not comparable, so that the first, second ... of each stand one
above the other.
"""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes

from tasks.report.figures.axes import (
    STYLE,
    THIRD,
    Drawing,
    Limits,
    Margins,
    blank,
    inline,
    label,
    y_scale,
)
from tasks.report.figures.colours import Style
from tasks.report.figures.points import Points, points_at
from tasks.report.frames import groups

HEIGHT = 216.0


def strength_lines(
    sweeps: pd.DataFrame,
    score: str,
    scale: Limits,
    styles: Mapping[str, Style],
    name: str,
    title: str,
    powers: bool = False,
) -> Drawing:
    """A row per method and strength: the place of the strength in its sweep, from 1 for the
    weakest, and the score; with `powers`, scores are powers of 10."""
    places = int(sweeps["place"].max())
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank(THIRD, HEIGHT, Margins())
        axes.set_xlim(0.7, places + 0.3)
        y_scale(axes, scale, powers)
        for (method,), rows in groups(sweeps, ["method"]):
            style = styles[method]
            axes.plot(
                rows["place"].to_numpy(),
                rows[score].to_numpy(dtype=float),
                f"{style.marker}-",
                color=style.light,
                linewidth=1.6,
                markersize=5.4,
                mew=0,
                clip_on=False,
            )
        for place in range(1, places + 1):
            label(axes, str(place), (place, scale[0]), (0, -8), "center", "top")
        middle = ((1 + places) / 2, scale[0])
        label(axes, "place of the strength, weakest first", middle, (0, -24), "center", "top")
        points = _points(axes, sweeps.dropna(subset=[score]), score, title, powers)
        return Drawing(inline(figure, name), THIRD, name, points)


def _points(
    axes: Axes, sweeps: pd.DataFrame, score: str, title: str, powers: bool
) -> Points | None:
    y = sweeps[score].to_numpy(dtype=float)
    return points_at(axes, sweeps, sweeps["place"], y, {title: 10**y if powers else y})
