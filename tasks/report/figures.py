"""UDR against a score, and training curves, as inline SVG; strips.py draws the distributions.

Each figure is drawn by itself at a size in CSS pixels, and the page lays them out; captions, titles
and legends are the page's text. matplotlib's objects are used directly, without pyplot's state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from tasks.report import colours, svg
from tasks.report.canvas import Drawing, Limits, Margins, blank, label, limits, x_scale, y_scale
from tasks.report.colours import Look
from tasks.report.frames import groups

Points = NDArray[np.float64]  # (models, 2)
WIDTH = 352  # a third of the page
CROWD = 600  # with more models a scatter shows cells instead
EARLY = 0.1  # of the training: its losses dwarf all others, so they do not set the scale


def scatter_plot(
    models: pd.DataFrame,
    across: str,
    up: str,
    scales: tuple[Limits, Limits],
    looks: Mapping[str, Look],
    name: str,
) -> Drawing:
    """One score against another: methods by colour and marker, strengths by size."""
    crowd = is_crowd(len(models.dropna(subset=[across, up])))
    with mpl.rc_context(svg.STYLE):
        figure, (axes,) = blank(WIDTH, 250, Margins())
        axes.set_ylim(*scales[1])
        x_scale(axes, scales[0])
        y_scale(axes, scales[1])
        label(axes, "UDR", (sum(scales[0]) / 2, scales[1][0]), (0, -24), "center", "top")
        for (method,), rows in groups(models, ["method"]):
            look = looks[method]
            cells = _points(rows, across, up)
            if crowd:
                cells = _middle_halves(axes, cells, look)
            for place, cell in enumerate(cells):
                size = marker_size(place, len(cells))
                style: dict[str, Any] = {
                    "color": look.light,
                    "alpha": 0.8 if crowd else 0.6,
                    "markersize": size,
                }
                axes.plot(*cell.T, look.marker, mew=0, clip_on=False, **style)
        return Drawing(svg.inline(figure, name), WIDTH)


def _points(rows: pd.DataFrame, across: str, up: str) -> list[Points]:
    """The models that have both scores, per strength."""
    strengths, both = rows["strength"].to_numpy(), rows[[across, up]].to_numpy(dtype=float)
    complete = np.isfinite(both).all(axis=1)
    return [both[complete & (strengths == strength)] for strength in np.unique(strengths)]


def is_crowd(models: int) -> bool:
    """Whether so many points would hide each other, so that cells stand for them."""
    return models > CROWD


def _middle_halves(axes: Axes, cells: list[Points], look: Look) -> list[Points]:
    """A cross per cell, over the middle half of its models in both directions; its medians."""
    empty = np.full((3, 2), np.nan)
    quartiles = [np.quantile(c, (0.25, 0.5, 0.75), axis=0) if len(c) else empty for c in cells]
    across, up = np.transpose(quartiles, (2, 1, 0))  # each (quartiles, cells)
    style: dict[str, Any] = {"color": look.light, "linewidth": 1, "alpha": 0.45, "clip_on": False}
    axes.hlines(up[1], across[0], across[2], **style)
    axes.vlines(across[1], up[0], up[2], **style)
    return [medians[None] for _, medians, _ in quartiles]


def marker_size(place: int, strengths: int) -> float:
    """From small (the weakest) to large (the strongest), in pixels."""
    return 4.8 + 4.2 * place / max(strengths - 1, 1)


def curve_plot(curves: pd.DataFrame, look: Look, name: str) -> Drawing:
    """Reconstruction and KL over steps: a line per strength, a band from lowest to highest seed."""
    cells = [cell.sort_values("step") for _, cell in curves.groupby("strength")]
    last = max(float(curves["step"].max()), 1.0)
    late = curves[curves["step"] >= EARLY * last]
    with mpl.rc_context(svg.STYLE):
        figure, rows = blank(WIDTH, 316, Margins(right=14, top=22), rows=2)
        for axes, quantity in zip(rows, ("reconstruction", "kl"), strict=True):
            low, middle, high = (f"{quantity} {name}" for name in ("min", "median", "max"))
            scale = limits(pd.concat([late[low], late[high]]))
            axes.set_xlim(0, last)
            y_scale(axes, scale)
            for place, cell in enumerate(cells):
                steps, opacity = cell["step"].to_numpy(), line_opacity(place, len(cells))
                band: dict[str, Any] = {
                    "color": look.light,
                    "alpha": 0.3 / (2 + len(cells)),
                    "linewidth": 0,
                }
                line: dict[str, Any] = {"color": look.light, "alpha": opacity, "linewidth": 1.8}
                axes.fill_between(steps, cell[low].to_numpy(), cell[high].to_numpy(), **band)
                axes.plot(steps, cell[middle].to_numpy(), **line)
            title = {"kl": "KL", "reconstruction": "Reconstruction"}[quantity]
            at = (0.0, scale[1])
            label(axes, f"{title}, nats per image", at, (-42, 9), "left", "bottom", colours.INK)
        x_scale(rows[1], (0, last))
        label(rows[1], "step", (last / 2, rows[1].get_ylim()[0]), (0, -24), "center", "top")
        return Drawing(svg.inline(figure, name), WIDTH)


def line_opacity(place: int, strengths: int) -> float:
    """From faint (the weakest strength) to full (the strongest)."""
    return 1.0 if strengths == 1 else 0.3 + 0.7 * place / (strengths - 1)
