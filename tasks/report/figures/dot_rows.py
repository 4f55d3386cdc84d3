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
APART = 0.36  # of a row
LETTER = 6.6  # px: a generous width of one letter at the figures' text size


def dot_rows(
    titles: Sequence[str],
    values: NDArray[np.float64],
    styles: Sequence[Style],
    scale: Limits,
    name: str,
    spans: NDArray[np.float64] | None = None,
) -> Drawing:
    """`values` has a row per title, the first on top, and a column per style; NaN is not drawn.

    `spans` has the ends of a line through each of them; then those of a row are apart.
    """
    margins = Margins(left=12 + LETTER * max(map(len, titles)), bottom=26)
    height = margins.top + ROW * len(titles) + margins.bottom
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank(WIDTH, height, margins)
        axes.set_ylim(len(titles) - 0.5, -0.5)
        x_scale(axes, scale)
        for row, title in enumerate(titles):
            axes.plot(scale, (row, row), color=colours.RULE, linewidth=1, zorder=0)
            label(axes, title, (scale[0], row), (-8, 0), "right", "center", colours.INK)
        for place, (style, column) in enumerate(zip(styles, values.T, strict=True)):
            aside = 0.0 if spans is None else APART * (place - (len(styles) - 1) / 2)
            rows = np.arange(len(titles)) + aside
            if spans is not None:
                known = np.isfinite(spans[:, place]).all(axis=1)
                low, high = spans[known, place].T
                axes.hlines(rows[known], low, high, color=style.light, linewidth=1.5, zorder=1)
            axes.plot(
                column,
                rows,
                style.marker,
                color=style.light,
                markersize=6.5,
                mew=0,
                clip_on=False,
            )
        return Drawing(inline(figure, name), WIDTH, name)
