"""What strength and the number of latents do to the stability of training dynamics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.report import intervals
from tasks.report.dynamics import Cells, Scores
from tasks.report.intervals import Interval
from tasks.report.kendall import tau_between

DRAWS = 500


@dataclass(frozen=True)
class Trend:
    """Kendall's tau of strength and score, at each number of latents and on average."""

    taus: dict[int, float]  # by the number of latents
    mean: float
    interval: Interval | None

    @property
    def rising(self) -> int:
        return sum(tau > 0 for tau in self.taus.values())


@dataclass(frozen=True)
class Smallest:
    """Over the strengths that all numbers of latents have: which of these has the lowest mean."""

    latents: int
    share: float | None  # of redrawn seeds by which it is the same one
    strengths: int


def trend_of(cells: Cells, name: str) -> Trend | None:
    """Whether scores rise with strength at a fixed number of latents; None without two strengths
    or where all scores are equal."""
    parts = [(int(latents), part) for (latents,), part in cells.groups(["latents"])]
    taus = {
        latents: float(tau)
        for latents, part in parts
        if np.isfinite(tau := _tau(part, part.table["dynamics"].to_numpy(float)[None])[0])
    }
    if not taus:
        return None
    interval = None
    if cells.fewest_models >= intervals.FEWEST_SEEDS:
        stream = intervals.stream("dynamics trend", name)
        redrawn = np.stack(
            [_tau(part, part.redrawn(DRAWS, stream)) for latents, part in parts if latents in taus]
        )
        known = np.isfinite(redrawn).any(axis=0)
        means = np.nanmean(redrawn[:, known], axis=0)
        if len(means):
            interval = Interval(*map(float, np.quantile(means, intervals.LEVEL)))
    return Trend(taus, float(np.mean(list(taus.values()))), interval)


def _tau(cells: Cells, scores: Scores) -> Scores:
    """Of each row of scores with the strengths."""
    return tau_between(scores, cells.table["strength"].to_numpy(float)[None])[:, 0]


def smallest_of(cells: Cells, name: str) -> Smallest | None:
    """Only where two numbers of latents share a strength."""
    table = cells.table
    numbers = table["latents"].nunique()
    shared = table.groupby("strength")["latents"].nunique() == numbers
    both = table[table["strength"].isin(shared[shared].index)]
    if numbers < 2 or both.empty:
        return None
    latents = both["latents"].to_numpy()
    of_each = np.unique(latents)
    is_of = (latents == of_each[:, None]).astype(float)
    strengths = int(shared.sum())

    def lowest(scores: Scores) -> NDArray[np.int64]:
        chosen: NDArray[np.int64] = of_each[(scores @ is_of.T).argmin(axis=1)]
        return chosen

    best = int(lowest(both["dynamics"].to_numpy(float)[None])[0])
    share = None
    if cells.fewest_models >= intervals.FEWEST_SEEDS:
        drawn = cells.some(both.index).redrawn(DRAWS, intervals.stream("dynamics smallest", name))
        drawn = drawn[np.isfinite(drawn).all(axis=1)]
        share = float((lowest(drawn) == best).mean()) if len(drawn) else None
    return Smallest(best, share, strengths)
