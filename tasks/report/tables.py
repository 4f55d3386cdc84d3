"""From the frames to what the page shows in tables; functions of frames, nothing is read here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from metrics import METRICS
from tasks.report.agreement import Agreement, spearman
from tasks.report.frames import CELL, DATA_SET, Frames, groups
from tasks.report.plan import Plan
from tasks.words import metric_name, udr_name

# Pools from the fairest for choosing a model to the least. Duan et al. 2020, section 4: comparing
# over all strengths is preferable for choosing models, within one strength for choosing strengths.
POOL_ORDER = ("method", "data", "cell")
DIRECTIONS = {"more": 1, "less": -1, "neither": 0}


@dataclass(frozen=True)
class Column:
    """One score that every model may have."""

    key: str
    title: str
    is_udr: bool
    pool: str = ""
    direction: int = 1  # -1 where less is better, 0 where neither is

    @property
    def more_is_better(self) -> bool:
        return self.direction > 0

    @property
    def name(self) -> str:
        """Of a metric, its name; of a ranking, its similarity."""
        return self.key.split(" ", 1)[1].removesuffix(f" {self.pool}" if self.is_udr else "")


@dataclass(frozen=True)
class Summary:
    """One score over the seeds of a cell; no values, no numbers."""

    values: tuple[float, ...]
    median: float | None = None
    low: float | None = None
    high: float | None = None
    quartiles: tuple[float, float] | None = None
    best: bool = False


@dataclass(frozen=True)
class CellRow:
    """One row of the table of scores."""

    data: str
    source: str
    method: str
    strength: float
    trained: int
    ended: int  # trained, diverged or failed
    collapsed: int
    scores: tuple[Summary, ...]


@dataclass(frozen=True)
class Failure:
    """Models of one cell that ended for one reason."""

    data: str
    method: str
    strength: float
    status: str
    reason: str
    seeds: tuple[int, ...]
    steps: tuple[int, int]


@dataclass(frozen=True)
class Unscored:
    """Metrics that have no value on a data set, for one reason."""

    data: str
    source: str
    reason: str
    metrics: tuple[str, ...]
    models: int


@dataclass(frozen=True)
class AgreementRow:
    """How one ranking agrees with one metric on one data set: over all methods, and per method."""

    data: str
    source: str
    udr: Column
    metric: Column
    overall: Agreement
    per_method: tuple[Agreement | None, ...]


def columns(frames: Frames, plan: Plan) -> list[Column]:
    """The metrics as the study names them, then UDR per pool."""
    present = list(frames.scores["metric"].unique())
    named = [name for name in plan.metrics if name in present]
    metrics = [*named, *sorted(set(present) - set(named))]
    found = [Column(f"metric {m}", metric_name(m), False, "", _direction(m)) for m in metrics]
    pairs = frames.ranks[["similarity", "pool"]].drop_duplicates().itertuples(index=False)
    rankings = [(str(row.similarity), str(row.pool)) for row in pairs]
    alone = len({similarity for similarity, _ in rankings}) == 1
    rankings.sort(key=lambda ranking: (ranking[0] != "lasso", ranking[0], _pool_place(ranking[1])))
    return found + [
        Column(f"udr {similarity} {pool}", udr_name(pool, similarity, alone), True, pool)
        for similarity, pool in rankings
    ]


def _direction(metric: str) -> int:
    return DIRECTIONS[METRICS[metric].better] if metric in METRICS else 1


def _pool_place(pool: str) -> int:
    return POOL_ORDER.index(pool) if pool in POOL_ORDER else len(POOL_ORDER)


def per_model(frames: Frames) -> pd.DataFrame:
    """One row per trained model: keys, a column per score, collapsed, informative latents."""
    metrics = frames.scores.pivot(index="model_id", columns="metric", values="value")
    metrics.columns = pd.Index([f"metric {name}" for name in metrics.columns])
    named = frames.ranks.assign(
        key="udr " + frames.ranks["similarity"] + " " + frames.ranks["pool"]
    )
    udr = named.pivot(index="model_id", columns="key", values="udr")
    dead = frames.ranks.loc[frames.ranks["collapsed"].eq(True), "model_id"]
    wide = frames.trained.join(metrics, on="model_id").join(udr, on="model_id")
    counts = frames.ranks.drop_duplicates("model_id").set_index("model_id")["informative"]
    informative = wide["model_id"].map(counts).astype(float)
    return wide.assign(collapsed=wide["model_id"].isin(dead), informative=informative)


def cell_rows(frames: Frames, wide: pd.DataFrame, shown: Sequence[Column]) -> list[CellRow]:
    """A row per cell of which any model ended, in the order of the grid."""
    found = dict(groups(wide, CELL))
    nothing = wide.iloc[:0]
    rows = []
    for key, ended in groups(frames.models, CELL):
        of_cell = found.get(key, nothing)
        data, source, method, strength = key
        summaries = tuple(summarise(of_cell[column.key]) for column in shown)
        collapsed = int(of_cell["collapsed"].sum())
        numbers = (len(of_cell), len(ended), collapsed)
        rows.append(CellRow(data, source, method, float(strength), *numbers, summaries))
    return _mark_best(rows, shown)


def summarise(scores: pd.Series[float]) -> Summary:
    values = np.sort(scores.dropna().to_numpy(dtype=float))
    if not len(values):
        return Summary(())
    lower, median, upper = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
    return Summary(
        tuple(float(value) for value in values),
        median,
        float(values[0]),
        float(values[-1]),
        (lower, upper),
    )


def _mark_best(rows: list[CellRow], shown: Sequence[Column]) -> list[CellRow]:
    """Mark the best median of every data set and score, where there is a choice."""
    marked = [list(row.scores) for row in rows]
    for place, column in enumerate(shown):
        of_data: dict[tuple[str, str], list[int]] = {}
        for i, row in enumerate(rows):
            if column.more_is_better and row.scores[place].median is not None:
                of_data.setdefault((row.data, row.source), []).append(i)
        for candidates in of_data.values():
            top = max(rows[i].scores[place].median or 0.0 for i in candidates)
            winners = [i for i in candidates if rows[i].scores[place].median == top]
            if len(winners) < len(candidates):
                for i in winners:
                    marked[i][place] = replace(marked[i][place], best=True)
    return [replace(row, scores=tuple(s)) for row, s in zip(rows, marked, strict=True)]


def failures(frames: Frames) -> list[Failure]:
    """Everything that ended without a model, one entry per cell and reason."""
    ill = frames.models[frames.models["status"] != "trained"]
    ill = ill.assign(reason=ill["reason"].fillna("").replace("", "no reason recorded"))
    found = []
    for key, rows in groups(ill, [*CELL, "status", "reason"]):
        data, _, method, strength, status, reason = key
        seeds = tuple(int(seed) for seed in sorted(rows["seed"]))
        steps = (int(rows["steps"].min()), int(rows["steps"].max()))
        found.append(Failure(data, method, float(strength), status, reason, seeds, steps))
    return found


def unscored(frames: Frames) -> list[Unscored]:
    """What could not be scored, one entry per data set and reason."""
    found = []
    for (data, source, reason), rows in groups(frames.unscored, [*DATA_SET, "reason"]):
        counts = rows["metric"].value_counts(sort=False)
        titles = tuple(metric_name(name) for name in counts.index)
        found.append(Unscored(data, source, reason, titles, int(counts.max())))
    return found


def turned(wide: pd.DataFrame, shown: Sequence[Column]) -> pd.DataFrame:
    """The scores, with the sign turned where less is better."""
    return wide.assign(**{c.key: -wide[c.key] for c in shown if c.direction < 0})


def agreements(
    wide: pd.DataFrame, shown: Sequence[Column], methods: Sequence[str]
) -> list[AgreementRow]:
    """Rank correlations of every ranking with every metric, per data set.

    Positive means agreement: where less is better the sign is turned.
    """
    wide = turned(wide, shown)
    found = []
    for (data, source), rows in groups(wide, DATA_SET):
        by_method = {method: part for (method,), part in groups(rows, ["method"])}
        for udr in (column for column in shown if column.is_udr):
            for metric in (column for column in shown if not column.is_udr):
                per_method = tuple(
                    spearman(by_method[method][udr.key], by_method[method][metric.key])
                    if method in by_method
                    else None
                    for method in methods
                )
                overall = spearman(rows[udr.key], rows[metric.key])
                if overall.n:
                    found.append(AgreementRow(data, source, udr, metric, overall, per_method))
    return found


def curve_summary(frames: Frames) -> pd.DataFrame:
    """Median, lowest and highest over seeds of what was logged, per cell and step."""
    keyed = frames.trained[["model_id", *CELL]].merge(frames.curves, on="model_id")
    grouped = keyed.groupby([*CELL, "step"], sort=False)[["reconstruction", "kl"]]
    summary = grouped.agg(["median", "min", "max"])
    summary.columns = summary.columns.map(" ".join)
    return summary.reset_index()
