"""The controlled experiments of Carbonneau et al. 2022, sections 5.2 to 5.7.

A representation is not learned but written down, z = f(v), so that we know what a metric should say
of it. Each experiment yields, for every repeat, its settings with their codes and the real values
of the factors; `run` scores them with the 17 columns of the review's tables, as the review did
(as_review.py) or as a study does (as_study.py), and gives means and deviations over repeats.

Conventions:
- As in section 5.2, values are uniform in [0, 1]; codes are of these values, not of bins. All
  settings and metrics use the same points.
- The review has 20,000 points and 100 repeats.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flows.benchmarks import as_review, as_study
from tasks.streams import stream

Values: TypeAlias = NDArray[np.float64]
Setting: TypeAlias = float | str
Case: TypeAlias = tuple[Setting, Values, Values]  # setting, codes, values of the factors
Column: TypeAlias = tuple[str, str]  # a metric and its part

POINTS, FACTORS = 20_000, 8
REPEATS, FEWEST = 5, 300  # of `tolstoy bench metrics`
STEPS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
AS = {"review": as_review, "study": as_study}


def noise(points: int, repeat: int) -> Iterator[Case]:
    """Section 5.2, equation 9: a perfect representation that becomes noise."""
    values = _values(points, FACTORS, repeat)
    noisy = stream("experiment", "noise", repeat).random(values.shape)
    for alpha in STEPS:
        yield alpha, (1 - alpha) * values + alpha * noisy, values


def mixing(points: int, repeat: int) -> Iterator[Case]:
    """Section 5.3: compactness and modularity decrease together, explicitness stays.

    Every latent takes the share α from one more factor. The figure's range is not in the text,
    which names α up to 0.5, where both factors have the same weight.
    """
    values = _values(points, FACTORS, repeat)
    for alpha in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        mixed = (1 - alpha) * np.eye(FACTORS) + alpha * np.roll(np.eye(FACTORS), 1, axis=1)
        yield alpha, values @ mixed, values


def not_compact(points: int, repeat: int) -> Iterator[Case]:
    """Section 5.4, Table 1: angles as cosine and sine, as two copies, and as four copies.

    The text lists the bins' lower ends as the factors' values. IRS shows that codes are of the
    uncut angles, as in section 5.2: for copies of cut ones it would be 1 (published: 0.9).
    """
    values = _values(points, 4, repeat)
    angles = 2 * np.pi * values
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(points, -1)
    yield "θ→[cos θ, sin θ]", circle, values
    yield "θ→[θ, θ]", np.repeat(angles, 2, axis=1), values
    yield "θ→[θ, θ, θ, θ]", np.repeat(angles[:, :2], 4, axis=1), values[:, :2]


def nonlinear(points: int, repeat: int) -> Iterator[Case]:
    """Section 5.5, equation 10: one latent per factor, less and less linear, always monotonic."""
    values = _values(points, FACTORS, repeat)
    for alpha in STEPS:
        omega = 2 * np.arctan(1000 ** (alpha - 0.25) / 2)
        codes = 1000 ** (0.25 - alpha) * np.tan(omega * (values - 0.5)) + 0.5
        yield alpha, codes, values


def partial(points: int, repeat: int) -> Iterator[Case]:
    """Section 5.6: a perfect representation of 8 factors, of which metrics read only some."""
    values = _values(points, FACTORS, repeat)
    for known in range(FACTORS, 1, -1):
        yield float(known), values, values[:, :known]


def sample_sizes(points: int, repeat: int) -> Iterator[Case]:
    """Section 5.7: a random representation and its first points; the review has 100,000.

    Each element of the matrix is uniform, or 0 with probability 0.75. Subsets are a thousandth, a
    hundredth and a tenth, of which those below 30 points are left out; the last setting is all
    points. `run` gives the absolute differences from that.
    """
    values = _values(points, FACTORS, repeat)
    draws = stream("experiment", "matrix", repeat)
    matrix = draws.random((FACTORS, FACTORS)) * (draws.random((FACTORS, FACTORS)) >= 0.75)
    for rows in (points // 1000, points // 100, points // 10, points):
        if rows >= 30:
            yield float(rows), (values @ matrix)[:rows], values[:rows]


EXPERIMENTS: dict[str, Callable[[int, int], Iterator[Case]]] = {
    "noise": noise,
    "mixing": mixing,
    "not_compact": not_compact,
    "nonlinear": nonlinear,
    "partial": partial,
    "sample_sizes": sample_sizes,
}


def run(
    name: str,
    points: int = POINTS,
    repeats: int = 1,
    metrics: tuple[str, ...] | None = None,
    mode: str = "review",
) -> list[dict[str, Any]]:
    """A row per setting and column: experiment, setting, metric, part, the mean over repeats as
    value, and the deviation (n - 1), which one repeat does not have.

    The value is None where no repeat could be scored.
    """
    columns = [
        column for column in AS[mode].COLUMNS.values() if metrics is None or column[0] in metrics
    ]
    values: dict[tuple[Setting, Column], list[float]] = {}
    for repeat in range(repeats):
        scored = {
            setting: AS[mode].scores(codes, factors, columns, repeat)
            for setting, codes, factors in EXPERIMENTS[name](points, repeat)
        }
        if name == "sample_sizes":
            scored = _differences(scored)
        for setting, of_columns in scored.items():
            for column, value in of_columns.items():
                of_repeats = values.setdefault((setting, column), [])
                if not math.isnan(value):
                    of_repeats.append(value)
    return [
        {
            "experiment": name,
            "as": mode,
            "setting": setting,
            "metric": metric,
            "part": part,
            "value": statistics.fmean(of_repeats) if of_repeats else None,
            "deviation": statistics.stdev(of_repeats) if len(of_repeats) > 1 else None,
        }
        for (setting, (metric, part)), of_repeats in values.items()
    ]


def _values(points: int, factors: int, repeat: int) -> Values:
    return stream("experiment", "values", repeat).random((points, factors))


def _differences(scored: dict[Setting, dict[Column, float]]) -> dict[Setting, dict[Column, float]]:
    """The distance of each setting's scores from those of the last one."""
    *subsets, last = scored
    return {
        rows: {key: abs(value - scored[last][key]) for key, value in scored[rows].items()}
        for rows in subsets
    }
