"""Scores as rankings of the models of a data set, to choose one by strength and latents.

How far they agree, and which cell each chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics import HEADLINE
from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.kendall import tau_matrix
from tasks.report.results import Column, Results, signed_so_more_is_better
from tasks.report.spearman import ENOUGH
from tasks.report.swept_grids import objectives, sweeps_latents
from tasks.words import data_name, plural

# The 17 columns of the paper, in its order, and the part of our metric that puts models in the same
# order: a score that is scaled so that guessing is 0 orders them as the score does.
REVIEW: dict[tuple[str, str], str] = {
    ("beta_vae", "calibrated"): "Z-diff",
    ("factor_vae", "score_std_pruned"): "Z-min Variance",
    ("rf_vae", "score_std_pruned"): "Z-max Variance",
    ("irs", "max_deviation_weighted"): "IRS (review)",
    ("dci_lasso", "disentanglement"): "DCI Lasso Modularity",
    ("dci_lasso", "completeness"): "DCI Lasso Compactness",
    ("dci_lasso", "informativeness_test"): "DCI Lasso Explicitness",
    ("dci_forest", "disentanglement"): "DCI RF Modularity",
    ("dci_forest", "completeness"): "DCI RF Compactness",
    ("dci_forest", "informativeness_test"): "DCI RF Explicitness",
    ("explicitness", HEADLINE): "Explicitness",
    ("sap", HEADLINE): "SAP",
    ("mig", HEADLINE): "MIG",
    ("mig_sup", HEADLINE): "MIG-sup",
    ("jemmig", "normalised"): "JEMMIG, normalised",
    ("modularity", HEADLINE): "Modularity",
    ("dcimig", HEADLINE): "DCIMIG",
}
STRONG = 0.5


@dataclass(frozen=True)
class Ranking:
    """The cells of a data set with a sweep of latents, each at its median over seeds."""

    key: tuple[str, ...]  # data, source
    cells: pd.DataFrame  # CELL, latents, objective, a signed column per score
    columns: tuple[Column, ...]
    tau: NDArray[np.float64]  # (columns, columns); NaN where there is none
    models: pd.Series[str]
    seeds: int  # of the largest cell

    @property
    def pairs(self) -> dict[tuple[str, str], float]:
        """By the ids of two columns, where there is a τ."""
        return {
            (self.columns[one].id, self.columns[other].id): float(self.tau[one, other])
            for one, other in combinations(range(len(self.columns)), 2)
            if np.isfinite(self.tau[one, other])
        }

    @property
    def unit(self) -> str:
        one, many = ("model", "models") if self.seeds == 1 else ("median", "medians of cells")
        return plural(len(self.cells), one, many)


def columns_of(results: Results) -> list[Column]:
    """The paper's columns that the study has, then the headlines of all metrics."""
    by_name = {metric.name: metric for metric in results.metrics if metric.direction}
    columns = [
        Column(name, title, part=part) for (name, part), title in REVIEW.items() if name in by_name
    ]
    ids = {column.id for column in columns}
    # Of JEMMIG the paper's column is the normalised one, of which more is better.
    headlines = (m for m in by_name.values() if m.id not in ids and m.name != "jemmig")
    return [*columns, *headlines]


def rankings_of(results: Results) -> list[Ranking]:
    columns = columns_of(results)
    models = signed_so_more_is_better(results.with_parts(columns), columns)
    found = []
    for key, of_data in groups(models, DATA_SET):
        if not sweeps_latents(of_data):
            continue
        rows = of_data.assign(objective=objectives(of_data))
        by = [*CELL, "latents", "objective"]
        known = [column for column in columns if rows[column.id].notna().any()]
        cells = rows.groupby(by, sort=False)[[column.id for column in known]].median()
        known = _without_doubles(known, cells)
        cells = cells[[column.id for column in known]].reset_index()
        cells = cells.sort_values(["latents", "strength"], kind="stable", ignore_index=True)
        if len(known) < 2 or len(cells) < ENOUGH:
            continue
        scores = cells[[column.id for column in known]].to_numpy(float).T
        seeds = int(rows.groupby(CELL).size().max())
        tau = tau_matrix(scores)
        found.append(Ranking(key, cells, tuple(known), tau, rows["model_id"], seeds))
    return found


def _without_doubles(columns: Sequence[Column], cells: pd.DataFrame) -> list[Column]:
    """Without headlines that put the cells in the same order as one of their metric's parts."""
    kept: list[Column] = []
    for column in columns:
        ranks = cells[column.id].rank()
        same = (c for c in kept if c.name == column.name)
        is_double = any(ranks.equals(cells[other.id].rank()) for other in same)
        if column.part != HEADLINE or not is_double:
            kept.append(column)
    return kept


def chosen(ranking: Ranking) -> dict[str, tuple[int, ...]]:
    """By id of a column, the places of its best cells: several if they are equal, none if all
    are."""
    choices = {}
    for column in ranking.columns:
        known = ranking.cells[column.id].dropna()
        best = known.index[known == known.max()] if known.nunique() > 1 else ()
        choices[column.id] = tuple(int(place) for place in best)
    return choices


@dataclass(frozen=True)
class Signs:
    """How often τ has the same sign on two data sets: of all pairs of scores, and of those whose τ
    is strong on one of the two."""

    names: tuple[str, str]
    same: int
    pairs: int
    same_strong: int
    strong: int


def every_sign(rankings: Sequence[Ranking]) -> list[Signs]:
    return [signs for one, other in combinations(rankings, 2) if (signs := signs_of(one, other))]


def signs_of(one: Ranking, other: Ranking) -> Signs | None:
    """None where the two have no pair of scores in common. A τ of 0 has no sign and agrees with
    none."""
    here, there = one.pairs, other.pairs
    both = [pair for pair in here if pair in there]
    same = {pair: here[pair] * there[pair] > 0 for pair in both}
    strong = [pair for pair in both if max(abs(here[pair]), abs(there[pair])) >= STRONG]
    if not both:
        return None
    names = data_name(one.key[0]), data_name(other.key[0])
    return Signs(
        names, sum(same.values()), len(both), sum(same[pair] for pair in strong), len(strong)
    )
