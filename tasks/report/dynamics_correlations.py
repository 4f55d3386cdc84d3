"""Spearman's correlation over cells of stable dynamics and mean scores, for few or all seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.report import intervals
from tasks.report.dynamics import Cells, Scores, copies, subsets
from tasks.report.intervals import Interval
from tasks.report.results import Column
from tasks.report.spearman import ENOUGH, row_correlations

SEEDS = (5, 10, 25)  # the paper's
DRAWS = 200


@dataclass(frozen=True)
class Ranked:
    """A rank correlation over cells of which each has so many seeds."""

    seeds: int
    rho: float | None
    deviation: float | None = None
    interval: Interval | None = None  # 95% of the draws
    every: bool = False  # whether it is of all seeds
    cells: int = 0


def seed_numbers(cells: Cells) -> list[int]:
    """The paper's, below the number of models that all cells have; then that number."""
    models = cells.fewest_models
    return [*(seeds for seeds in SEEDS if seeds < models), models]


def correlations(cells: Cells, metric: Column, name: str) -> list[Ranked]:
    """For each number of seeds, over the cells that have the score of every compared model."""
    whole = [
        place
        for place, cell in enumerate(cells.compared)
        if len(cell.models) > 1 and cell.models[metric.id].notna().all()
    ]
    cells = cells.some(whole)
    if len(whole) < ENOUGH:
        return [Ranked(cells.fewest_models, None, every=True, cells=len(whole))]
    stream = intervals.stream("dynamics and scores", name, metric.id)
    ranked = []
    for seeds in seed_numbers(cells):
        is_all = seeds == cells.fewest_models
        drawn = _drawn(cells, metric, None if is_all else seeds, stream)
        if not is_all:
            rho = float(drawn.mean()) if len(drawn) else None
        else:
            every = [np.ones((1, len(cell.models))) for cell in cells.compared]
            value = _correlation(cells, metric, every)
            rho = float(value[0]) if np.isfinite(value[0]) else None
        spread = len(drawn) > 1 and cells.fewest_models >= intervals.FEWEST_SEEDS
        ranked.append(
            Ranked(
                seeds,
                rho,
                float(drawn.std(ddof=1)) if spread else None,
                Interval(*map(float, np.quantile(drawn, intervals.LEVEL))) if spread else None,
                is_all,
                len(whole),
            )
        )
    return ranked


def _drawn(cells: Cells, metric: Column, seeds: int | None, stream: np.random.Generator) -> Scores:
    """Correlations with so many different seeds of each cell; None: as many as there are, drawn
    with replacement."""
    weights = [
        copies(len(cell.models), DRAWS, stream)
        if seeds is None
        else subsets(len(cell.models), seeds, DRAWS, stream)
        for cell in cells.compared
    ]
    values = _correlation(cells, metric, weights)
    return values[np.isfinite(values)]


def _correlation(cells: Cells, metric: Column, weights: Sequence[Scores]) -> Scores:
    """Of each draw, where each model of each cell counts as often as it was drawn; NaN where a
    cell has no pair, or where all are equal."""
    stable = np.stack(
        [-cell.redrawn(drawn) for cell, drawn in zip(cells.compared, weights, strict=True)], axis=1
    )
    means = np.stack(
        [
            drawn @ cell.models[metric.id].to_numpy(float) / drawn.sum(axis=1)
            for cell, drawn in zip(cells.compared, weights, strict=True)
        ],
        axis=1,
    )
    rho = np.full(len(stable), np.nan)
    known = np.isfinite(stable).all(axis=1)
    rho[known] = row_correlations(stable[known], metric.direction * means[known])
    return rho
