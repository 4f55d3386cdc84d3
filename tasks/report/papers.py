"""The study's numbers beside the papers', computed as the papers say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.report import published
from tasks.report.agreement import Agreement, spearman
from tasks.report.frames import groups
from tasks.words import data_name, method_name, metric_name, number, udr_name

COMPARABLE_SOURCES = ("official", "redrawn")
DRAWS = 10_000  # Locatello et al. 2019, Table 1
Scores = NDArray[np.float64]  # (cells, seeds), NaN where there is none


@dataclass(frozen=True)
class Comparison:
    """One kind of number: what it is, where it is published, and rows (what, ours, theirs)."""

    title: str
    place: str
    about: str
    rows: tuple[tuple[str, str, str], ...]


def comparisons(wide: pd.DataFrame) -> list[Comparison]:
    """Everything that the study shares with the papers, on data that are the papers'."""
    same = wide[wide["source"].isin(COMPARABLE_SOURCES)]
    found = (
        _explained(same),
        _metrics_agree(same),
        _udr_with_mig(same),
        _beats_random(same),
    )
    return [comparison for comparison in found if comparison.rows]


def variance_explained(rows: pd.DataFrame, score: str, by: Sequence[str]) -> float | None:
    """R² of least squares on the categories; None where there is nothing to explain."""
    values = rows.dropna(subset=[score])
    centre = values[score].mean()
    total = float(((values[score] - centre) ** 2).sum())
    categories = values.groupby(list(by))[score]
    if categories.ngroups < 2 or categories.ngroups == len(values) or total == 0:
        return None
    left = float(((values[score] - categories.transform("mean")) ** 2).sum())
    return 1 - left / total


def _explained(wide: pd.DataFrame) -> Comparison:
    rows = []
    for (data,), of_data in groups(wide, ["data"]):
        for metric in _metrics(of_data):
            for what, by, theirs in (
                ("method", ["method"], published.EXPLAINED_BY_METHOD),
                ("method × strength", ["method", "strength"], published.EXPLAINED_BY_CELL),
            ):
                share = variance_explained(of_data, f"metric {metric}", by)
                if share is not None and (data, metric) in theirs:
                    label = f"{data_name(data)}, {metric_name(metric)}, by {what}"
                    rows.append((label, _percent(share), _percent(theirs[data, metric])))
    return Comparison(
        "Variance of a score explained by the method, and by method and strength",
        "Locatello et al. 2019, Table 5",
        "R² of least squares on the categories, over all models of a data set.",
        tuple(rows),
    )


def _beside(label: str, found: Agreement, theirs: float) -> tuple[str, str, str]:
    return label, f"{number(found.rho, 2)} (n = {found.n:,})", number(theirs, 2)


def _metrics_agree(wide: pd.DataFrame) -> Comparison:
    noisy = wide[wide["data"] == published.METRICS_DATA]
    rows = []
    for (one, other), theirs in published.METRICS_AGREE.items():
        if {one, other} <= set(_metrics(noisy)):
            found = spearman(noisy[f"metric {one}"], noisy[f"metric {other}"])
            if found.rho is not None:
                label = f"{metric_name(one)} and {metric_name(other)}"
                rows.append(_beside(label, found, theirs))
    return Comparison(
        "Rank correlation of metrics on Noisy-dSprites",
        "Locatello et al. 2019, Figure 2",
        "Spearman's ρ over all models.",
        tuple(rows),
    )


def _udr_with_mig(wide: pd.DataFrame) -> Comparison:
    rows = []
    for (data, method, similarity, pool), theirs in published.UDR_WITH_MIG.items():
        key = f"udr {similarity} {pool}"
        group = wide[(wide["data"] == data) & (wide["method"] == method)]
        if key in wide and "metric mig" in wide:
            found = spearman(group[key], group["metric mig"])
            if found.rho is not None:
                ranking = udr_name(pool, similarity, alone=False)
                label = f"{data_name(data)}, {method_name(method)}, {ranking}"
                rows.append(_beside(label, found, theirs))
    return Comparison(
        "Rank correlation of UDR and MIG",
        "Duan et al. 2020, Table 1",
        "Spearman's ρ over the models of a method; the paper has up to 300.",
        tuple(rows),
    )


def _beats_random(wide: pd.DataFrame) -> Comparison:
    tables = score_tables(wide, [metric for metric in published.SIX if metric in _metrics(wide)])
    rows = []
    for (same_metric, same_data), theirs in published.BEATS_RANDOM.items():
        share = beats_random(tables, same_metric, same_data)
        if share is not None:
            label = (
                f"{'same' if same_metric else 'another'} metric, "
                f"{'same' if same_data else 'another'} data set"
            )
            rows.append((label, f"{100 * share:.1f}%", f"{100 * theirs:.1f}%"))
    return Comparison(
        "How often chosen hyperparameters do at least as well as a random model",
        "Locatello et al. 2019, Table 1",
        "The method and strength that score highest with one seed, on one metric and data set, "
        "against a random model, both judged with another seed; 10,000 draws.",
        tuple(rows),
    )


def score_tables(wide: pd.DataFrame, metrics: Sequence[str]) -> dict[tuple[str, str], Scores]:
    """Scores as (cells, seeds) per data set and metric, all with the same cells and seeds."""
    cells = pd.MultiIndex.from_frame(wide[["method", "strength"]].drop_duplicates())
    seeds = pd.Index(sorted(wide["seed"].unique()))
    tables = {}
    for (data,), rows in groups(wide, ["data"]):
        by_cell = rows.set_index(["method", "strength", "seed"])
        for metric in metrics:
            scores = by_cell[f"metric {metric}"].unstack("seed")
            tables[data, metric] = scores.reindex(index=cells, columns=seeds).to_numpy(float)
    return tables


def beats_random(
    tables: Mapping[tuple[str, str], Scores], same_metric: bool, same_data: bool
) -> float | None:
    """The share of draws that the transferred choice wins or ties; None if none can be made."""
    pairs = [
        (chosen_on, judged_on)
        for chosen_on in tables
        for judged_on in tables
        if (chosen_on[1] == judged_on[1]) == same_metric
        and (chosen_on[0] == judged_on[0]) == same_data
    ]
    wins: list[bool] = []
    draws = np.random.default_rng(0)
    for pair in draws.integers(len(pairs), size=DRAWS) if pairs else ():
        chosen_on, judged_on = (tables[key] for key in pairs[pair])
        cells, seeds = judged_on.shape
        if cells < 2 or seeds < 2:
            return None
        first, second = draws.choice(seeds, size=2, replace=False, shuffle=True)
        scores = chosen_on[:, first]
        if np.isfinite(scores).any():
            ours = judged_on[np.nanargmax(scores), second]
            other = judged_on[draws.integers(cells), second]
            if np.isfinite(ours) and np.isfinite(other):
                wins.append(bool(ours >= other))
    return float(np.mean(wins)) if wins else None


def _metrics(wide: pd.DataFrame) -> list[str]:
    return [
        name.removeprefix("metric ")
        for name in wide.columns
        if name.startswith("metric ") and wide[name].notna().any()
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"
