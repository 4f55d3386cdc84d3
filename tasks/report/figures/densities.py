"""Panels side by side of many points each: how many there are in each place, not one mark for each.

Written directly: a panel is a path for each shade, in which a run of places is a few bytes, however
many points there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from tasks.report.figures.axes import Drawing
from tasks.words import number

Numbers = NDArray[np.float64]
PLACES, PIXELS = 66, 2  # of a side of a panel, and px of a place
SIDE = PLACES * PIXELS
LEFT, BETWEEN, TOP, BOTTOM = 34, 30, 34, 22  # px around panels
MOST_DIGITS = 6
SHADES = ((1, 0.35), (2, 0.65), (4, 1.0))  # from so many points on, and how strong


@dataclass(frozen=True)
class Panel:
    """Points, the ends of the upward scale, and the words above."""

    across: Numbers
    up: Numbers
    scale: tuple[float, float]
    title: str
    subtitle: str


def density_panels(panels: Sequence[Panel], variable: str, name: str) -> Drawing:
    """`variable` is the CSS variable of the colour."""
    width = LEFT + len(panels) * (SIDE + BETWEEN) - BETWEEN + 4
    height = TOP + SIDE + BOTTOM
    shapes = [
        f'<g transform="translate({LEFT + place * (SIDE + BETWEEN)} {TOP})">'
        f"{_panel(panel, variable)}</g>"
        for place, panel in enumerate(panels)
    ]
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    style = "font-size:11px;fill:var(--muted)"
    return Drawing(
        Markup(f'<svg {size}><g style="{style}">{"".join(shapes)}</g></svg>'), width, name
    )


def counts(panel: Panel) -> tuple[NDArray[np.int64], tuple[float, float]]:
    """Points by row from the top and column, and the ends of the scale across."""
    low, high = float(panel.across.min()), float(panel.across.max())
    ends = (low, high) if high > low else (low - 0.5, low + 0.5)
    columns = _places(panel.across, ends)
    rows = PLACES - 1 - _places(panel.up, panel.scale)
    table = np.zeros((PLACES, PLACES), np.int64)
    np.add.at(table, (rows, columns), 1)
    return table, ends


def _places(values: Numbers, ends: tuple[float, float]) -> NDArray[np.int64]:
    low, high = ends
    shares = (values - low) / (high - low) if high > low else np.zeros(len(values))
    return (shares * PLACES).astype(np.int64).clip(0, PLACES - 1)


def _panel(panel: Panel, variable: str) -> str:
    table, ends = counts(panel)
    paths = []
    for place, (least, opacity) in enumerate(SHADES):
        is_in = table >= least
        if place + 1 < len(SHADES):
            is_in &= table < SHADES[place + 1][0]
        if runs := _runs(is_in):
            style = f"stroke:var({variable});stroke-opacity:{opacity};stroke-width:{PIXELS}"
            paths.append(f'<path style="{style}" d="{runs}"/>')
    frame = f'<path style="fill:none;stroke:var(--rule)" d="M-.5 -.5H{SIDE}.5V{SIDE}.5H-.5z"/>'
    words = [
        f'<text x="0" y="-20" style="fill:var(--ink)">{escape(panel.title)}</text>',
        f'<text x="0" y="-7">{escape(panel.subtitle)}</text>',
    ]
    for text, y in zip(_ends(panel.scale), (SIDE, 9), strict=True):
        words.append(f'<text x="-5" y="{y}" text-anchor="end">{text}</text>')
    for text, x, anchor in zip(_ends(ends), (0, SIDE), ("start", "end"), strict=True):
        words.append(f'<text x="{x}" y="{SIDE + 14}" text-anchor="{anchor}">{text}</text>')
    return frame + "".join(paths) + "".join(words)


def _ends(ends: tuple[float, float]) -> list[str]:
    """Both ends, with a digit more than tells them apart."""
    extent = ends[1] - ends[0]
    digits = min(max(1, 1 - math.floor(math.log10(2 * extent))), MOST_DIGITS) if extent > 0 else 1
    return [number(end, digits) for end in ends]


def _runs(is_in: NDArray[np.bool_]) -> str:
    """Lines over neighbouring places of a row, by pixels."""
    edges = np.diff(is_in.astype(np.int8), axis=1, prepend=0, append=0)
    rows, starts = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    return "".join(
        f"M{PIXELS * start} {PIXELS * row + PIXELS // 2}h{PIXELS * (end - start)}"
        for row, start, end in zip(rows, starts, ends, strict=True)
    )
