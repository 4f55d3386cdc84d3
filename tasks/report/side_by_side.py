"""Rankings without labels beside each other, over the models or the cells of a data set.

All are asked of the same units, those that every ranking of the data set gives a number. Signs are
turned so that more is better by each ranking and by each score: a correlation of 1 is agreement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from tasks.report import intervals
from tasks.report.dynamics import Compared, Scores, compared_cells, copies, where
from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.intervals import Interval
from tasks.report.results import Column, Results
from tasks.report.spearman import ENOUGH
from tasks.report.weighted_ranks import choices, places, unit_ranks
from tasks.report.without_labels import (
    STABILITY,
    Unlabelled,
    label_columns,
    rankings_of,
    with_most_samples,
)

DRAWS = 200
DIGITS = 12  # of means: equal scores stay equal, whatever the rounding of their sums
MODELS, CELLS = "model", "cell"
RHO, PLACE = (-1.0, 1.0), (0.0, 1.0)  # what is possible


@dataclass(frozen=True)
class Sample:
    """Numbers of units by column (draws or 1, units), and how often each unit was drawn."""

    values: dict[str, Scores]
    weights: Scores


@dataclass(frozen=True)
class Statistics:
    """Each (draws, rankings, scores); NaN where there is none."""

    rho: Scores
    place: Scores  # of the unit that a ranking chooses, between the worst, 0, and the best, 1


@dataclass(frozen=True)
class Comparison:
    """The rankings of a data set against its scores, over its models or its cells."""

    key: tuple[str, ...]  # data, source
    unit: str
    rankings: tuple[Unlabelled, ...]
    scores: tuple[Column, ...]
    tasks: int  # how many of the scores, the last ones, are of labelled tasks
    units: int  # that all rankings have
    of: int
    counts: tuple[int, ...]  # units with each score
    chosen: Scores  # (rankings, scores): the score of the choice, with its own sign
    best: Scores  # (scores,)
    median: Scores
    middle: Scores  # the place of the median
    once: Statistics
    redrawn: Statistics | None  # None: too few seeds
    models: pd.Series[str] = field(compare=False)

    @property
    def kinds(self) -> dict[str, slice]:
        """The scores whose mean is taken, by what they are."""
        first = len(self.scores) - self.tasks
        kinds = {"disentanglement": slice(0, first), "labelled tasks": slice(first, None)}
        return {kind: part for kind, part in kinds.items() if len(self.scores[part])}

    @cached_property
    def compared(self) -> bool:
        return bool(np.isfinite(self.once.rho).any())

    def rho_interval(self, ranking: int, score: int) -> Interval | None:
        if self.redrawn is None:
            return None
        draws = centred(self.redrawn.rho[:, ranking, score], self.once.rho[0, ranking, score])
        return interval_of(draws, RHO)

    def means(self, name: str, part: slice) -> tuple[Scores, Scores | None]:
        """Of `rho` or `place` over some scores: (rankings,), and of each draw."""
        once = mean_of(getattr(self.once, name)[..., part])[0]
        if self.redrawn is None:
            return once, None
        return once, centred(mean_of(getattr(self.redrawn, name)[..., part]), once)


def centred(draws: Scores, once: Scores) -> Scores:
    """Draws (draws, ...) around the number itself. Drawing seeds again adds the noise of seeds a
    second time, which lowers every correlation, and that of what is noisy most."""
    return draws + (once - mean_of(np.moveaxis(draws, 0, -1)))


def mean_of(values: Scores) -> Scores:
    """Over the last axis, of the numbers that there are."""
    known = np.isfinite(values)
    sums, counts = np.where(known, values, 0).sum(axis=-1), known.sum(axis=-1)
    means: Scores = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means


def interval_of(draws: Scores | None, bounds: tuple[float, float]) -> Interval | None:
    """Of 95% of the draws that have a number, within what is possible."""
    known = draws[np.isfinite(draws)] if draws is not None else np.empty(0)
    if not len(known):
        return None
    low, high = np.clip(np.quantile(known, intervals.LEVEL), *bounds)
    return Interval(float(low), float(high))


def compare(results: Results) -> list[Comparison]:
    """Of each data set first over models, then over cells where these are not single models."""
    disentanglement, tasks = label_columns(results)
    models = results.with_parts([task for task in tasks if task.id not in results.models])
    wide = _Source(models, disentanglement, tasks, results)
    found = []
    for key, rows in groups(models, DATA_SET):
        found += [wide.over_models(key, rows), wide.over_cells(key, rows)]
    return [comparison for comparison in found if comparison and comparison.compared]


@dataclass(frozen=True)
class _Source:
    """What comparisons are made of."""

    models: pd.DataFrame
    disentanglement: Sequence[Column]
    tasks: Sequence[Column]
    results: Results

    @cached_property
    def cells(self) -> dict[tuple[str, ...], list[Compared]]:
        """By data set, the cells whose models were compared by their dynamics."""
        cells = compared_cells(self.results)
        return {key: list(part.compared) for key, part in cells.groups(DATA_SET)}

    def scores(self, rows: pd.DataFrame) -> tuple[list[Column], list[Column]]:
        known = [c for c in self.disentanglement if c.id in rows and rows[c.id].notna().any()]
        return known, with_most_samples(self.tasks, rows)

    def over_models(self, key: tuple[str, ...], rows: pd.DataFrame) -> Comparison | None:
        rankings = [r for r in rankings_of(self.results, rows) if not r.of_cells]
        complete = rows.dropna(subset=[ranking.column for ranking in rankings])
        sizes = [len(cell) for _, cell in groups(complete, CELL)]

        def redraw(stream: np.random.Generator, values: dict[str, Scores]) -> Sample:
            """Each cell's models with replacement, as many as it has."""
            weights = np.empty((DRAWS, len(complete)))
            for _, cell in groups(complete.reset_index(drop=True), CELL):
                weights[:, cell.index] = copies(len(cell), DRAWS, stream)
            return Sample(values, weights)

        return self._of(
            key, MODELS, rankings, complete, len(rows), sizes, redraw, complete["model_id"]
        )

    def over_cells(self, key: tuple[str, ...], rows: pd.DataFrame) -> Comparison | None:
        """Each at the means over its models; where any cell of the data set was compared by its
        dynamics, over the models and cells that were."""
        rankings = rankings_of(self.results, rows)
        by_dynamics = self.cells.get(key, [])
        if by_dynamics:
            every = rows.set_index("model_id", drop=False)
            members = [every.loc[list(cell.models["model_id"])] for cell in by_dynamics]
        else:
            members = [cell for _, cell in groups(rows, CELL)]
        columns = [ranking.column for ranking in rankings]
        least = 2 if by_dynamics else 1
        whole = [
            place
            for place, cell in enumerate(members)
            if len(cell) >= least and cell[columns].notna().all(axis=None)
        ]
        members = [members[place] for place in whole]
        by_dynamics = [by_dynamics[place] for place in whole] if by_dynamics else []
        sizes = [len(cell) for cell in members]
        if not members or max(sizes) < 2:
            return None
        scores = [column.id for part in self.scores(rows) for column in part]
        names = list(dict.fromkeys([*columns, *scores]))
        means = [cell[names].mean(skipna=False) for cell in members]
        table = pd.DataFrame(means).round(DIGITS)
        table[STABILITY.column] = [cell[STABILITY.column].iloc[0] for cell in members]
        ids = pd.concat([cell["model_id"] for cell in members])

        def redraw(stream: np.random.Generator, _: dict[str, Scores]) -> Sample:
            draws = [_of_two(len(cell), stream, bool(by_dynamics)) for cell in members]
            values = {
                name: np.stack(
                    [
                        weights @ cell[name].to_numpy(float) / len(cell)
                        for cell, weights in zip(members, draws, strict=True)
                    ],
                    axis=1,
                ).round(DIGITS)
                for name in names
            }
            if by_dynamics:
                redrawn = [c.redrawn(w) for c, w in zip(by_dynamics, draws, strict=True)]
                values |= {r.column: np.stack(redrawn, axis=1) for r in rankings if r.of_cells}
            return Sample(values, np.ones((DRAWS, len(members))))

        of = len([*groups(rows, CELL)])
        return self._of(key, CELLS, rankings, table, of, sizes, redraw, ids)

    def _of(
        self,
        key: tuple[str, ...],
        unit: str,
        rankings: Sequence[Unlabelled],
        table: pd.DataFrame,
        of: int,
        sizes: Sequence[int],
        redraw: Callable[[np.random.Generator, dict[str, Scores]], Sample],
        ids: pd.Series[str],
    ) -> Comparison | None:
        first, tasks = self.scores(table) if len(table) else ([], [])
        scores = [*first, *tasks]
        if not scores or not rankings:
            return None
        columns = list(dict.fromkeys([*(r.column for r in rankings), *(s.id for s in scores)]))
        values = {name: table[name].to_numpy(float)[None] for name in columns}
        once = Sample(values, np.ones((1, len(table))))
        redrawn = None
        if float(np.median(sizes)) >= intervals.FEWEST_SEEDS:
            stream = intervals.stream("which ranking", unit, where(key))
            redrawn = statistics(redraw(stream, values), values, rankings, scores)
        signed = [score.direction * values[score.id][0] for score in scores]
        best = np.array([np.nanmax(row) for row in signed])
        worst = np.array([np.nanmin(row) for row in signed])
        median = np.array([np.nanmedian(row) for row in signed])
        direction = np.array([score.direction for score in scores])
        every = statistics(once, values, rankings, scores)
        middle = np.divide(
            median - worst, best - worst, out=np.full(len(best), np.nan), where=best > worst
        )
        return Comparison(
            key,
            unit,
            tuple(rankings),
            tuple(scores),
            len(tasks),
            len(table),
            of,
            tuple(int(np.isfinite(row).sum()) for row in signed),
            direction * (worst + every.place[0] * (best - worst)),
            direction * best,
            direction * median,
            middle,
            every,
            redrawn,
            ids,
        )


def statistics(
    sample: Sample,
    once: dict[str, Scores],
    rankings: Sequence[Unlabelled],
    scores: Sequence[Column],
) -> Statistics:
    """Each score over the units that have it, which are the same in all draws."""
    shape = (len(sample.weights), len(rankings), len(scores))
    rho, place = np.full(shape, np.nan), np.full(shape, np.nan)
    by_units: dict[bytes, list[int]] = {}
    for number, score in enumerate(scores):
        by_units.setdefault(np.isfinite(once[score.id][0]).tobytes(), []).append(number)
    for numbers in by_units.values():
        there = np.isfinite(once[scores[numbers[0]].id][0])
        if there.sum() < 2:
            continue
        weights = sample.weights[:, there]
        full = np.flatnonzero((weights > 0).sum(axis=1) > 1)  # a draw may have none of these units
        weights = weights[full]

        of_draws = {name: values[:, there] for name, values in sample.values.items()}
        of_draws = {n: v if len(v) == 1 else v[full] for n, v in of_draws.items()}
        ordered = [of_draws[ranking.column] * ranking.direction for ranking in rankings]
        ranks = [unit_ranks(values, weights) for values in ordered]
        chosen = [choices(values, weights) for values in ordered]
        for number in numbers:
            values = of_draws[scores[number].id] * scores[number].direction
            of_score = unit_ranks(values, weights)
            for row in range(len(rankings)):
                if there.sum() >= ENOUGH:
                    rho[full, row, number] = (ranks[row] * of_score * weights).sum(axis=1)
                place[full, row, number] = places(chosen[row], values, weights)
    return Statistics(rho, place)


def _of_two(models: int, stream: np.random.Generator, two: bool) -> Scores:
    """Draws of a cell; with at least two different models, if only then there is a pair."""
    drawn = copies(models, DRAWS, stream)
    while two and (same := (drawn > 0).sum(axis=1) == 1).any():
        drawn[same] = copies(models, int(same.sum()), stream)
    return drawn
