"""Clouds of points without axes, such as embeddings, whose coordinates have no unit.

Written directly: a point is a dozen bytes of a path per colour, where matplotlib would need sixty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from tasks.report.figures.axes import Drawing

Places = NDArray[np.float64]  # (points, 2)
SIDE, EDGE = 264, 8  # px
ROUNDS = 6  # in which clouds are drawn in turn, so that the last does not hide the others


@dataclass(frozen=True)
class Cloud:
    variable: str  # the CSS variable of its colour
    points: Places


def clouds_plot(clouds: Sequence[Cloud], box: tuple[Places, Places], name: str) -> Drawing:
    """`box` is the lowest and the highest place that is to be seen."""
    low, high = box
    extent = np.where(high > low, high - low, 1.0)
    paths = []
    for part in range(ROUNDS):
        for cloud in clouds:
            if len(points := cloud.points[part::ROUNDS]):
                shares = (points - low) / extent
                shares[:, 1] = 1 - shares[:, 1]  # upwards
                pixels = EDGE + shares * (SIDE - 2 * EDGE)
                dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in pixels)
                paths.append(f'<path style="stroke:var({cloud.variable})" d="{dots}"/>')
    size = f'width="{SIDE}" height="{SIDE}" viewBox="0 0 {SIDE} {SIDE}"'
    frame = f'<path style="fill:none;stroke:var(--rule)" d="M.5 .5H{SIDE - 0.5}V{SIDE - 0.5}H.5z"/>'
    style = "fill:none;stroke-width:3;stroke-linecap:round;stroke-opacity:.75"
    svg = f'<svg {size}>{frame}<g style="{style}">{"".join(paths)}</g></svg>'
    return Drawing(Markup(svg), SIDE, name)


def box_of(points: Places) -> tuple[Places, Places]:
    return points.min(axis=0), points.max(axis=0)


def cloud_legend(variables: Sequence[str], texts: Sequence[str]) -> Markup:
    """A dot of each colour, and what it stands for."""
    dot = Markup('<i class="step" style="background:var({})"></i>{}')
    dots = zip(variables, texts, strict=True)
    return Markup(" ").join(dot.format(variable, text) for variable, text in dots)
