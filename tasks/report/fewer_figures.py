"""Figures of UDR from fewer comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle

import pandas as pd
from markupsafe import Markup

from tasks.report.fewer_curves import COMPARISONS, Curve, FewerRow, version_rows
from tasks.report.figures.axes import limits
from tasks.report.figures.bands import Line, lines_plot
from tasks.report.figures.colours import KNOWN, SPARE, Style
from tasks.report.labels import data_label, method_legend
from tasks.report.questions import Figure, FigureGroup
from tasks.report.results import Column, Results
from tasks.words import data_name, method_name, number


def figures_of_versions(
    curves: Sequence[Curve], metrics: Sequence[Column], results: Results
) -> tuple[tuple[FigureGroup, ...], tuple[tuple[Markup, str], ...]]:
    """A figure per data set with a line per version, and their legend; none for one version."""
    versions = list(dict.fromkeys(curve.ranking for curve in curves))
    styles = dict(zip((v.title for v in versions), cycle((*KNOWN.values(), *SPARE)), strict=False))
    collected = []
    for key in dict.fromkeys((curve.data, curve.source) for curve in curves):
        of_data = [curve for curve in curves if (curve.data, curve.source) == key]
        rows = [row for row in version_rows(of_data, metrics) if sum(map(bool, row.cells)) > 1]
        if len(rows) > 1:
            ids = _models(of_data, results.models)
            collected.append(_of_versions(rows, key, styles, ids))
    if not collected:
        return (), ()
    return (FigureGroup("Versions of UDR", tuple(collected)),), method_legend(styles)


def _of_versions(
    rows: Sequence[FewerRow],
    key: tuple[str, str],
    styles: Mapping[str, Style],
    models: pd.Series[str],
) -> Figure:
    lines = []
    for row in rows:
        reached = [(p, *c) for p, c in zip(COMPARISONS, row.cells, strict=True) if c]
        at, middle, spread = zip(*reached, strict=True)
        lines.append(
            Line("mean rank correlation", styles[row.ranking], at, middle, spread, row.with_all)
        )
    data = pd.DataFrame(
        [
            {
                "ranking": row.ranking,
                "p": p,
                "mean": mean,
                "deviation": spread,
                "with_all": row.with_all,
            }
            for row, line in zip(rows, lines, strict=True)
            for p, mean, spread in zip(line.at, line.middle, line.spread, strict=True)
        ]
    )
    ends = [data["mean"] - data["deviation"], data["mean"] + data["deviation"], data["with_all"]]
    drawing = lines_plot(
        lines=lines,
        scale=limits(pd.concat(ends)),
        ticks=[p for p in COMPARISONS if p <= data["p"].max()],
        across_title="comparisons per model",
        name=f"fewer versions {' '.join(key)}",
    )
    described = "; ".join(
        f"{row.ranking} {number(line.middle[0], 2)} with {line.at[0]} comparisons, "
        f"{number(row.with_all, 2)} with all"
        for row, line in zip(rows, lines, strict=True)
    )
    about = f"Mean rank correlation by comparisons on {data_name(key[0])}: {described}."
    return Figure(data_name(key[0]), about, drawing, data, key[1], models)


def figures_of_methods(
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
            ids = _models(of_metric, results.models)
            figures.append(Figure(metric.title, about, drawing, _data(of_metric), models=ids))
        collected.append(FigureGroup(data_label(data, source), tuple(figures)))
    return tuple(collected)


def _models(curves: Sequence[Curve], models: pd.DataFrame) -> pd.Series[str]:
    """The ids of the models behind curves of one data set."""
    behind = (models["data"] == curves[0].data) & (models["source"] == curves[0].source)
    behind &= models["method"].isin([curve.method for curve in curves])
    for columns in ([c.metric.id for c in curves], [c.ranking.id for c in curves]):
        behind &= models[list(dict.fromkeys(columns))].notna().any(axis=1)
    return models.loc[behind, "model_id"]


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
