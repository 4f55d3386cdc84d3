"""Rank correlations of UDR with the scores, when each model is compared with P others only.

Duan et al. 2020, appendix A.5: 20 sets of P partners.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.resampling import Scores, fewer, medians, packed, pair_matrix
from tasks.report.results import Column, Results, signed_so_more_is_better
from tasks.report.spearman import rank_correlations
from tasks.streams import stream
from tasks.study.axes import method_of
from tasks.study.model import cell_of

DRAWS = 20
COMPARISONS = tuple(range(5, 50, 5))


@dataclass(frozen=True)
class Curve:
    """Correlation of one ranking with one metric over the models of a data set and method."""

    data: str
    source: str
    method: str
    ranking: Column
    metric: Column
    models: int
    p: tuple[int, ...]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    with_all: float  # with all comparisons


@dataclass(frozen=True)
class FewerRow:
    """Curves averaged over data sets and methods; None where there are not so many partners."""

    title: str
    ranking: str
    cells: tuple[tuple[float, float] | None, ...]  # mean, and mean deviation of the draws
    with_all: float  # NaN: unknown
    curves: int = 1


def curves_of_versions(results: Results) -> list[Curve]:
    """Of every ranking by UDR, by similarity: each has its own pairs."""
    similarities = dict.fromkeys(ranking.name for ranking in results.udr_versions)
    return [curve for similarity in similarities for curve in curves(results, similarity)]


def curves(results: Results, similarity: str) -> list[Curve]:
    """Of all rankings of a similarity with all metrics that have a direction.

    A curve goes as far as most models have more partners than that. There is none with too few
    models, and none where all values are equal.
    """
    models, ranks = results.models, results.frames.ranks
    rankings = [c for c in results.rankings if c.name == similarity and models[c.id].notna().any()]
    metrics = [c for c in results.metrics if c.direction and models[c.id].notna().any()]
    collected: list[Curve] = []
    if not metrics:
        return collected
    for _, of_data in groups(signed_so_more_is_better(models, metrics), DATA_SET):
        if not of_data[[metric.id for metric in metrics]].notna().any(axis=None):
            continue
        pairs = pair_matrix(results.store, of_data, similarity)
        for ranking in rankings:
            in_pool = (ranks["similarity"] == similarity) & (ranks["pool"] == ranking.pool)
            members = of_data["model_id"].isin(ranks.loc[in_pool, "model_id"])
            for _, rows in groups(of_data[members], ["method"]):
                compared = _compared(pairs, of_data, members, rows, ranking.pool)
                collected += _curves(rows, compared, ranking, metrics)
    return collected


def _compared(
    pairs: Scores, of_data: pd.DataFrame, members: pd.Series[bool], rows: pd.DataFrame, pool: str
) -> Scores:
    """(models of the rows, models that each is compared with): their UDR, packed.

    No model is compared with a collapsed one.
    """
    targets = of_data.index.get_indexer(rows.index)
    allowed = np.tile((members & ~of_data["collapsed"]).to_numpy(dtype=bool), (len(rows), 1))
    names = {"cell": cell_of, "method": lambda row: method_of(row["method"])}
    if pool in names:  # the pool "method" has all values of swept axes
        of_rows, of_all = (
            np.array([names[pool](row) for row in frame[CELL].to_dict("records")])
            for frame in (rows, of_data)
        )
        allowed &= of_rows[:, None] == of_all[None]
    allowed[np.arange(len(rows)), targets] = False
    some = allowed.any(axis=0)
    return packed(np.where(allowed[:, some], pairs[np.ix_(some, targets)].T, np.nan))


def _curves(
    rows: pd.DataFrame, compared: Scores, ranking: Column, metrics: Sequence[Column]
) -> Iterator[Curve]:
    dead = rows["collapsed"].to_numpy(dtype=bool)
    partners = np.isfinite(compared[~dead]).sum(axis=1)
    p = tuple(p for p in COMPARISONS if len(partners) and np.mean(partners > p) > 0.5)
    if not p:
        return
    data, source, method = (str(rows[name].iloc[0]) for name in (*DATA_SET, "method"))
    draws = stream("fewer comparisons", data, source, method, ranking.id)
    resampled = np.stack([fewer(compared, dead, p, draws) for _ in range(DRAWS)])
    with_all = medians(compared, dead)
    values = rows[[metric.id for metric in metrics]].to_numpy(dtype=float)
    flat = np.concatenate([resampled.reshape(-1, len(rows)), with_all[None]])
    rho = rank_correlations(flat, values.T)
    drawn = rho[:-1].reshape(DRAWS, len(p), len(metrics))
    for place, metric in enumerate(metrics):
        scored = int((np.isfinite(values[:, place]) & np.isfinite(with_all)).sum())
        of_metric = drawn[:, :, place]
        if np.isfinite(of_metric).all() and np.isfinite(rho[-1, place]):
            yield Curve(
                data=data,
                source=source,
                method=method,
                ranking=ranking,
                metric=metric,
                models=scored,
                p=p,
                mean=tuple(of_metric.mean(axis=0).tolist()),
                deviation=tuple(of_metric.std(axis=0, ddof=1).tolist()),
                with_all=float(rho[-1, place]),
            )


def averaged(curves: Sequence[Curve], title: str) -> FewerRow | None:
    """One row of curves of one ranking, over those that reach each P."""
    if not curves:
        return None
    cells = []
    for p in COMPARISONS:
        reached = [(c.mean[c.p.index(p)], c.deviation[c.p.index(p)]) for c in curves if p in c.p]
        mean, spread = np.mean(reached, axis=0) if reached else (0.0, 0.0)
        cells.append((float(mean), float(spread)) if reached else None)
    with_all = float(np.mean([curve.with_all for curve in curves]))
    return FewerRow(title, curves[0].ranking.title, tuple(cells), with_all, len(curves))


def version_rows(curves: Sequence[Curve], metrics: Sequence[Column]) -> list[FewerRow]:
    """A row per version of UDR, averaged over these metrics too."""
    title = metrics[0].title if len(metrics) == 1 else f"Mean of {len(metrics)} scores"
    rows = (
        averaged([c for c in curves if c.ranking == ranking and c.metric in metrics], title)
        for ranking in dict.fromkeys(curve.ranking for curve in curves)
    )
    return [row for row in rows if row]
