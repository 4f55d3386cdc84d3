"""Scores by method and strength: a point per model, or a box where there are many seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from tasks.report.figures import colours
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
from tasks.report.frames import groups
from tasks.words import method_name, strength_text

WIDTHS = (THIRD, 568, 1168)  # a third, half or all of the page
LETTER = 6.6  # px: a generous width of one letter at the figures' text size
NARROWEST, WIDEST = 12.5, 34.0  # px between strengths
POINTS_PER_CELL = 12  # above, a cell is a box; up to here every model is a point
QUARTILES = (0.0, 0.25, 0.75, 1.0)


@dataclass(frozen=True)
class _Cell:
    strength: float
    values: NDArray[np.float64]


def strip_plot(
    scores: pd.DataFrame, score: str, scale: Limits, styles: Mapping[str, Style], name: str
) -> Drawing:
    methods = [(method, _cells(rows, score)) for (method,), rows in groups(scores, ["method"])]
    width, step, rooms = _slots(
        [len(cells) for _, cells in methods], [method_name(method) for method, _ in methods]
    )
    longest = LETTER * max(len(strength_text(c.strength)) for _, cells in methods for c in cells)
    upright = longest > step - 2
    margins = Margins(right=8, bottom=40 + (longest - 5 if upright else 0))
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank(width, 176 + margins.bottom, margins)
        axes.set_xlim(0, sum(rooms))
        y_scale(axes, scale)
        start, how = 0.0, ("right", "center") if upright else ("center", "top")
        for (method, cells), room in zip(methods, rooms, strict=True):
            first = start + (room - step * (len(cells) - 1)) / 2
            places = [first + i * step for i in range(len(cells))]
            _draw_cells(axes, places, cells, min(0.36 * step, 9.0), styles[method])
            for x, cell in zip(places, cells, strict=True):
                text = strength_text(cell.strength)
                label(axes, text, (x, scale[0]), (0, -8), *how, upright=upright)
            below = ((start + room / 2, scale[0]), (0, 6 - margins.bottom))
            label(axes, method_name(method), *below, "center", "bottom", colours.INK)
            if start:
                axes.axvline(start, color=colours.RULE, linewidth=1, zorder=0, clip_on=False)
            start += room
        return Drawing(inline(figure, name), width)


def _cells(rows: pd.DataFrame, score: str) -> list[_Cell]:
    return [
        _Cell(float(strength), cell[score].dropna().to_numpy(dtype=float))
        for (strength,), cell in groups(rows, ["strength"])
    ]


def _slots(sizes: Sequence[int], names: Sequence[str]) -> tuple[int, float, list[float]]:
    """Width of the figure, pixels between strengths, and the width of every method's group.

    The narrowest figure in which every strength and every method's name has room.
    """
    for width in WIDTHS:
        inner = width - Margins().left - 8
        step = min(WIDEST, inner / (sum(sizes) + 0.6 * len(sizes)))
        groups = [
            max(step * (size + 0.6), LETTER * len(name) + 8)
            for size, name in zip(sizes, names, strict=True)
        ]
        spare = inner - sum(groups)
        if step >= NARROWEST and spare > -1:
            break
    return width, step, [group + spare / len(groups) for group in groups]


def _draw_cells(
    axes: Axes, places: Sequence[float], cells: Sequence[_Cell], half: float, style: Style
) -> None:
    """One artist for all cells of a method, since matplotlib's time goes by artists."""
    full = [(x, cell.values) for x, cell in zip(places, cells, strict=True) if len(cell.values)]
    points = [(x, values) for x, values in full if len(values) <= POINTS_PER_CELL]
    boxes = [(x, values) for x, values in full if len(values) > POINTS_PER_CELL]
    colour: dict[str, Any] = {"color": style.light, "clip_on": False}
    if points:
        axes.plot(
            np.concatenate([x + 0.75 * half * _spread(len(values)) for x, values in points]),
            np.concatenate([values for _, values in points]),
            style.marker,
            **{**colour, "alpha": 0.75, "markersize": 5.4, "mew": 0},
        )
    if boxes:
        at = [x for x, _ in boxes]
        low, lower, upper, high = np.transpose([np.quantile(v, QUARTILES) for _, v in boxes])
        axes.vlines(at, low, high, linewidth=1.2, **colour)
        axes.vlines(at, lower, upper, linewidth=1.6 * half, alpha=0.55, **colour)
    full = [(x, values) for x, values in full if len(values) > 1]
    if full:
        medians = [float(np.median(values)) for _, values in full]
        left, right = [x - half for x, _ in full], [x + half for x, _ in full]
        axes.hlines(medians, left, right, color=colours.INK, linewidth=1.8, clip_on=False)


def _spread(count: int) -> NDArray[np.float64]:
    """Offsets from -1 to 1 that keep neighbouring points apart, the same every time."""
    if count == 1:
        return np.zeros(1)
    golden = (math.sqrt(5) - 1) / 2
    return np.array([2 * ((place * golden + 0.5) % 1) - 1 for place in range(count)])
