"""The share of a method's models that reach a score: a falling line per method."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from tasks.report.figures.axes import (
    STYLE,
    THIRD,
    Drawing,
    Limits,
    Margins,
    blank,
    inline,
    x_scale,
    y_scale,
)
from tasks.report.figures.colours import Style

PLACES = 120  # at which a line is drawn: more than a small figure can show


def profiles_plot(
    values: Mapping[str, NDArray[np.float64]], scale: Limits, styles: Mapping[str, Style], name: str
) -> Drawing:
    """By method: its scores, rising."""
    at = np.linspace(*scale, PLACES)
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank(THIRD, 200, Margins(bottom=26))
        axes.set_ylim(0, 1)
        x_scale(axes, scale)
        y_scale(axes, (0.0, 1.0))
        for method, scores in values.items():
            axes.plot(at, share_above(scores, at), color=styles[method].light, linewidth=1.8)
        return Drawing(inline(figure, name), THIRD, name)


def share_above(scores: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of rising scores: the share of at least so much."""
    shares: NDArray[np.float64] = 1 - np.searchsorted(scores, at, "left") / len(scores)
    return shares
