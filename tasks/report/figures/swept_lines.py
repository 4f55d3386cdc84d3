"""A number against the values of something swept, a line with bars per value of something else.

Values stand at even distances, as most sweeps double. Lines go from light to dark as their values
rise, and stand a little apart so that their bars do not hide each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

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
from tasks.report.figures.colours import STEPS
from tasks.report.figures.points import points_at

HEIGHT = 236.0
APART = 0.36  # of the distance between two values: all lines together
LIGHTEST = 1  # the first step is too light for a thin line


@dataclass(frozen=True)
class SweptLine:
    """The cells of a line: a row per point, with `place` (of its value, from 0), the score, `low`
    and `high`, which may be NaN."""

    value: str
    cells: pd.DataFrame


def swept_lines(
    lines: Sequence[SweptLine],
    score: str,
    values: Sequence[str],
    scale: Limits,
    across_title: str,
    name: str,
    title: str,
) -> Drawing:
    """`values` are written below, in the order of their places."""
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank(THIRD, HEIGHT, Margins())
        axes.set_xlim(-0.45, len(values) - 0.55)
        y_scale(axes, scale)
        drawn: list[tuple[pd.DataFrame, NDArray[np.float64], NDArray[np.float64]]] = []
        for number, line in enumerate(lines):
            colour = STEPS[_step(number, len(lines))][1]
            shift = APART * (number / (len(lines) - 1) - 0.5) if len(lines) > 1 else 0.0
            x = line.cells["place"].to_numpy(float) + shift
            y, low, high = (line.cells[c].to_numpy(float) for c in (score, "low", "high"))
            options: dict[str, Any] = {"color": colour, "clip_on": False}
            there = np.isfinite(low) & np.isfinite(high)
            axes.vlines(x[there], low[there], high[there], linewidth=1.2, alpha=0.7, **options)
            axes.plot(x, y, "o-", linewidth=1.5, markersize=5.4, mew=0, **options)
            drawn.append((line.cells, x, y))
        for place, text in enumerate(values):
            label(axes, text, (place, scale[0]), (0, -8), "center", "top")
        middle = ((len(values) - 1) / 2, scale[0])
        label(axes, across_title, middle, (0, -24), "center", "top")
        cells, across, up = zip(*drawn, strict=True)
        scores = np.concatenate(up)
        keys = pd.concat(cells)
        points = points_at(axes, keys, np.concatenate(across), scores, {title: scores})
        return Drawing(inline(figure, name), THIRD, name, points)


def line_legend(what: str, values: Sequence[str]) -> Markup:
    """A dot of each line's colour, and its value; nothing for a single line."""
    dot = Markup('<i class="step" style="background:var({})"></i>{}')
    dots = Markup(" ").join(
        dot.format(STEPS[_step(number, len(values))][0], value)
        for number, value in enumerate(values)
    )
    return Markup("{}: {}").format(what, dots)


def _step(number: int, count: int) -> int:
    last = len(STEPS) - 1
    return last - 1 if count == 1 else round(LIGHTEST + (last - LIGHTEST) * number / (count - 1))
