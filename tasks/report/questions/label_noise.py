"""Do scores change if labels are wrong? Holtz et al. 2022, section 4 and Table 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from tasks.report import intervals
from tasks.report.comparable import COMPARABLE_SOURCES, PAPERS_STEPS, why_not_quoted
from tasks.report.figures.axes import limits
from tasks.report.figures.colours import SPARE
from tasks.report.figures.dot_rows import dot_rows
from tasks.report.figures.sparklines import legend_marker
from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.intervals import Interval
from tasks.report.labels import data_label
from tasks.report.published import LABEL_NOISE, LABEL_NOISE_DATA, LABEL_NOISE_OF_DYNAMICS
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
from tasks.report.results import Column, Results
from tasks.report.spearman import ENOUGH
from tasks.study.label_noise import noisy_part, regimes_by_name
from tasks.words import MISSING, data_name, metric_name, number

QUESTION = Question(
    "Do the scores change if labels are wrong?",
    section="agreement",
    papers=(("holtz-2022", "Table 3"),),
    needs_factors=True,
)
ABOUT = (
    "Every score a second time, where the metric is told of factors with noise: the same models, "
    "the same draws. Pearson's correlation over the models of a data set of the score with noise "
    "and the score without; 1: the noise changes nothing but scale and offset. UDR and the "
    "comparison of training dynamics read no labels, so that their correlation is 1 by "
    "construction. Intervals draw the seeds of each cell anew."
)
NO_NOISE = (
    "The study has no label noise: metrics.label_noise, for example [low, medium, high], adds "
    "scores of which the metrics are told factors with noise."
)
PLACE = "Holtz et al. 2022, Table 3"
OPEN = "the paper says neither what p is nor which models it takes"
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Correlation:
    """Of a score with noise and without, over so many models; None: too few, or all are equal."""

    r: float | None
    n: int
    interval: Interval | None = None


@dataclass(frozen=True)
class Robustness:
    """The correlations of one metric, by regime."""

    metric: Column
    by_regime: Mapping[str, Correlation]

    @property
    def mean(self) -> float:
        """Over the regimes that have a correlation."""
        known = [of.r for of in self.by_regime.values() if of.r is not None]
        return float(np.mean(known)) if known else np.nan


def answer(results: Results) -> Answer:
    regimes = regimes_by_name(results.study.metrics.label_noise)
    if not regimes:
        return replace(missing(NO_NOISE), published=tuple(_published(results, None)))
    models = results.with_parts(
        [noisy(metric, regime) for metric in results.metrics for regime in regimes]
    )
    content: list[Sentence | Table] = []
    figures = []
    for (data, source), rows in groups(models, DATA_SET):
        if of_metrics := robustness(rows, results.metrics, list(regimes), f"{data} {source}"):
            content.append(_finding(data, of_metrics))
            content.append(_table(data, of_metrics, regimes, results))
            if any(np.isfinite(of.mean) for of in of_metrics):
                figure = _figure(data, source, rows, of_metrics, list(regimes))
                figures.append(FigureGroup(data_label(data, source), (figure,)))
    published = tuple(_published(results, models))
    if not content:
        none = missing("No model has a score with label noise yet.")
        return replace(none, published=published)
    drawn = (Figures(tuple(figures), _legend(list(regimes))),) if figures else ()
    return Answer((Sentence(ABOUT), *content, *drawn), published)


def noisy(metric: Column, regime: str) -> Column:
    """The metric's headline under label noise."""
    return replace(metric, part=noisy_part(regime))


def robustness(
    rows: pd.DataFrame, metrics: Sequence[Column], regimes: Sequence[str], name: str
) -> list[Robustness]:
    """Of each metric that has any score with noise on these models."""
    every = []
    for metric in metrics:
        columns = {regime: noisy(metric, regime).id for regime in regimes}
        if rows[list(columns.values())].notna().any(axis=None):
            of_regimes = {
                regime: correlation(rows, metric.id, column, f"{name} {column}")
                for regime, column in columns.items()
                if rows[column].notna().any()
            }
            every.append(Robustness(metric, of_regimes))
    return every


def correlation(rows: pd.DataFrame, clean: str, with_noise: str, name: str) -> Correlation:
    """Pearson's, over the models that have both scores, with the interval of redrawn seeds."""
    both = rows.dropna(subset=[clean, with_noise])
    x, y = both[clean].to_numpy(float), both[with_noise].to_numpy(float)
    if len(both) < ENOUGH or not np.isfinite(r := float(pearson(x, y))):
        return Correlation(None, len(both))
    _, table = intervals.by_cell(both.assign(place=np.arange(len(both))), "place", CELL)

    def of_redrawn(drawn: Scores) -> Scores:
        places = drawn[:, np.isfinite(table)].astype(np.int64)
        return pearson(x[places], y[places])

    draws = intervals.stream("label noise", name)
    return Correlation(r, len(both), intervals.bootstrap(table, of_redrawn, draws))


def pearson(x: Scores, y: Scores) -> Scores:
    """Along the last axis; NaN where all values of one are equal."""
    x, y = (v - v.mean(axis=-1, keepdims=True) for v in (x, y))
    scale = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    # rounding leaves equal values a little apart from their mean
    varied = (np.ptp(x, axis=-1) > 0) & (np.ptp(y, axis=-1) > 0) & (scale > 0)
    r = np.divide((x * y).sum(axis=-1), scale, out=np.full(np.shape(scale), np.nan), where=varied)
    return np.asarray(r.clip(-1, 1), float)


def hardest_regime(of_metrics: Sequence[Robustness]) -> str | None:
    """The one with the lowest correlation on average over the metrics that have one."""
    values: dict[str, list[float]] = {}
    for of in of_metrics:
        for regime, there in of.by_regime.items():
            if there.r is not None:
                values.setdefault(regime, []).append(there.r)
    return min(values, key=lambda regime: float(np.mean(values[regime])), default=None)


def _finding(data: str, of_metrics: Sequence[Robustness]) -> Sentence:
    """The metrics that change least and most where the noise changes most."""
    regime = hardest_regime(of_metrics)
    if regime is None:
        few = f"{data_name(data)}: too few models, or equal scores, for a correlation with noise."
        return Sentence(few, "missing")
    known = [
        (of.metric.title, there.r, there.interval)
        for of in of_metrics
        if (there := of.by_regime.get(regime)) and there.r is not None
    ]
    known.sort(key=lambda of: -of[1])

    def text_of(of: tuple[str, float, Interval | None]) -> str:
        _, r, interval = of
        return f"r = {number(r, 2)}" + (f" ({interval.text()})" if interval else "")

    least, most = known[0], known[-1]
    text = Markup("<b>{}</b>, label noise “{}”: ").format(data_name(data), regime)
    if len(known) == 1:
        text += f"{least[0]} with noise and without have {text_of(least)}"
    else:
        text += f"of {len(known)} metrics {least[0]} changes least, {text_of(least)}; "
        text += f"{most[0]} changes most, {text_of(most)}"
    return Sentence(text + ".", "finding")


def _table(
    data: str,
    of_metrics: Sequence[Robustness],
    regimes: Mapping[str, Mapping[str, float]],
    results: Results,
) -> Table:
    quoted = data == LABEL_NOISE_DATA and not why_not_quoted(results.study, results.models)
    about = "; ".join(
        f"{name}: {', '.join(f'{factor} {p:g}' for factor, p in of_factor.items())}"
        for name, of_factor in regimes.items()
    )
    return Table(
        (Heading("Metric"), *(Heading(regime, numeric=True) for regime in regimes)),
        tuple(
            Row(
                (
                    Cell(of.metric.title),
                    *(_cell(of, regime, quoted) for regime in regimes),
                )
            )
            for of in of_metrics
        ),
        style="tight",
        caption=f"{data_name(data)}: correlation with the score without noise; p, {about}",
        row_headings=True,
    )


def _cell(of: Robustness, regime: str, quoted: bool) -> Cell:
    there = of.by_regime.get(regime)
    if there is None:
        return Cell(MISSING)
    published = LABEL_NOISE.get((of.metric.name, regime)) if quoted else None
    paper = (f"paper: {number(published, 2)}",) if published is not None else ()
    if there.r is None:
        why = "too few models" if there.n < ENOUGH else "all equal"
        return Cell(f"{why}, n = {there.n:,}", below=paper, style="muted")
    interval = f"{there.interval.text()}, " if there.interval else ""
    return Cell(number(there.r, 2), there.r, (f"{interval}n = {there.n:,}", *paper))


def _figure(
    data: str,
    source: str,
    rows: pd.DataFrame,
    of_metrics: Sequence[Robustness],
    regimes: Sequence[str],
) -> Figure:
    ordered = sorted(of_metrics, key=lambda of: -np.nan_to_num(of.mean, nan=-2))
    points = [
        {
            "metric": of.metric.name,
            "regime": regime,
            "r": there.r,
            "low": there.interval.low if there.interval else None,
            "high": there.interval.high if there.interval else None,
            "models": there.n,
        }
        for of in ordered
        for regime, there in of.by_regime.items()
    ]
    values = np.array(
        [[getattr(of.by_regime.get(name), "r", None) for name in regimes] for of in ordered], float
    )
    drawing = dot_rows(
        [of.metric.title for of in ordered],
        values,
        SPARE[: len(regimes)],
        limits(pd.Series([*values[np.isfinite(values)], 1.0])),
        f"label noise {data} {source}",
    )
    columns = [noisy(of.metric, regime).id for of in of_metrics for regime in regimes]
    return Figure(
        "Correlation with the score without noise",
        f"Pearson's correlation of scores with and without label noise on {data_name(data)}, a row "
        "for each metric, a marker for each regime.",
        drawing,
        pd.DataFrame(points),
        "a row for each metric, the one that changes least on top",
        models=rows.loc[rows[columns].notna().any(axis=1), "model_id"],
    )


def _legend(regimes: Sequence[str]) -> tuple[tuple[Markup, str], ...]:
    return tuple((legend_marker(SPARE[place]), name) for place, name in enumerate(regimes))


def _published(results: Results, models: pd.DataFrame | None) -> Iterator[Published]:
    """Table 3; ours are over all models of this study on its data set."""
    reasons = [OPEN, why_not_quoted(results.study, results.models)]
    why_not = "; ".join(reason for reason in reasons if reason)
    few_steps = results.study.training.steps < PAPERS_STEPS
    regimes = regimes_by_name(results.study.metrics.label_noise)
    rows = None
    if models is not None:
        is_papers = (models["data"] == LABEL_NOISE_DATA) & models["source"].isin(COMPARABLE_SOURCES)
        rows = models[is_papers]
    for (name, regime), published in LABEL_NOISE.items():
        ours = Correlation(None, 0)
        clean = Column(name, metric_name(name))
        column = noisy(clean, regime).id
        if rows is not None and regime in regimes and {clean.id, column} <= {*rows.columns}:
            ours = correlation(rows, clean.id, column, f"{LABEL_NOISE_DATA} {column}")
        lacking = (
            f"no models on {data_name(LABEL_NOISE_DATA)} with {clean.title} in regime {regime}"
        )
        is_there = ours.r is not None
        yield Published(
            what=f"Correlation of {clean.title} with label noise ({regime}) and without",
            ours=ours.r,
            published=published,
            place=PLACE,
            n=ours.n if is_there else None,
            why_not=why_not if is_there else lacking,
            interval=ours.interval,
            grid=("fewer steps" if few_steps else "other settings") if is_there else "not computed",
        )
    for regime, published in LABEL_NOISE_OF_DYNAMICS.items():
        yield Published(
            what=f"Correlation of the score by training dynamics with label noise ({regime})",
            ours=None,
            published=published,
            place=PLACE,
            why_not="it reads no labels, so that it is 1 by construction",
            grid="not computed",
        )
