"""Tables of rank correlations, shaded by their sign and size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tasks.report.questions import Cell, Heading, Row, Table
from tasks.words import MISSING, number

SHADES = 5


def correlation_table(
    rows: Sequence[str],
    columns: Sequence[str],
    rho: NDArray[np.float64],
    caption: str,
    corner: str = "",
    summary: str = "",
    open_: bool = True,
) -> Table:
    """`rho` has a row per row and a column per column; NaN where there is no correlation."""
    return Table(
        (Heading(corner), *(Heading(text, numeric=True) for text in columns)),
        tuple(
            Row((Cell(title), *(correlation_cell(float(value)) for value in values)))
            for title, values in zip(rows, rho, strict=True)
        ),
        style="tight heat",
        caption=caption,
        row_headings=True,
        summary=summary,
        open=open_,
    )


def correlation_cell(rho: float, text: str = "", below: tuple[str, ...] = ()) -> Cell:
    """Shaded; with another text than the number, if there is one."""
    if not np.isfinite(rho):
        return Cell(MISSING)
    shade = round(SHADES * abs(rho))
    style = f"{'less' if rho < 0 else 'more'}-{shade}"
    return Cell(text or number(rho, 2), rho, below, style)
