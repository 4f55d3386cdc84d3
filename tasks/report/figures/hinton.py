"""Hinton diagrams: a matrix of numbers from 0 as squares, the larger the larger its number.

Written directly, as its squares are few and of one kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from tasks.report.figures.axes import Drawing

CELL = 28  # px
LARGEST = 26  # px: the side of the largest square
SMALLEST = 0.4  # px: smaller squares would not be seen
LETTER = 6.2  # px: a generous width of one letter


def hinton_diagram(
    rows: Sequence[str],
    columns: Sequence[str],
    values: NDArray[np.float64],
    largest: float,
    name: str,
) -> Drawing:
    """The side of a square is to LARGEST as its value is to `largest`."""
    left = round(LETTER * max(map(len, rows)) + 12)
    top = round(LETTER * max(map(len, columns)) + 12)
    right, bottom = left + CELL * len(columns), top + CELL * len(rows)
    shapes = [
        f'<path style="fill:none;stroke:var(--rule)" d="{_lines(left, top, right, bottom)}"/>'
    ]
    for column, title in enumerate(columns):
        at = f"translate({left + CELL * (column + 0.5) + 4:.1f} {top - 7}) rotate(-90)"
        shapes.append(f'<text transform="{at}">{escape(title)}</text>')
    for row, title in enumerate(rows):
        at = f'x="{left - 7}" y="{top + CELL * (row + 0.5) + 4:.1f}" text-anchor="end"'
        shapes.append(f"<text {at}>{escape(title)}</text>")
    squares = "".join(
        _square(left + CELL * (column + 0.5), top + CELL * (row + 0.5), LARGEST * value / largest)
        for (row, column), value in np.ndenumerate(values)
        if largest > 0
    )
    shapes.append(f'<g style="fill:var(--ink)">{squares}</g>')
    size = f'width="{right + 2}" height="{bottom + 2}" viewBox="0 0 {right + 2} {bottom + 2}"'
    text = "font-size:11px;fill:var(--muted)"
    svg = f'<svg {size}><g style="{text}">{"".join(shapes)}</g></svg>'
    return Drawing(Markup(svg), right + 2, name)


def _square(x: float, y: float, side: float) -> str:
    if side < SMALLEST:
        return ""
    corner = f'x="{x - side / 2:.1f}" y="{y - side / 2:.1f}"'
    return f'<rect {corner} width="{side:.1f}" height="{side:.1f}"/>'


def _lines(left: int, top: int, right: int, bottom: int) -> str:
    """The edges of all cells."""
    across = "".join(f"M{left} {y}.5H{right}" for y in range(top, bottom + 1, CELL))
    up = "".join(f"M{x}.5 {top}V{bottom}" for x in range(left, right + 1, CELL))
    return across + up
