"""Rank correlation against the number of comparisons: a line per method, with a band around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from tasks.report import colours, svg
from tasks.report.canvas import BETWEEN, Drawing, Limits, Margins, blank, label, limits, y_scale
from tasks.report.colours import Look
from tasks.report.fewer import COMPARISONS, Curve
from tasks.report.figures import WIDTH

HEIGHT = 128.0  # of one ranking's axes
ROOM = 2.5  # comparisons left and right of the lines


def bands_scale(curves: Sequence[Curve]) -> Limits:
    """One scale for the lines, their bands and where they end."""
    values = [
        *(m + s for c in curves for m, s in zip(c.mean, c.deviation, strict=True)),
        *(m - s for c in curves for m, s in zip(c.mean, c.deviation, strict=True)),
        *(c.everyone for c in curves),
    ]
    return limits(pd.Series(values))


def bands_plot(
    curves: Sequence[Curve], scale: Limits, looks: Mapping[str, Look], name: str
) -> Drawing:
    """Curves of one data set and metric; rankings stand one above the other."""
    rankings = list(dict.fromkeys(curve.ranking for curve in curves))
    margins = Margins(top=22)
    height = margins.top + margins.bottom + HEIGHT * len(rankings) + BETWEEN * (len(rankings) - 1)
    last = max(curve.p[-1] for curve in curves)
    with mpl.rc_context(svg.STYLE):
        figure, rows = blank(WIDTH, height, margins, len(rankings))
        for axes, ranking in zip(rows, rankings, strict=True):
            axes.set_xlim(COMPARISONS[0] - ROOM, last + ROOM)
            y_scale(axes, scale)
            at = (axes.get_xlim()[0], scale[1])
            title = f"rank correlation of {ranking.title}"
            label(axes, title, at, (-42, 9), "left", "bottom", colours.INK)
            for curve in (one for one in curves if one.ranking == ranking):
                at_p, mean, spread = (np.array(v) for v in (curve.p, curve.mean, curve.deviation))
                look = looks[curve.method]
                low, high = mean - spread, mean + spread
                style: dict[str, Any] = {"color": look.light, "clip_on": False}
                axes.fill_between(at_p, low, high, alpha=0.16, linewidth=0, **style)
                line = f"{look.marker}-"
                axes.plot(at_p, mean, line, linewidth=1.6, markersize=4.6, mew=0, **style)
                end = axes.get_xlim()[1]
                axes.plot([end - 1.2, end], [curve.everyone] * 2, "-", linewidth=2.4, **style)
        for p in COMPARISONS[: COMPARISONS.index(last) + 1]:
            label(rows[-1], str(p), (p, scale[0]), (0, -8), "center", "top")
        middle = (COMPARISONS[0] + last) / 2
        label(rows[-1], "comparisons per model", (middle, scale[0]), (0, -24), "center", "top")
        return Drawing(svg.inline(figure, name), WIDTH)
