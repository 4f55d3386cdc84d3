"""Lines with a band around each: one kind over a few ticks, one over the steps of a training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from tasks.report.figures import colours
from tasks.report.figures.axes import (
    BETWEEN,
    STYLE,
    THIRD,
    Drawing,
    Limits,
    Margins,
    blank,
    inline,
    label,
    limits,
    x_scale,
    y_scale,
)
from tasks.report.figures.colours import Style

HEIGHT = 128.0  # px, of one panel
TRAINING = 109.0  # likewise, of a training
SIDES = 2.5  # in units of the ticks, left and right of the lines
EARLY = 0.1  # of the training: its losses dwarf all others, so they do not set the scale


@dataclass(frozen=True)
class Line:
    """A line with a band of ± spread, and a short bar at the right of the panel for `end`."""

    panel: str  # the title of the axes that it is drawn in
    style: Style
    at: Sequence[float]
    middle: Sequence[float]
    spread: Sequence[float]
    end: float


def lines_plot(
    lines: Sequence[Line], scale: Limits, ticks: Sequence[int], across_title: str, name: str
) -> Drawing:
    """Panels one above the other, with one scale."""
    panels = list(dict.fromkeys(line.panel for line in lines))
    margins = Margins(top=22)
    height = margins.top + margins.bottom + HEIGHT * len(panels) + BETWEEN * (len(panels) - 1)
    first, last = ticks[0], ticks[-1]
    with mpl.rc_context(STYLE):
        figure, rows = blank(THIRD, height, margins, len(panels))
        for axes, panel in zip(rows, panels, strict=True):
            axes.set_xlim(first - SIDES, last + SIDES)
            y_scale(axes, scale)
            at = (axes.get_xlim()[0], scale[1])
            label(axes, panel, at, (-42, 9), "left", "bottom", colours.INK)
            for line in (line for line in lines if line.panel == panel):
                x, middle, spread = (np.array(v) for v in (line.at, line.middle, line.spread))
                options: dict[str, Any] = {"color": line.style.light, "clip_on": False}
                axes.fill_between(
                    x, middle - spread, middle + spread, alpha=0.16, linewidth=0, **options
                )
                marked = f"{line.style.marker}-"
                axes.plot(x, middle, marked, linewidth=1.6, markersize=4.6, mew=0, **options)
                end = axes.get_xlim()[1]
                axes.plot([end - 1.2, end], [line.end] * 2, "-", linewidth=2.4, **options)
        for tick in ticks:
            label(rows[-1], str(tick), (tick, scale[0]), (0, -8), "center", "top")
        middle_tick = ((first + last) / 2, scale[0])
        label(rows[-1], across_title, middle_tick, (0, -24), "center", "top")
        return Drawing(inline(figure, name), THIRD, name)


def training_plot(
    curves: pd.DataFrame, style: Style, name: str, titles: Mapping[str, str]
) -> Drawing:
    """Quantities over steps, each with its title: a line per strength, a band from the lowest seed
    to the highest."""
    cells = [cell.sort_values("step") for _, cell in curves.groupby("strength")]
    last = max(float(curves["step"].max()), 1.0)
    late = curves[curves["step"] >= EARLY * last]
    margins = Margins(right=14, top=22)
    height = margins.top + margins.bottom + TRAINING * len(titles) + BETWEEN * (len(titles) - 1)
    with mpl.rc_context(STYLE):
        figure, rows = blank(THIRD, height, margins, rows=len(titles))
        for axes, (quantity, title) in zip(rows, titles.items(), strict=True):
            low, middle, high = (f"{quantity} {name}" for name in ("min", "median", "max"))
            scale = limits(pd.concat([late[low], late[high]]))
            axes.set_xlim(0, last)
            y_scale(axes, scale)
            for place, cell in enumerate(cells):
                steps, opacity = cell["step"].to_numpy(), line_opacity(place, len(cells))
                band: dict[str, Any] = {
                    "color": style.light,
                    "alpha": 0.3 / (2 + len(cells)),
                    "linewidth": 0,
                }
                line: dict[str, Any] = {"color": style.light, "alpha": opacity, "linewidth": 1.8}
                axes.fill_between(steps, cell[low].to_numpy(), cell[high].to_numpy(), **band)
                axes.plot(steps, cell[middle].to_numpy(), **line)
            at = (0.0, scale[1])
            label(axes, title, at, (-42, 9), "left", "bottom", colours.INK)
        x_scale(rows[-1], (0, last))
        label(rows[-1], "step", (last / 2, rows[-1].get_ylim()[0]), (0, -24), "center", "top")
        return Drawing(inline(figure, name), THIRD, name)


def line_opacity(place: int, strengths: int) -> float:
    """From faint (the weakest strength) to full (the strongest)."""
    return 1.0 if strengths == 1 else 0.3 + 0.7 * place / (strengths - 1)
