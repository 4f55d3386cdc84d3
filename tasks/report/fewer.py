"""UDR from fewer comparisons: rank correlations with the scores over resampled partners.

Duan et al. 2020, Table 2 and Figure 8; appendix A.5: 20 sets of P partners.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from infra.store import Store
from tasks.compare import put_pairs
from tasks.report import published
from tasks.report.frames import DATA_SET, Frames, groups
from tasks.report.resampling import Scores, fewer, medians, rank_correlations
from tasks.report.tables import Column, turned
from tasks.streams import stream
from tasks.study.pair_parts import SEPARATOR

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
    everyone: float  # with all comparisons


def curves(
    store: Store, frames: Frames, wide: pd.DataFrame, shown: Sequence[Column], similarity: str
) -> list[Curve]:
    """Of all rankings of a similarity with all metrics that have a direction.

    A curve goes as far as most models have more partners than that. There is none with too few
    models, and none where all values are equal.
    """
    rankings = [c for c in shown if c.is_udr and c.name == similarity and wide[c.key].notna().any()]
    metrics = [c for c in shown if not c.is_udr and c.direction and wide[c.key].notna().any()]
    found: list[Curve] = []
    if not metrics:
        return found
    scores = turned(wide, metrics)
    for _, of_data in groups(scores, DATA_SET):
        if not of_data[[metric.key for metric in metrics]].notna().any(axis=None):
            continue
        pairs = pair_matrix(store, of_data, similarity)
        for ranking in rankings:
            ranked = frames.ranks[frames.ranks["similarity"] == similarity]
            members = of_data["model_id"].isin(
                ranked.loc[ranked["pool"] == ranking.pool, "model_id"]
            )
            for _, rows in groups(of_data[members], ["method"]):
                compared = _compared(pairs, of_data, members, rows, ranking.pool)
                found += _curves(rows, compared, ranking, metrics)
    return found


@dataclass(frozen=True)
class FewerRow:
    """Curves averaged over data sets and methods; None where there are not so many partners."""

    title: str
    ranking: Column | None  # None for the paper's own row
    cells: tuple[tuple[float, float] | None, ...]  # mean, and mean deviation of the draws
    everyone: float | None
    curves: int


def averaged(curves: Sequence[Curve], title: str) -> FewerRow | None:
    """One row of curves of one ranking, over those that reach each P."""
    if not curves:
        return None
    cells = []
    for p in COMPARISONS:
        reached = [(c.mean[c.p.index(p)], c.deviation[c.p.index(p)]) for c in curves if p in c.p]
        mean, spread = np.mean(reached, axis=0) if reached else (0.0, 0.0)
        cells.append((float(mean), float(spread)) if reached else None)
    everyone = float(np.mean([curve.everyone for curve in curves]))
    return FewerRow(title, curves[0].ranking, tuple(cells), everyone, len(curves))


def fewer_rows(curves: Sequence[Curve], beside: bool) -> list[FewerRow]:
    """A row per ranking and metric; the paper's case and its numbers first, if beside."""
    case = [
        curve
        for curve in curves
        if (curve.data, curve.method, curve.metric.name) == ("dsprites", "beta_vae", "beta_vae")
        and curve.ranking.pool == "cell"
        and curve.ranking.name.startswith("lasso")
    ]
    rows: list[FewerRow] = []
    if beside and case and (ours := averaged(case, "BetaVAE score, dSprites, β-VAE")):
        theirs = tuple(published.FEWER_COMPARISONS.get(p) for p in COMPARISONS)
        rows += [ours, FewerRow("The same in the paper", None, theirs, None, 1)]
    for ranking in dict.fromkeys(curve.ranking for curve in curves):
        for metric in dict.fromkeys(curve.metric for curve in curves):
            of_both = [c for c in curves if c.ranking == ranking and c.metric == metric]
            row = averaged(of_both, metric.title)
            rows += [row] if row else []
    return rows


def pair_matrix(store: Store, models: pd.DataFrame, similarity: str) -> Scores:
    """UDR of (regressor, target), at the models' places; NaN where not compared."""
    place = {str(model_id): index for index, model_id in enumerate(models["model_id"])}
    found = np.full((2, len(place), len(place)), np.nan)
    prefix = f"{similarity}{SEPARATOR}{models['data'].iloc[0]}-"
    columns = ["model_id", "regressor_id", "udr", "udr_eq2"]
    for part in store.parts("pairs"):
        if part.startswith(prefix):
            put_pairs(store.read("pairs", columns, [part]), place, found)
    udr: Scores = found[0]
    return udr


def _compared(
    pairs: Scores, of_data: pd.DataFrame, members: pd.Series[bool], rows: pd.DataFrame, pool: str
) -> Scores:
    """(models of the rows, models of their data set): UDR where the pool compares them.

    Nobody is compared with a collapsed model.
    """
    targets = of_data.index.get_indexer(rows.index)
    allowed = np.tile((members & ~of_data["collapsed"]).to_numpy(dtype=bool), (len(rows), 1))
    for column in {"cell": ("method", "strength"), "method": ("method",)}.get(pool, ()):
        allowed &= rows[column].to_numpy()[:, None] == of_data[column].to_numpy()[None]
    allowed[np.arange(len(rows)), targets] = False
    return np.where(allowed, pairs[:, targets].T, np.nan)


def _curves(
    rows: pd.DataFrame, compared: Scores, ranking: Column, metrics: Sequence[Column]
) -> Iterator[Curve]:
    dead = rows["collapsed"].to_numpy(dtype=bool)
    partners = np.isfinite(compared[~dead]).sum(axis=1)
    p = tuple(p for p in COMPARISONS if len(partners) and np.mean(partners > p) > 0.5)
    if not p:
        return
    data, source, method = (str(rows[name].iloc[0]) for name in (*DATA_SET, "method"))
    draws = stream("fewer comparisons", data, source, method, ranking.key)
    resampled = np.stack([fewer(compared, dead, p, draws) for _ in range(DRAWS)])
    everyone = medians(compared, dead)
    values = rows[[metric.key for metric in metrics]].to_numpy(dtype=float)
    flat = np.concatenate([resampled.reshape(-1, len(rows)), everyone[None]])
    rho = rank_correlations(flat, values)
    drawn = rho[:-1].reshape(DRAWS, len(p), len(metrics))
    for column, metric in enumerate(metrics):
        there = int((np.isfinite(values[:, column]) & np.isfinite(everyone)).sum())
        of_metric = drawn[:, :, column]
        if np.isfinite(of_metric).all() and np.isfinite(rho[-1, column]):
            yield Curve(
                *(data, source, method, ranking, metric, there, p),
                tuple(of_metric.mean(axis=0).tolist()),
                tuple(of_metric.std(axis=0, ddof=1).tolist()),
                float(rho[-1, column]),
            )
