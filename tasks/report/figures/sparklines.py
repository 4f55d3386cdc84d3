"""Drawings of a few pixels: a cell's scores next to its numbers, and the markers of the legend.

Written directly: a large study has thousands, and a plotting library would need minutes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from tasks.report.figures.axes import Limits
from tasks.report.figures.colours import Style

WIDTH, HEIGHT, EDGE = 42, 12, 3
POINTS = 12  # up to here every model is a point, above a box
SHAPES = {  # of matplotlib's markers, in a square of 12
    "o": "M6 1.5a4.5 4.5 0 1 0 .01 0z",
    "s": "M2 2H10V10H2z",
    "^": "M6 1.5L11 10.5H1z",
    "v": "M6 10.5L11 1.5H1z",
    "<": "M1.5 6L10.5 1V11z",
    ">": "M10.5 6L1.5 1V11z",
    "D": "M6 1L11 6L6 11L1 6z",
    "P": "M4 1H8V4H11V8H8V11H4V8H1V4H4z",
    "X": "M3 1L6 4L9 1L11 3L8 6L11 9L9 11L6 8L3 11L1 9L4 6L1 3z",
    "p": "M6 1L11 4.8L9 11H3L1 4.8z",
}


def sparkline(values: Sequence[float], scale: Limits, colour: str) -> Markup:
    """Points or a box on the column's scale, with a tick at the median; empty for one model."""
    if len(values) < 2:
        return Markup("")
    low, high = scale

    def x(value: float) -> str:
        share = (value - low) / (high - low) if high > low else 0.5
        return f"{EDGE + share * (WIDTH - 2 * EDGE):.1f}"

    lower, median, upper = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
    middle = HEIGHT / 2
    shapes = [f'<path class="base" d="M{EDGE} {middle}H{WIDTH - EDGE}"/>']
    if len(values) <= POINTS:
        dots = "".join(f"M{x(value)} {middle}h0" for value in values)
        shapes.append(f'<path class="dots" d="{dots}"/>')
    else:
        reach = f"M{x(min(values))} {middle}H{x(max(values))}"
        shapes.append(f'<path class="reach" d="{reach}"/>')
        shapes.append(f'<path class="box" d="M{x(lower)} {middle}H{x(upper)}"/>')
    shapes.append(f'<path class="median" d="M{x(median)} 1V{HEIGHT - 1}"/>')
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    style = f'style="color:var({colour})"'
    return Markup(f'<svg class="mark" {size} {style} aria-hidden="true">{"".join(shapes)}</svg>')


def legend_marker(style: Style) -> Markup:
    return Markup(
        f'<svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">'
        f'<path d="{SHAPES[style.marker]}" style="fill:var({style.variable})"/></svg>'
    )
