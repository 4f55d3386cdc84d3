"""Which figures the page has: a panel per data set and score, with its caption and description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from tasks.report.agreement import spearman
from tasks.report.bands import bands_plot, bands_scale
from tasks.report.canvas import Drawing, limits
from tasks.report.colours import Look
from tasks.report.fewer import Curve
from tasks.report.figures import curve_plot, scatter_plot
from tasks.report.frames import DATA_SET, groups
from tasks.report.strips import strip_plot
from tasks.report.tables import Column
from tasks.words import data_name, method_name, number, strength_text, symbol


@dataclass(frozen=True)
class Panel:
    """A figure with its title, a line below the title, and words for those who cannot see it."""

    title: str
    subtitle: str
    description: str
    drawing: Drawing


@dataclass(frozen=True)
class PanelGroup:
    """The panels of one data set."""

    data: str
    source: str
    panels: tuple[Panel, ...]


def distributions(
    wide: pd.DataFrame, shown: Sequence[Column], looks: Mapping[str, Look]
) -> list[PanelGroup]:
    """Every score by method and strength. A score has the same scale on all data sets."""
    scales = {column.key: limits(wide[column.key]) for column in shown}
    found = []
    for (data, source), rows in groups(wide, DATA_SET):
        panels = []
        for column in shown:
            if rows[column.key].notna().any():
                name = f"strip {data} {source} {column.key}"
                drawing = strip_plot(rows, column.key, scales[column.key], looks, name)
                panels.append(Panel(column.title, "", _medians(rows, column, data), drawing))
        found.append(PanelGroup(data, source, tuple(panels)))
    return [group for group in found if group.panels]


def _medians(rows: pd.DataFrame, column: Column, data: str) -> str:
    medians = (
        f"{method_name(method)} {number(part[column.key].median())}"
        for (method,), part in groups(rows, ["method"])
    )
    return f"{column.title} on {data_name(data)}; medians over all models: {', '.join(medians)}."


def udr_scatters(
    wide: pd.DataFrame, udr: Column, shown: Sequence[Column], looks: Mapping[str, Look]
) -> list[PanelGroup]:
    """One ranking against every metric."""
    metrics = [column for column in shown if not column.is_udr]
    scales = {column.key: limits(wide[column.key]) for column in (udr, *metrics)}
    found = []
    for (data, source), rows in groups(wide, DATA_SET):
        panels = []
        for metric in metrics:
            if (rows[metric.key].notna() & rows[udr.key].notna()).any():
                agreement = str(spearman(rows[udr.key], rows[metric.key]))
                drawing = scatter_plot(
                    *(rows, udr.key, metric.key, (scales[udr.key], scales[metric.key]), looks),
                    f"scatter {data} {source} {metric.key}",
                )
                about = f"{metric.title} against {udr.title} on {data_name(data)}: {agreement}."
                panels.append(Panel(metric.title, agreement, about, drawing))
        found.append(PanelGroup(data, source, tuple(panels)))
    return [group for group in found if group.panels]


def fewer_comparisons(
    curves: Sequence[Curve], metrics: Sequence[Column], looks: Mapping[str, Look]
) -> list[PanelGroup]:
    """How well UDR of few comparisons agrees with these metrics; a single point is no curve."""
    drawn = [curve for curve in curves if curve.metric in metrics and len(curve.p) > 1]
    scale = bands_scale(drawn)
    found: dict[tuple[str, str], dict[Column, list[Curve]]] = {}
    for curve in drawn:
        of_data = found.setdefault((curve.data, curve.source), {})
        of_data.setdefault(curve.metric, []).append(curve)
    return [
        PanelGroup(
            *(data, source),
            tuple(
                Panel(
                    metric.title,
                    "",
                    f"Rank correlation of UDR and {metric.title} on {data_name(data)}: "
                    + "; ".join(_from_to(curve) for curve in of_metric)
                    + ".",
                    bands_plot(of_metric, scale, looks, f"fewer {data} {source} {metric.key}"),
                )
                for metric, of_metric in by_metric.items()
            ),
        )
        for (data, source), by_metric in found.items()
    ]


def _from_to(curve: Curve) -> str:
    return (
        f"{method_name(curve.method)}, {curve.ranking.title}: {number(curve.mean[0], 2)} with "
        f"{curve.p[0]} comparisons, {number(curve.everyone, 2)} with all"
    )


def training_curves(curves: pd.DataFrame, looks: Mapping[str, Look]) -> list[PanelGroup]:
    """Reconstruction and KL of every method."""
    found = []
    for (data, source), rows in groups(curves, DATA_SET):
        panels = []
        for (method,), of_method in groups(rows, ["method"]):
            name = f"curve {data} {source} {method}"
            drawing = curve_plot(of_method, looks[method], name)
            title = method_name(method)
            about = f"Reconstruction and KL of {title} on {data_name(data)} over training steps."
            panels.append(Panel(title, _swept(method, of_method), about, drawing))
        found.append(PanelGroup(data, source, tuple(panels)))
    return found


def _swept(method: str, rows: pd.DataFrame) -> str:
    strengths = [strength_text(strength) for strength in sorted(rows["strength"].unique())]
    if len(strengths) == 1:
        return f"{symbol(method)} = {strengths[0]}"
    return f"{symbol(method)} from {strengths[0]} (faint) to {strengths[-1]} (strong)"
