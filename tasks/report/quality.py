"""How good the ranking without labels is, where there are labels: Duan et al. 2020, Table 7.

A rank correlation is taken within a data set and method, as the paper does, and then averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics import METRICS
from tasks.report import published
from tasks.report.agreement import ENOUGH
from tasks.report.frames import DATA_SET, groups
from tasks.report.tables import Column, turned
from tasks.words import method_name

Columns = Sequence[Column]
# Labelled tasks, not measures of disentanglement: they stand beside the means, not in them.


@dataclass(frozen=True)
class Mean:
    """Correlations averaged over groups, and how many models they are of; no mean, a reason.

    A deviation, n - 1, is of the correlations from each other and needs two of them.
    """

    mean: float | None
    deviation: float | None = None
    correlations: int = 0
    models: int = 0  # in the groups that have a correlation, each once
    reason: str = ""
    theirs: tuple[float, float | None] | None = None  # the paper's mean and deviation


@dataclass(frozen=True)
class QualityRow:
    """How one metric, or the mean of several, agrees with each ranking and the other metrics."""

    title: str
    rankings: tuple[Mean, ...]
    others: Mean | None
    is_mean: bool = False
    aside: str = ""  # why it is in no mean


@dataclass(frozen=True)
class SwitchedOff:
    """Uninformative latents per model."""

    title: str
    mean: float
    deviation: float | None
    models: int


@dataclass(frozen=True)
class _Group:
    """Rank correlations of all scores within a data set and method, and of how many models."""

    place: dict[str, int]  # of each score
    rho: NDArray[np.float64]
    n: NDArray[np.int64]


def disentanglement(shown: Columns) -> list[Column]:
    """The metrics that are averaged: of disentanglement, from labels, where more is better."""
    return [c for c in shown if not c.is_udr and c.more_is_better and _kind(c) == "disentanglement"]


def _kind(column: Column) -> str:
    """An unknown metric is taken for one of disentanglement."""
    return METRICS[column.name].kind if column.name in METRICS else "disentanglement"


def quality(wide: pd.DataFrame, shown: Columns, beside: bool) -> list[QualityRow]:
    """Every metric, then means; last what is in no mean. The paper's numbers only if beside."""
    rankings = [column for column in shown if column.is_udr]
    metrics = disentanglement(shown)
    aside = [column for column in shown if not column.is_udr and column not in metrics]
    found = [_correlations(rows, shown) for _, rows in groups(wide, [*DATA_SET, "method"])]

    def row(title: str, of: Columns, others: Columns, why: str = "") -> QualityRow:
        keys, theirs = [column.key for column in of], [column.key for column in others]
        means = (_mean(found, [(key, ranking.key) for key in keys]) for ranking in rankings)
        # each pair of metrics once, and none with itself
        pairs = {frozenset((one, other)) for one in keys for other in theirs if one != other}
        together = _mean(found, sorted(tuple(sorted(pair)) for pair in pairs)) if pairs else None
        return QualityRow(title, tuple(means), together, len(of) > 1, why)

    rows = [row(metric.title, [metric], metrics) for metric in metrics]
    four = [metric for metric in metrics if metric.name in published.FOUR]
    if len(four) > 1:
        which = "the paper's four" if len(four) == 4 else f"{len(four)} of the paper's four"
        of_four = row(f"Mean of {which}", four, four)
        rows.append(_with_theirs(of_four, rankings) if beside and len(four) == 4 else of_four)
    if len(metrics) > max(1, len(four)):
        rows.append(row(f"Mean of all {len(metrics)}", metrics, metrics))
    for column in aside:
        one = row(column.title, [column], metrics, _why_aside(column))
        is_fairness = beside and column.name == "fairness"
        rows.append(_with_fairness(one, rankings) if is_fairness else one)
    return rows


def _why_aside(column: Column) -> str:
    if column.direction < 0:
        return "less is better, sign turned"
    return "a task" if column.direction else "no direction"


def _correlations(rows: pd.DataFrame, shown: Columns) -> _Group:
    scores = turned(rows, shown)[[column.key for column in shown]].astype(float)
    rho = scores.corr(method="spearman", min_periods=ENOUGH).to_numpy(dtype=float)
    there = scores.notna().to_numpy(dtype=np.int64)
    return _Group({str(key): i for i, key in enumerate(scores)}, rho, there.T @ there)


def _mean(found: Sequence[_Group], pairs: Sequence[tuple[str, ...]]) -> Mean:
    """Of the correlations of these pairs of scores, over all groups."""
    values, models, largest = [], 0, 0
    for group in found:
        of_group = 0
        for one, other in pairs:
            at = group.place[one], group.place[other]
            n, rho = int(group.n[at]), float(group.rho[at])
            largest = max(largest, n)
            if np.isfinite(rho):
                values.append(rho)
                of_group = max(of_group, n)
        models += of_group
    if not values:
        few = f"too few models, n = {largest}" if largest else "not scored"
        return Mean(None, reason=few if largest < ENOUGH else f"all equal, n = {largest:,}")
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Mean(float(np.mean(values)), deviation, len(values), models)


def _with_theirs(row: QualityRow, rankings: Iterable[Column]) -> QualityRow:
    theirs = (published.UDR_WITH_FOUR.get(_papers_version(ranking)) for ranking in rankings)
    means = (replace(mean, theirs=one) for mean, one in zip(row.rankings, theirs, strict=True))
    others = replace(row.others, theirs=published.FOUR_AGREE) if row.others else None
    return replace(row, rankings=tuple(means), others=others)


def _with_fairness(row: QualityRow, rankings: Iterable[Column]) -> QualityRow:
    means = (
        replace(mean, theirs=(published.UDR_WITH_FAIRNESS, None))
        if _papers_version(ranking) == ("lasso", "cell")
        else mean
        for mean, ranking in zip(row.rankings, rankings, strict=True)
    )
    theirs = (published.FOUR_WITH_FAIRNESS, None)
    others = replace(row.others, theirs=theirs) if row.others else None
    return replace(row, rankings=tuple(means), others=others)


def _papers_version(ranking: Column) -> tuple[str, str]:
    """The paper says cross-validated lasso; its code has a fixed penalty. Both are its lasso."""
    return ranking.name.removesuffix("_cv"), ranking.pool


def switched_off(wide: pd.DataFrame, latents: int | None) -> list[SwitchedOff]:
    """Uninformative latents over all ranked models and per method."""
    if not latents or wide["informative"].isna().all():
        return []
    models = wide.assign(off=latents - wide["informative"]).dropna(subset=["off"])
    parts = [(method_name(method), part) for (method,), part in groups(models, ["method"])]
    everything = [("All methods", models), *parts] if len(parts) > 1 else parts
    return [
        SwitchedOff(
            *(title, float(part["off"].mean())),
            *(float(part["off"].std()) if len(part) > 1 else None, len(part)),
        )
        for title, part in everything
    ]
