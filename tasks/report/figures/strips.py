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
from tasks.report.figures.points import MODEL, collapsed_of, points_at, without_model
from tasks.report.frames import groups
from tasks.words import method_name, strength_value

WIDTHS = (THIRD, 568, 1168)  # a third, half or all of the page
LETTER = 6.6  # px: a generous width of one letter at the figures' text size
NARROWEST, WIDEST = 12.5, 34.0  # px between strengths
MOST_POINTS = 60  # of a cell: with more models it is a box
FEW_POINTS = 12  # of a cell, up to which they are large
QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)

Places = NDArray[np.float64]
Drawn = tuple[pd.DataFrame, Places, Places]  # what points are, and where they lie


@dataclass(frozen=True)
class _Cell:
    strength: float
    models: pd.DataFrame  # those that have the score
    values: NDArray[np.float64]
    is_box: bool


def strip_plot(
    scores: pd.DataFrame,
    score: str,
    scale: Limits,
    styles: Mapping[str, Style],
    name: str,
    title: str = "",
    most: int = MOST_POINTS,
) -> Drawing:
    """A cell with more than so many models is a box. Collapsed models are hollow."""
    scores = scores[[name for name in (*MODEL, "collapsed", score) if name in scores]]
    methods = [
        (method, _cells(rows, score, most)) for (method,), rows in groups(scores, ["method"])
    ]
    width, step, rooms = _slots(
        [len(cells) for _, cells in methods], [method_name(method) for method, _ in methods]
    )
    texts = {
        (method, cell.strength): strength_value(method, cell.strength)
        for method, cells in methods
        for cell in cells
    }
    longest = LETTER * max(map(len, texts.values()))
    upright = longest > step - 2
    margins = Margins(right=8, bottom=40 + (longest - 5 if upright else 0))
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank(width, 176 + margins.bottom, margins)
        axes.set_xlim(0, sum(rooms))
        y_scale(axes, scale)
        drawn: list[Drawn] = []
        start, how = 0.0, ("right", "center") if upright else ("center", "top")
        for (method, cells), room in zip(methods, rooms, strict=True):
            first = start + (room - step * (len(cells) - 1)) / 2
            places = [first + i * step for i in range(len(cells))]
            drawn += _draw_cells(axes, places, cells, min(0.36 * step, 9.0), styles[method])
            for x, cell in zip(places, cells, strict=True):
                text = texts[method, cell.strength]
                label(axes, text, (x, scale[0]), (0, -8), *how, upright=upright)
            below = ((start + room / 2, scale[0]), (0, 6 - margins.bottom))
            label(axes, method_name(method), *below, "center", "bottom", colours.INK)
            if start:
                axes.axvline(start, color=colours.RULE, linewidth=1, zorder=0, clip_on=False)
            start += room
        points = None
        if drawn:
            keys, across, up = zip(*drawn, strict=True)
            y = np.concatenate(up)
            values = {title or score: y}
            points = points_at(axes, pd.concat(keys), np.concatenate(across), y, values)
        return Drawing(inline(figure, name), width, name, points)


def _cells(rows: pd.DataFrame, score: str, most: int) -> list[_Cell]:
    cells = []
    for (strength,), cell in groups(rows, ["strength"]):
        models = cell[cell[score].notna()]
        values = models[score].to_numpy(dtype=float)
        cells.append(_Cell(float(strength), models, values, len(values) > most))
    return cells


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
) -> list[Drawn]:
    """One artist for all cells of a method, since matplotlib's time goes by artists."""
    full = [(x, cell) for x, cell in zip(places, cells, strict=True) if len(cell.values)]
    strips = [(x, cell) for x, cell in full if not cell.is_box]
    boxes = [(x, cell) for x, cell in full if cell.is_box]
    colour: dict[str, Any] = {"color": style.light, "clip_on": False}
    drawn: list[Drawn] = []
    if strips:
        x = np.concatenate([x + 0.75 * half * _spread(len(cell.values)) for x, cell in strips])
        y = np.concatenate([cell.values for _, cell in strips])
        models = pd.concat([cell.models for _, cell in strips])
        hollow = collapsed_of(models).to_numpy()
        few = max(len(cell.values) for _, cell in strips) <= FEW_POINTS
        options = {**colour, "alpha": 0.75, "markersize": 5.4 if few else 4.0}
        axes.plot(x[~hollow], y[~hollow], style.marker, mew=0, **options)
        if hollow.any():
            axes.plot(x[hollow], y[hollow], style.marker, mfc="none", mew=1.1, **options)
        drawn.append((models, x, y))
    if boxes:
        at = np.array([x for x, _ in boxes])
        values = [np.quantile(cell.values, QUARTILES) for _, cell in boxes]
        low, lower, median, upper, high = np.transpose(values)
        axes.vlines(at, low, high, linewidth=1.2, **colour)
        axes.vlines(at, lower, upper, linewidth=1.6 * half, alpha=0.55, **colour)
        firsts = pd.concat([cell.models.iloc[:1] for _, cell in boxes])
        drawn.append((without_model(firsts), at, median))
    full = [(x, cell) for x, cell in full if len(cell.values) > 1]
    if full:
        medians = [float(np.median(cell.values)) for _, cell in full]
        left, right = [x - half for x, _ in full], [x + half for x, _ in full]
        axes.hlines(medians, left, right, color=colours.INK, linewidth=1.8, clip_on=False)
    return drawn


def _spread(count: int) -> NDArray[np.float64]:
    """Offsets from -1 to 1 that keep neighbouring points apart, the same every time."""
    if count == 1:
        return np.zeros(1)
    golden = (math.sqrt(5) - 1) / 2
    return np.array([2 * ((place * golden + 0.5) % 1) - 1 for place in range(count)])
