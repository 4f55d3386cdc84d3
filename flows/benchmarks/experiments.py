"""The controlled experiments of Carbonneau et al. 2022, sections 5.2 to 5.7.

A representation is not learned but written down, z = f(v), so that we know what a metric should say
of it. Each experiment yields, for every repeat, its settings with their codes and factors; `run`
scores them with the 17 columns of the review's tables and averages over repeats.

Conventions:
- As in section 5.2, values are uniform in [0, 1]. Metrics read them as factors, cut into 10 equal
  bins; codes are of the uncut values. All settings and metrics use the same points.
- The review has 20,000 points and 100 repeats.
- What the text leaves open is as in `tolstoy score`: the first two thirds of the points train and
  the rest test; groups and pairs are drawn from the rows of their part, up to 10,000 to train and
  5,000 to test, of 64 each.
- Z-min and Z-max variance leave out latents with a standard deviation below 0.05: the review names
  no threshold, and a mixture of uniform numbers has a variance below the usual 0.05 although it
  still encodes its factor.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metrics.base.inputs import Inputs
from metrics.base.rows import table_groups, table_pairs, table_variations
from metrics.evaluate import evaluate, needs
from tasks.streams import stream

Values: TypeAlias = NDArray[np.float64]
Setting: TypeAlias = float | str
Case: TypeAlias = tuple[Setting, Values, NDArray[np.int64]]  # setting, codes, factors

POINTS, FACTORS, BINS = 20_000, 8, 10
REPEATS, FEWEST = 3, 300  # of `tolstoy bench metrics`
SETS, SIZE = 10_000, 64
STEPS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
CALIBRATED = "score_std_pruned, calibrated"
COLUMNS: dict[str, tuple[str, str]] = {  # of Table 1: our metric and its part
    "Z-diff": ("beta_vae", "calibrated"),
    "Z-min Variance": ("factor_vae", CALIBRATED),
    "Z-max Variance": ("rf_vae", CALIBRATED),
    "IRS": ("irs", "max_deviation_weighted"),
    "DCI Lasso Modularity": ("dci_lasso", "disentanglement"),
    "DCI Lasso Compactness": ("dci_lasso", "completeness"),
    "DCI Lasso Explicitness": ("dci_lasso", "informativeness_test"),
    "DCI RF Modularity": ("dci_forest", "disentanglement"),
    "DCI RF Compactness": ("dci_forest", "completeness"),
    "DCI RF Explicitness": ("dci_forest", "informativeness_test"),
    "Explicitness Score": ("explicitness", "score"),
    "SAP": ("sap", "score"),
    "MIG-RMIG": ("mig", "score"),
    "MIG-sup": ("mig_sup", "score"),
    "JEMMIG": ("jemmig", "normalised"),
    "Modularity Score": ("modularity", "score"),
    "DCIMIG": ("dcimig", "score"),
}
ALL = tuple(dict.fromkeys(metric for metric, _ in COLUMNS.values()))


def noise(points: int, repeat: int) -> Iterator[Case]:
    """Section 5.2, equation 9: a perfect representation that becomes noise."""
    values = _values(points, FACTORS, repeat)
    noisy = stream("experiment", "noise", repeat).random(values.shape)
    for alpha in STEPS:
        yield alpha, (1 - alpha) * values + alpha * noisy, binned(values)


def mixing(points: int, repeat: int) -> Iterator[Case]:
    """Section 5.3: compactness and modularity decrease together, explicitness stays.

    Every latent takes the share α from one more factor. The figure's range is not in the text,
    which names α up to 0.5, where both factors have the same weight.
    """
    values = _values(points, FACTORS, repeat)
    for alpha in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        mixed = (1 - alpha) * np.eye(FACTORS) + alpha * np.roll(np.eye(FACTORS), 1, axis=1)
        yield alpha, values @ mixed, binned(values)


def not_compact(points: int, repeat: int) -> Iterator[Case]:
    """Section 5.4, Table 1: angles as cosine and sine, as two copies, and as four copies.

    The text lists the bins' lower ends as the factors' values. IRS shows that codes are of the
    uncut angles, as in section 5.2: for copies of cut ones it would be 1 (published: 0.9).
    """
    values = _values(points, 4, repeat)
    angles = 2 * np.pi * values
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(points, -1)
    yield "θ→[cos θ, sin θ]", circle, binned(values)
    yield "θ→[θ, θ]", np.repeat(angles, 2, axis=1), binned(values)
    yield "θ→[θ, θ, θ, θ]", np.repeat(angles[:, :2], 4, axis=1), binned(values[:, :2])


def nonlinear(points: int, repeat: int) -> Iterator[Case]:
    """Section 5.5, equation 10: one latent per factor, less and less linear, always monotonic."""
    values = _values(points, FACTORS, repeat)
    for alpha in STEPS:
        omega = 2 * np.arctan(1000 ** (alpha - 0.25) / 2)
        codes = 1000 ** (0.25 - alpha) * np.tan(omega * (values - 0.5)) + 0.5
        yield alpha, codes, binned(values)


def partial(points: int, repeat: int) -> Iterator[Case]:
    """Section 5.6: a perfect representation of 8 factors, of which metrics read only some."""
    values = _values(points, FACTORS, repeat)
    for known in range(FACTORS, 0, -1):
        yield float(known), values, binned(values[:, :known])


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
            yield float(rows), (values @ matrix)[:rows], binned(values[:rows])


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
    metrics: tuple[str, ...] = ALL,
    sets: int | None = None,
) -> list[dict[str, Any]]:
    """A row per setting and column: experiment, setting, metric, part, and the mean as value.

    The value is None where no repeat could be scored: Z-max variance needs points that differ in
    one factor alone, and among 8 factors of 10 values a third of 20,000 can lack them.
    `sets` is how many groups and pairs are drawn to train, half as many to test; by default half
    as many as there are points, 10,000 at most.
    """
    by_column: dict[tuple[Setting, str, str], list[float]] = {}
    for repeat in range(repeats):
        cases = EXPERIMENTS[name](points, repeat)
        scored = {
            setting: scores(codes, factors, metrics, sets or min(SETS, points // 2), repeat)
            for setting, codes, factors in cases
        }
        if name == "sample_sizes":
            scored = _differences(scored)
        for setting, values in scored.items():
            for (metric, part), value in values.items():
                of_repeats = by_column.setdefault((setting, metric, part), [])
                if not math.isnan(value):
                    of_repeats.append(value)
    return [
        {
            "experiment": name,
            "setting": setting,
            "metric": metric,
            "part": part,
            "value": statistics.fmean(values) if values else None,
        }
        for (setting, metric, part), values in by_column.items()
    ]


def scores(
    codes: Values, factors: NDArray[np.int64], metrics: tuple[str, ...], sets: int, seed: int
) -> dict[tuple[str, str], float]:
    """The columns' scores of one representation, by metric and part; NaN where groups lack."""
    cut = 2 * len(codes) // 3
    train, test = (codes[:cut], factors[:cut]), (codes[cut:], factors[cut:])
    drawn: dict[str, Any] = {}
    missing: set[str] = set()
    kinds: dict[str, Callable[..., Any]] = {
        "groups": table_groups,
        "pairs": table_pairs,
        "variations": table_variations,
    }
    for kind in sorted(needs(metrics) & kinds.keys()):
        for part, rows, count in (("train", train, sets), ("test", test, max(1, sets // 2))):
            draws = stream("experiment", f"{part} {kind}", seed)
            try:
                drawn[f"{part}_{kind}"] = kinds[kind](*rows, count, SIZE, draws)
            except ValueError:
                missing.add(kind)
    inputs = Inputs(*train, test_codes=test[0], test_factors=test[1], **drawn)
    overall = {
        (metric, score.part): score.value
        for metric in metrics
        if not needs([metric]) & missing
        for score in evaluate(metric, inputs, stream("experiment", metric, seed))
        if score.factor is None
    }
    guess = 1 / factors.shape[1]
    for metric in {"factor_vae", "rf_vae"} & {name for name, _ in overall}:
        right = overall[metric, "score_std_pruned"]
        overall[metric, CALIBRATED] = (right - guess) / (1 - guess) if guess < 1 else 0.0
    wanted = [column for column in COLUMNS.values() if column[0] in metrics]
    return {column: overall.get(column, math.nan) for column in wanted}


def binned(values: Values) -> NDArray[np.int64]:
    """Every value's bin of 10 equal ones over [0, 1]."""
    return np.minimum((values * BINS).astype(np.int64), BINS - 1)


def _values(points: int, factors: int, repeat: int) -> Values:
    return stream("experiment", "values", repeat).random((points, factors))


def _differences(
    scored: dict[Setting, dict[tuple[str, str], float]],
) -> dict[Setting, dict[tuple[str, str], float]]:
    """The distance of each setting's scores from those of the last one."""
    *subsets, last = scored
    return {
        rows: {key: abs(value - scored[last][key]) for key, value in scored[rows].items()}
        for rows in subsets
    }
