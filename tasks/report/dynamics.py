"""Cells with the stability of their training dynamics, as the questions about it read them.

Holtz et al. 2022 call a cell a specification: models that differ in their seed only. Its score is
the mean MMD² over pairs of its models; lower is more stable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.results import Column, Results
from tasks.report.swept_grids import objectives, sweeps_latents
from tasks.words import method_name, plural, strength_name

Scores = NDArray[np.float64]
BY = [*DATA_SET, "objective"]  # groups of cells that are told apart by strength and latents only
NOT_COMPARED = (
    "No models were compared by their training dynamics. A study compares them if its spec has a "
    "section `traces`, as the preset `holtz-2022` has; a cell needs two models."
)


@dataclass(frozen=True)
class Compared:
    """A cell whose models were compared with each other."""

    models: pd.DataFrame  # those that were compared: keys and scores, in the order of their seeds
    pairs: Scores  # (models, models): MMD²; NaN on the diagonal and where there is none

    def redrawn(self, copies: Scores) -> Scores:
        """The means over pairs of different models, for each row (draws, models) of copies.

        Two copies of one model are no pair; NaN where a draw has none.
        """
        known = np.isfinite(self.pairs)
        sums = _quadratic(np.where(known, self.pairs, 0.0), copies)
        weights = _quadratic(known.astype(float), copies)
        means: Scores = np.divide(
            sums, weights, out=np.full(len(copies), np.nan), where=weights > 0
        )
        return means


@dataclass(frozen=True)
class Cells:
    """The compared cells of some data sets, in the order of the grid."""

    table: pd.DataFrame  # CELL, objective, latents, dynamics, low, high, models, collapsed, ids
    compared: tuple[Compared, ...]  # for each row of the table

    def groups(self, by: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Cells]]:
        """The cells of each group, in the order in which they come."""
        for key, rows in groups(self.table, by):
            yield key, self.some(rows.index)

    def some(self, places: Iterable[int]) -> Cells:
        chosen = list(places)
        table = self.table.iloc[chosen].reset_index(drop=True)
        return Cells(table, tuple(self.compared[place] for place in chosen))

    @property
    def model_ids(self) -> pd.Series[str]:
        ids = [cell.models["model_id"] for cell in self.compared]
        return pd.concat(ids) if ids else pd.Series(dtype=str)

    @property
    def fewest_models(self) -> int:
        return min((len(cell.models) for cell in self.compared), default=0)

    def redrawn(self, draws: int, stream: np.random.Generator) -> Scores:
        """(draws, cells): the scores when the seeds of each cell are drawn again."""
        return np.stack(
            [cell.redrawn(copies(len(cell.models), draws, stream)) for cell in self.compared],
            axis=1,
        )


def compared_cells(results: Results, columns: Sequence[Column] = ()) -> Cells:
    """With the mean of each column over the models of the cell that were compared."""
    dynamics = results.frames.dynamics
    ids = [column.id for column in columns]
    keys = ["model_id", *CELL, "seed", "latents", "collapsed", *ids]
    rows = results.models[list(dict.fromkeys(keys))].merge(dynamics, on="model_id")
    rows = rows.assign(objective=objectives(rows))
    table, compared = [], []
    for key, cell in groups(rows.dropna(subset=["dynamics"]), CELL):
        first = cell.iloc[0]
        table.append(
            {
                **dict(zip(CELL, key, strict=True)),
                **{name: first[name] for name in ("objective", "latents", "dynamics")},
                **{name: float(first[name]) for name in ("low", "high")},
                "models": int(first["models"]),
                "collapsed": int(cell["collapsed"].sum()),
                **{id_: float(cell[id_].mean()) for id_ in ids},
            }
        )
        compared.append(Compared(cell.reset_index(drop=True), _pairs(cell)))
    names = [*CELL, "objective", "latents", "dynamics", "low", "high", "models", "collapsed", *ids]
    return Cells(pd.DataFrame(table, columns=names), tuple(compared))


def copies(models: int, draws: int, stream: np.random.Generator) -> Scores:
    """(draws, models): how often each is drawn, with replacement, as many as there are."""
    return stream.multinomial(models, np.full(models, 1 / models), size=draws).astype(float)


def subsets(models: int, size: int, draws: int, stream: np.random.Generator) -> Scores:
    """(draws, models): 1 for each of so many different models, else 0."""
    drawn = np.zeros((draws, models))
    order = stream.random((draws, models)).argsort(axis=1)[:, :size]
    np.put_along_axis(drawn, order, 1.0, axis=1)
    return drawn


def cell_text(cell: Mapping[Any, Any], with_latents: bool) -> str:
    """`β-VAE, 4 latents, β = 1`."""
    latents = f", {plural(int(cell['latents']), 'latent')}" if with_latents else ""
    strength = strength_name(cell["objective"], cell["strength"])
    return ", ".join(filter(None, (f"{method_name(cell['objective'])}{latents}", strength)))


def has_latents(cells: Cells) -> bool:
    """Whether cells are told apart by their number of latents."""
    return sweeps_latents(cells.table)


def where(key: Sequence[str]) -> str:
    """For names of drawings and random streams."""
    return " ".join(map(str, key))


def _pairs(cell: pd.DataFrame) -> Scores:
    place = {model_id: number for number, model_id in enumerate(cell["model_id"])}
    pairs = np.full((len(place), len(place)), np.nan)
    for number, (partners, values) in enumerate(zip(cell["partners"], cell["mmd2"], strict=True)):
        for partner, value in zip(partners, values, strict=True):
            if partner in place and place[partner] != number:
                pairs[number, place[partner]] = value
    return pairs


def _quadratic(matrix: Scores, rows: Scores) -> Scores:
    product: Scores = ((rows @ matrix) * rows).sum(axis=1)
    return product
