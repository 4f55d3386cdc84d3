"""One score against another, a point per model, coloured from the least to the most of a third.

Some points have a number next to them, by which the page speaks of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup

from tasks.report.figures.axes import (
    STYLE,
    THIRD,
    Drawing,
    Limits,
    Margins,
    blank,
    inline,
    label,
    x_scale,
    y_scale,
)
from tasks.report.figures.colours import INK, MUTED, STEPS
from tasks.report.figures.points import points_at
from tasks.words import strength_text

SIZE = 7.5  # px of a point
RING = 11.0
CORNERS = ((9.0, 9.0), (-9.0, 9.0), (9.0, -9.0), (-9.0, -9.0))  # px from a point to its number


def steps_of(values: pd.Series[float]) -> list[tuple[float, float, int]]:
    """From low to high: the lowest and the highest value of each range, and the range's step of the
    colour scale. Where there are few values, each has its own range."""
    rising = np.unique(values.dropna())
    parts = np.array_split(rising, min(len(STEPS), len(rising))) if len(rising) else []
    last = max(len(parts) - 1, 1)
    return [
        (float(part[0]), float(part[-1]), round((len(STEPS) - 1) * place / last))
        for place, part in enumerate(parts)
    ]


def step_legend(values: pd.Series[float]) -> Markup:
    """A dot of each colour, and the values that it stands for."""
    dot = Markup('<i class="step" style="background:var({})"></i>{}')
    return Markup(" ").join(
        dot.format(STEPS[step][0], _range(low, high)) for low, high, step in steps_of(values)
    )


def _range(low: float, high: float) -> str:
    return strength_text(low) if low == high else f"{strength_text(low)} to {strength_text(high)}"


def coloured_scatter(
    models: pd.DataFrame,
    across: str,
    up: str,
    by: str,
    scales: tuple[Limits, Limits],
    across_title: str,
    numbered: Sequence[str],
    name: str,
    up_title: str = "UDR",
) -> Drawing:
    """`numbered` are ids of models, which become 1, 2, 3 and so on."""
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank(THIRD, 270, Margins(right=16))
        axes.set_ylim(*scales[1])
        x_scale(axes, scales[0])
        y_scale(axes, scales[1])
        label(axes, across_title, (sum(scales[0]) / 2, scales[1][0]), (0, -24), "center", "top")
        for low, high, step in steps_of(models[by]):
            rows = models[models[by].between(low, high)]
            axes.plot(
                rows[across],
                rows[up],
                "o",
                color=STEPS[step][1],
                markersize=SIZE,
                markeredgecolor=MUTED,
                markeredgewidth=0.6,
                clip_on=False,
            )
        by_id = models.set_index("model_id")
        for place, model_id in enumerate(numbered, 1):
            at = float(by_id[across][model_id]), float(by_id[up][model_id])
            axes.plot(
                *at,
                "o",
                markersize=RING,
                markerfacecolor="none",
                markeredgecolor=INK,
                markeredgewidth=1.2,
                clip_on=False,
            )
            shift = CORNERS[place % len(CORNERS)]
            label(axes, str(place), at, shift, "center", "center", colour=INK)
        values = {across_title: models[across], up_title: models[up]}
        points = points_at(axes, models, models[across], models[up], values)
        return Drawing(inline(figure, name), THIRD, name, points)
