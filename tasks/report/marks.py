"""Marks of a few pixels: a cell's scores beside its numbers, and the markers of the legend.

Written directly: a large study has thousands, and a plotting library would need minutes.
"""

from __future__ import annotations

from markupsafe import Markup

from tasks.report.colours import Look
from tasks.report.tables import Summary

WIDTH, HEIGHT, EDGE = 66, 12, 3
POINTS = 12  # up to here every model is a point, above a box

Limits = tuple[float, float]


def mark(summary: Summary, scale: Limits, colour: str) -> Markup:
    """Points or a box on the column's scale, with a tick at the median; empty for one model."""
    if len(summary.values) < 2 or summary.median is None or summary.quartiles is None:
        return Markup("")
    low, high = scale

    def x(value: float) -> str:
        share = (value - low) / (high - low) if high > low else 0.5
        return f"{EDGE + share * (WIDTH - 2 * EDGE):.1f}"

    middle = HEIGHT / 2
    shapes = [f'<path class="base" d="M{EDGE} {middle}H{WIDTH - EDGE}"/>']
    if len(summary.values) <= POINTS:
        dots = "".join(f"M{x(value)} {middle}h0" for value in summary.values)
        shapes.append(f'<path class="dots" d="{dots}"/>')
    else:
        lower, upper = summary.quartiles
        shapes.append(
            f'<path class="reach" d="M{x(summary.values[0])} {middle}H{x(summary.values[-1])}"/>'
        )
        shapes.append(f'<path class="box" d="M{x(lower)} {middle}H{x(upper)}"/>')
    shapes.append(f'<path class="median" d="M{x(summary.median)} 1V{HEIGHT - 1}"/>')
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    style = f'style="color:var({colour})"'
    return Markup(f'<svg class="mark" {size} {style} aria-hidden="true">{"".join(shapes)}</svg>')


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


def legend_marker(look: Look) -> Markup:
    return Markup(
        f'<svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">'
        f'<path d="{SHAPES[look.marker]}" style="fill:var({look.variable})"/></svg>'
    )
