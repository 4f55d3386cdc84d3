"""Means over data sets of how well rankings without labels agree with scores from labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.report.dynamics import Scores
from tasks.report.side_by_side import CELLS, MODELS, Comparison


@dataclass(frozen=True)
class Average:
    """Over the data sets that have every ranking: others may be easier."""

    unit: str
    kind: str  # of scores
    titles: tuple[str, ...]  # of the rankings
    data_sets: int
    rho: Scores  # (rankings,)
    rho_draws: Scores | None  # (draws, rankings)
    place: Scores


def averages(compared: Sequence[Comparison]) -> list[Average]:
    """Over models and over cells, of each kind of scores."""
    found = []
    for unit in (MODELS, CELLS):
        of_unit = [comparison for comparison in compared if comparison.unit == unit]
        for kind in dict.fromkeys(kind for c in of_unit for kind in c.kinds):
            average = _average(unit, kind, [c for c in of_unit if kind in c.kinds])
            found += [average] if average else []
    return found


def _average(unit: str, kind: str, compared: Sequence[Comparison]) -> Average | None:
    titles = list(
        dict.fromkeys(
            ranking.title
            for comparison in compared
            for ranking, mean in zip(
                comparison.rankings, comparison.means("rho", comparison.kinds[kind])[0], strict=True
            )
            if np.isfinite(mean)  # NaN: it gives all the same number
        )
    )
    rho, draws, place = [], [], []
    for comparison in compared:
        rows = {ranking.title: row for row, ranking in enumerate(comparison.rankings)}
        if not rows.keys() >= set(titles):
            continue
        order = [rows[title] for title in titles]
        means, redrawn = comparison.means("rho", comparison.kinds[kind])
        if not np.isfinite(means[order]).all():
            continue
        rho.append(means[order])
        draws.append(None if redrawn is None else redrawn[:, order])
        place.append(comparison.means("place", comparison.kinds[kind])[0][order])
    if not rho:
        return None
    known = [redrawn for redrawn in draws if redrawn is not None]
    return Average(
        unit,
        kind,
        tuple(titles),
        len(rho),
        np.mean(rho, axis=0),
        np.mean(known, axis=0) if len(known) == len(rho) else None,
        np.mean(place, axis=0),
    )
