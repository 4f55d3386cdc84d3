"""Rows of named points on one scale: for example correlations, a row per metric."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from tasks.report.figures import colours
from tasks.report.figures.axes import (
    STYLE,
    Drawing,
    Limits,
    Margins,
    blank,
    inline,
    label,
    x_scale,
)
from tasks.report.figures.colours import Style

WIDTH = 568  # px: half of the page
ROW = 22.0  # px
LETTER = 6.6  # px: a generous width of one letter at the figures' text size


def dot_rows(
    titles: Sequence[str],
    values: NDArray[np.float64],
    styles: Sequence[Style],
    scale: Limits,
    name: str,
) -> Drawing:
    """`values` has a row per title, the first on top, and a column per style; NaN is not drawn."""
    margins = Margins(left=12 + LETTER * max(map(len, titles)), bottom=26)
    height = margins.top + ROW * len(titles) + margins.bottom
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank(WIDTH, height, margins)
        axes.set_ylim(len(titles) - 0.5, -0.5)
        x_scale(axes, scale)
        for row, title in enumerate(titles):
            axes.plot(scale, (row, row), color=colours.RULE, linewidth=1, zorder=0)
            label(axes, title, (scale[0], row), (-8, 0), "right", "center", colours.INK)
        for style, column in zip(styles, values.T, strict=True):
            axes.plot(
                column,
                np.arange(len(titles)),
                style.marker,
                color=style.light,
                markersize=6.5,
                mew=0,
                clip_on=False,
            )
        return Drawing(inline(figure, name), WIDTH, name)
