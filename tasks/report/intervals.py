"""How far a number would move if the study were run again with other seeds: 95% intervals.

Methods and strengths are chosen by whoever runs the study; seeds are drawn. So the bootstrap draws
seeds anew within each cell and keeps the cells (a stratified bootstrap, as in Agarwal et al. 2021,
"Deep reinforcement learning at the edge of the statistical precipice").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.words import number

DRAWS = 1000
LEVEL = (0.025, 0.975)
FEWEST_SEEDS = 3  # with two, what is drawn says too little of their spread
NORMAL = 1.959963984540054  # the 97.5th percentile of a standard normal distribution
Scores = NDArray[np.float64]


class Interval(NamedTuple):
    """Of 95%."""

    low: float
    high: float

    def text(self, digits: int = 2) -> str:
        return f"{number(self.low, digits)} to {number(self.high, digits)}"

    def percent(self) -> str:
        return f"{100 * self.low:.0f} to {100 * self.high:.0f}%".replace("-", "−")


def by_cell(models: pd.DataFrame, score: str, cell: Sequence[str]) -> tuple[pd.DataFrame, Scores]:
    """The cells in the order of the models, and their scores: a row per cell, with NaN at the end
    where a cell has fewer models than another. Cells without a score are left out."""
    there = models.dropna(subset=[score])
    groups = there.groupby(list(cell), sort=False)[score]
    keys = groups.size().reset_index()[list(cell)]
    values = [group.to_numpy(float) for _, group in groups]
    table = np.full((len(values), max(map(len, values), default=0)), np.nan)
    for row, numbers in zip(table, values, strict=True):
        row[: len(numbers)] = numbers
    return keys, table


def redrawn(table: Scores, draws: np.random.Generator, count: int = DRAWS) -> Scores:
    """(count, cells, seeds): as many seeds of each cell, drawn with replacement."""
    sizes = np.isfinite(table).sum(axis=1)
    shape = (count, *table.shape)
    picked = (draws.random(shape) * sizes[:, None]).astype(np.int64)
    drawn = np.take_along_axis(np.broadcast_to(table, shape), picked, axis=2)
    return np.where(np.isfinite(table), drawn, np.nan)


def bootstrap(
    table: Scores,
    statistic: Callable[[Scores], Scores],
    draws: np.random.Generator,
    count: int = DRAWS,
) -> Interval | None:
    """The percentiles of a statistic over redrawn tables; None where seeds are too few.

    `statistic` takes (count, cells, seeds) and returns (count,).
    """
    if not enough_seeds(table):
        return None
    values = statistic(redrawn(table, draws, count))
    values = values[np.isfinite(values)]
    return Interval(*map(float, np.quantile(values, LEVEL))) if len(values) else None


def enough_seeds(table: Scores) -> bool:
    """Whether a typical cell has enough models to say how far seeds differ."""
    return bool(len(table)) and float(np.median(np.isfinite(table).sum(axis=1))) >= FEWEST_SEEDS


def of_share(count: int, n: int) -> Interval | None:
    """Of count / n, after Wilson (1927)."""
    if not n:
        return None
    share, z2 = count / n, NORMAL**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def of_mean(mean: float, deviation: float | None, n: int) -> Interval | None:
    """Of the mean of n numbers with this deviation, many enough to be normal."""
    if deviation is None or n < FEWEST_SEEDS:
        return None
    half = NORMAL * deviation / math.sqrt(n)
    return Interval(mean - half, mean + half)


def of_rank_correlation(rho: float | None, n: int) -> Interval | None:
    """Of Spearman's rho over n models, after Bonett and Wright (2000).

    A rho of 1 reaches down to where the one of two neighbours that change places does: few models
    in the same order do not say that all are.
    """
    if rho is None or n < 5:
        return None
    of_a_swap = 1 - 12 / (n * (n * n - 1))
    near = min(max(rho, -of_a_swap), of_a_swap)
    half = NORMAL * math.sqrt((1 + near * near / 2) / (n - 3))
    low, high = math.tanh(math.atanh(near) - half), math.tanh(math.atanh(near) + half)
    return Interval(min(low, rho), max(high, rho))


def of_kendall(tau: float, n: int) -> Interval | None:
    """Of Kendall's tau over n models, after Fieller, Hartley and Pearson (1957), whose variance
    Bonett and Wright (2000) find good below 0.8. A tau of 1 reaches down as in Spearman's."""
    if n < 5:
        return None
    of_a_swap = 1 - 4 / (n * (n - 1))
    near = min(max(tau, -of_a_swap), of_a_swap)
    half = NORMAL * math.sqrt(0.437 / (n - 4))
    low, high = math.tanh(math.atanh(near) - half), math.tanh(math.atanh(near) + half)
    return Interval(min(low, tau), max(high, tau))


def of_r_squared(r_squared: float, n: int, categories: int) -> Interval | None:
    """Of R² of least squares on fixed categories over n models, where only n is known.

    The sum of squares between categories over the residual variance is a noncentral χ², the other
    a χ²; their ratio's deviation follows by the delta method. Whatever else is fixed among the
    models (strengths, where the categories are methods) makes the true interval narrower.
    """
    between, within = categories - 1, n - categories
    if between < 1 or within < 1 or not 0 < r_squared < 1:
        return None
    noncentral = max(0.0, within * r_squared / (1 - r_squared) - between)
    deviations = math.sqrt(2 * between + 4 * noncentral), math.sqrt(2 * within)
    total = between + noncentral + within
    half = NORMAL * math.hypot((1 - r_squared) * deviations[0], r_squared * deviations[1]) / total
    return Interval(max(0.0, r_squared - half), min(1.0, r_squared + half))


def of_difference(one: float, of_one: Interval, other: float, of_other: Interval) -> Interval:
    """Of one - other, two estimates from different models, after Zou and Donner (2008)."""
    low = math.hypot(one - of_one.low, of_other.high - other)
    high = math.hypot(of_one.high - one, other - of_other.low)
    return Interval(one - other - low, one - other + high)


def rho_text(rho: float, n: int) -> str:
    """`ρ = 0.94 (0.80 to 0.98)`."""
    interval = of_rank_correlation(rho, n)
    return f"ρ = {number(rho, 2)}" + (f" ({interval.text()})" if interval else "")


def stream(*names: object) -> np.random.Generator:
    """Draws that are the same each time the page is made."""
    return np.random.default_rng(list(" ".join(map(str, names)).encode()))
