"""A square of numbers between -1 and 1, shaded by their sign and size, with a title for each row.

Written directly, as its squares are few and of one kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from tasks.report.figures.axes import Drawing

SQUARE = 27  # px
LETTER = 6.2  # px: a generous width of one letter
DARKEST = 0.62  # opacity of 1 and -1
POSITIVE, NEGATIVE = "--m0", "--m1"  # as in tables of correlations


def heat_map(titles: Sequence[str], values: NDArray[np.float64], name: str) -> Drawing:
    """`values` (titles, titles) are written times 100; NaN is an empty square."""
    room = round(LETTER * max(map(len, titles)) + 10)
    side = room + SQUARE * len(titles)
    shapes = []
    for row, title in enumerate(titles):
        middle = room + SQUARE * (row + 0.5)
        upright = f'transform="translate({middle + 4:.1f} {room - 6}) rotate(-90)"'
        shapes.append(f"<text {upright}>{escape(title)}</text>")
        at = f'x="{room - 6}" y="{middle + 4:.1f}" text-anchor="end"'
        shapes.append(f"<text {at}>{escape(title)}</text>")
        for column, value in enumerate(values[row]):
            if np.isfinite(value):
                shapes.append(_square(room, row, column, float(value)))
    size = f'width="{side}" height="{side}" viewBox="0 0 {side} {side}"'
    style = "font-size:11px;fill:var(--ink)"
    svg = f'<svg {size}><g style="{style}">{"".join(shapes)}</g></svg>'
    return Drawing(Markup(svg), side, name)


def _square(room: int, row: int, column: int, value: float) -> str:
    x, y = room + SQUARE * column, room + SQUARE * row
    colour = f"fill:var({NEGATIVE if value < 0 else POSITIVE})"
    place = f'x="{x}" y="{y}" width="{SQUARE - 1}" height="{SQUARE - 1}"'
    shade = f'style="{colour};fill-opacity:{DARKEST * abs(value):.2f}"'
    text = str(round(100 * value)).replace("-", "−")
    middle = f'x="{x + (SQUARE - 1) / 2}" y="{y + SQUARE / 2 + 3.5}" text-anchor="middle"'
    return f"<rect {place} {shade}/><text {middle}>{text}</text>"
