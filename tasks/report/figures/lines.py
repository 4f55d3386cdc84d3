"""A number against the place of a strength in its sweep: a line per method.

Strengths of different methods are not comparable, so that the first, second ... of each stand one
above the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np

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

HEIGHT = 216.0


def strength_lines(
    lines: Mapping[str, Sequence[float]],
    scale: Limits,
    styles: Mapping[str, Style],
    name: str,
    powers: bool = False,
) -> Drawing:
    """By method: a value per strength, from the weakest on; NaN where there is none. With `powers`
    they are powers of 10."""
    places = max(map(len, lines.values()))
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank(THIRD, HEIGHT, Margins())
        axes.set_xlim(0.7, places + 0.3)
        y_scale(axes, scale, powers)
        for method, values in lines.items():
            style = styles[method]
            axes.plot(
                np.arange(1, len(values) + 1),
                np.asarray(values, dtype=float),
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
        return Drawing(inline(figure, name), THIRD)
