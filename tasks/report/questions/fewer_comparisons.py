"""How good is UDR from fewer comparisons?

Duan et al. 2020, Table 2 and Figure 8; appendix A.5: 20 sets of P partners.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.report.comparable import why_not_comparable
from tasks.report.figures.axes import limits
from tasks.report.figures.bands import Line, lines_plot
from tasks.report.frames import DATA_SET, groups
from tasks.report.labels import data_label, method_legend
from tasks.report.published import FEWER_COMPARISONS, FOUR
from tasks.report.questions import (
    Answer,
    Cell,
    Figure,
    FigureGroup,
    Figures,
    Heading,
    Published,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.questions.quality import disentanglement
from tasks.report.resampling import Scores, fewer, medians, pair_matrix
from tasks.report.results import Column, Results, signed_so_more_is_better
from tasks.report.spearman import ENOUGH, rank_correlations
from tasks.streams import stream
from tasks.words import MISSING, data_name, method_name, number

QUESTION = Question("With fewer comparisons", section="quality", papers=(("duan-2020", "Table 2"),))
DRAWS = 20
COMPARISONS = tuple(range(5, 50, 5))
MOST_OPEN_ROWS = 20
MOST_DRAWN = 4  # metrics


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
    with_all: float | None
    curves: int = 1


def answer(results: Results) -> Answer:
    collected = curves(results, results.udr.name) if results.udr else []
    if not collected:
        return missing(
            f"No curve: it needs the table of pairs, {ENOUGH} scored models of a data set and "
            f"method, and more than {COMPARISONS[0]} partners for most of them."
        )
    why_not = why_not_comparable(results.study, results.models)
    about = (
        "The same rank correlation when each model is compared with P partners only: mean of "
        f"{DRAWS} random choices of partners, ± their deviation, averaged over data sets and "
        "methods that have so many."
    )
    content: list[Sentence | Table | Figures] = [Sentence(about)]
    content.append(_table(fewer_rows(collected, with_published=not why_not)))
    groups_of_figures = _figures(collected, _drawn_metrics(results), results)
    if groups_of_figures:
        text = (
            "A line per method with a band of ± one deviation; the short bar at the right is the "
            "correlation with all comparisons."
        )
        if len(results.metrics) > MOST_DRAWN:
            text += " Four metrics are drawn; the others are in the table."
        content += [Sentence(text), Figures(groups_of_figures, method_legend(results.styles))]
    return Answer(tuple(content), tuple(_published(collected, why_not)))


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


def fewer_rows(curves: Sequence[Curve], with_published: bool) -> list[FewerRow]:
    """A row per ranking and metric; the paper's case and its numbers first, if wanted."""
    rows: list[FewerRow] = []
    ours = _papers_case(curves)
    if with_published and ours:
        published = tuple(FEWER_COMPARISONS.get(p) for p in COMPARISONS)
        rows += [ours, FewerRow("The same in the paper", ours.ranking, published, None)]
    for ranking in dict.fromkeys(curve.ranking for curve in curves):
        for metric in dict.fromkeys(curve.metric for curve in curves):
            of_both = [c for c in curves if c.ranking == ranking and c.metric == metric]
            row = averaged(of_both, metric.title)
            rows += [row] if row else []
    return rows


def _papers_case(curves: Sequence[Curve]) -> FewerRow | None:
    case = [
        curve
        for curve in curves
        if (curve.data, curve.method, curve.metric.name) == ("dsprites", "beta_vae", "beta_vae")
        and curve.ranking.pool == "cell"
        and curve.ranking.name.startswith("lasso")
    ]
    return averaged(case, "BetaVAE score, dSprites, β-VAE")


def _published(curves: Sequence[Curve], why_not: str) -> Iterator[Published]:
    ours = _papers_case(curves)
    for p, cell in zip(COMPARISONS, ours.cells if ours else (), strict=bool(ours)):
        yield Published(
            what=f"UDR with BetaVAE score, dSprites, β-VAE, P = {p}",
            ours=cell[0] if cell else None,
            published=FEWER_COMPARISONS[p][0],
            place=QUESTION.place,
            why_not=why_not or ("" if cell else "too few partners"),
        )


def _compared(
    pairs: Scores, of_data: pd.DataFrame, members: pd.Series[bool], rows: pd.DataFrame, pool: str
) -> Scores:
    """(models of the rows, models of their data set): UDR where the pool compares them.

    No model is compared with a collapsed one.
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


def _table(rows: Sequence[FewerRow]) -> Table:
    reached = [i for i in range(len(COMPARISONS)) if any(row.cells[i] for row in rows)]
    headings = (
        Heading("UDR and"),
        Heading("Ranking"),
        *(Heading(f"P = {COMPARISONS[i]}", numeric=True) for i in reached),
        Heading("all", numeric=True),
    )

    def cell(value: tuple[float, float] | None) -> Cell:
        if value is None:
            return Cell(MISSING)
        return Cell(number(value[0], 2), value[0], (f"± {number(value[1], 2)}",))

    return Table(
        headings,
        tuple(
            Row(
                (
                    Cell(row.title),
                    Cell(row.ranking),
                    *(cell(row.cells[i]) for i in reached),
                    Cell(number(row.with_all, 2), row.with_all),
                )
            )
            for row in rows
        ),
        id="fewer-table",
        style="tight",
        summary="Rank correlation by P",
        open=len(rows) <= MOST_OPEN_ROWS,
    )


def _drawn_metrics(results: Results) -> list[Column]:
    """The metrics whose curves are drawn: four at most, the paper's if they are there."""
    metrics = disentanglement(results.columns)
    return sorted(metrics, key=lambda metric: metric.name not in FOUR)[:MOST_DRAWN]


def _figures(
    curves: Sequence[Curve], metrics: Sequence[Column], results: Results
) -> tuple[FigureGroup, ...]:
    """A figure per data set and metric; a single point is no curve."""
    drawn = [curve for curve in curves if curve.metric in metrics and len(curve.p) > 1]
    scale = limits(pd.Series([value for curve in drawn for value in _values(curve)], dtype=float))
    by_data: dict[tuple[str, str], dict[Column, list[Curve]]] = {}
    for curve in drawn:
        of_data = by_data.setdefault((curve.data, curve.source), {})
        of_data.setdefault(curve.metric, []).append(curve)
    collected = []
    for (data, source), by_metric in by_data.items():
        figures = []
        for metric, of_metric in by_metric.items():
            lines = [
                Line(
                    panel=f"rank correlation of {curve.ranking.title}",
                    style=results.styles[curve.method],
                    at=curve.p,
                    middle=curve.mean,
                    spread=curve.deviation,
                    end=curve.with_all,
                )
                for curve in of_metric
            ]
            last = max(curve.p[-1] for curve in of_metric)
            drawing = lines_plot(
                lines=lines,
                scale=scale,
                ticks=[p for p in COMPARISONS if p <= last],
                across_title="comparisons per model",
                name=f"fewer {data} {source} {metric.id}",
            )
            described = "; ".join(_from_to(curve) for curve in of_metric)
            about = f"Rank correlation of UDR and {metric.title} on {data_name(data)}: {described}."
            figures.append(Figure(metric.title, about, drawing, _data(of_metric)))
        collected.append(FigureGroup(data_label(data, source), tuple(figures)))
    return tuple(collected)


def _values(curve: Curve) -> Iterator[float]:
    """All that a figure shows of a curve."""
    for mean, deviation in zip(curve.mean, curve.deviation, strict=True):
        yield from (mean - deviation, mean + deviation)
    yield curve.with_all


def _data(curves: Sequence[Curve]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "method": curve.method,
                "ranking": curve.ranking.title,
                "p": p,
                "mean": mean,
                "deviation": deviation,
                "with_all": curve.with_all,
                "models": curve.models,
            }
            for curve in curves
            for p, mean, deviation in zip(curve.p, curve.mean, curve.deviation, strict=True)
        ]
    )


def _from_to(curve: Curve) -> str:
    return (
        f"{method_name(curve.method)}, {curve.ranking.title}: {number(curve.mean[0], 2)} with "
        f"{curve.p[0]} comparisons, {number(curve.with_all, 2)} with all"
    )
