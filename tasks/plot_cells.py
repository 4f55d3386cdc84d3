"""The picture of `tolstoy rank STORE --by dynamics --plot`: every cell's score with its interval.

A panel per method, its strengths across; a line per number of latents, where there are several.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infra.errors import WrongInput
from tasks.plots import save, sweep_colours
from tasks.rank_cells import CellsRanking, RankedCell
from tasks.words import method_name, strength_text, symbol

ABOUT = "mean MMD² between models of a cell, with its interval over models\nlower is more stable"


def draw_cells(ranking: CellsRanking, target: Path) -> None:
    from matplotlib.figure import Figure

    if not ranking.cells:
        accepted = "a store with two trained models of a cell that have traces"
        raise WrongInput("--plot", f"no cell of {ranking.data} with a score", accepted)
    methods = sorted({cell.model.method for cell in ranking.cells})
    by_method = {
        method: [cell for cell in ranking.cells if cell.model.method == method]
        for method in methods
    }
    strengths = {method: _strengths(cells) for method, cells in by_method.items()}
    latents = sorted({cell.model.latents for cell in ranking.cells})
    width = max(6.0, 1.2 + sum(0.8 + 0.55 * len(values) for values in strengths.values()))
    figure = Figure(figsize=(min(width, 18.0), 4.2), layout="constrained")
    widths = [1 + len(values) for values in strengths.values()]
    panels: Any = figure.subplots(1, len(methods), squeeze=False, sharey=True, width_ratios=widths)
    for panel, (method, cells) in zip(panels[0], by_method.items(), strict=True):
        _draw_method(panel, cells, strengths[method], latents)
        panel.set_xlabel(f"{method_name(method)}, {symbol(method)}")
    panels[0, 0].set_ylabel("dynamics")
    if all(cell.dynamics >= 0 for cell in ranking.cells):  # the unbiased estimate may be below
        panels[0, 0].set_ylim(bottom=0)
    if len(latents) > 1:
        panels[0, -1].legend(title="latents", frameon=False, fontsize=9)
    figure.suptitle(f"{ranking.data}: training dynamics\n{ABOUT}", fontsize=10, x=0.01, ha="left")
    save(figure, target)


def lines(
    cells: Sequence[RankedCell], strengths: Sequence[float], latents: int
) -> tuple[list[int], list[float], list[list[float]]]:
    """Of the cells with so many latents: places of their strengths, scores, and how far intervals
    reach below and above the scores (nan: no interval)."""
    drawn = sorted(
        (cell for cell in cells if cell.model.latents == latents),
        key=lambda cell: cell.model.strength,
    )
    below = [math.nan if cell.low is None else max(cell.dynamics - cell.low, 0.0) for cell in drawn]
    above = [
        math.nan if cell.high is None else max(cell.high - cell.dynamics, 0.0) for cell in drawn
    ]
    places = [strengths.index(cell.model.strength) for cell in drawn]
    return places, [cell.dynamics for cell in drawn], [below, above]


def _draw_method(
    panel: Any, cells: Sequence[RankedCell], strengths: Sequence[float], latents: Sequence[int]
) -> None:
    for colour, number in zip(sweep_colours(len(latents)), latents, strict=True):
        places, scores, reach = lines(cells, strengths, number)
        panel.errorbar(
            places, scores, yerr=reach, marker="o", markersize=4, capsize=3, color=colour,
            label=str(number),
        )  # fmt: skip
    panel.set_xticks(range(len(strengths)), [strength_text(value) for value in strengths])
    panel.set_xlim(-0.5, len(strengths) - 0.5)
    panel.grid(axis="y", color="#e3e0d8", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _strengths(cells: Sequence[RankedCell]) -> list[float]:
    """Rising."""
    return sorted({cell.model.strength for cell in cells})
