"""The points of a cell's models in their joint embedding, few enough to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from infra.store import Store
from tasks.report import intervals
from tasks.study.model import cell_of

COLUMNS = ["model_id", "steps", "samples", "factor_names", "factors", "dimensions", "embedding"]
MOST_POINTS = 1500  # of a panel
FIRST_FACTORS = ("position_x", "position_y")  # the paper's


@dataclass(frozen=True)
class Embedding:
    """Some points of the models of one cell: the same snapshots and samples of each."""

    models: pd.DataFrame
    points: NDArray[np.float64]  # (models, points, 2)
    steps: NDArray[np.int64]  # of each point, and its sample
    samples: NDArray[np.int64]
    places: NDArray[np.float64] | None  # of each point: from 0 to below 1; None without factors
    place_name: str
    of: int  # points that each model has

    def about(self, models: int) -> str:
        """How many of the points are drawn."""
        drawn = self.points.shape[1]
        return "" if drawn == self.of else f", {drawn * models:,} of {self.of * models:,} points"


def read_embedding(store: Store, models: pd.DataFrame) -> Embedding | None:
    """Some points of these models of one cell; None if they have fewer than two dimensions."""
    cell = cell_of(models.to_dict("records")[0])
    rows = store.read("dynamics", COLUMNS, keys=[cell]).to_pylist()
    by_id = {row["model_id"]: row for row in rows}
    models = models[models["model_id"].isin(by_id)]
    if models.empty or by_id[models["model_id"].iloc[0]]["dimensions"] < 2:
        return None
    first = by_id[models["model_id"].iloc[0]]
    snapshots, samples = len(first["steps"]), first["samples"]
    drawn = _some(snapshots * samples, MOST_POINTS // len(models), cell)
    points = np.stack(
        [
            np.reshape(by_id[model_id]["embedding"], (snapshots * samples, -1))[drawn, :2]
            for model_id in models["model_id"]
        ]
    )
    places, name = _places(first)
    return Embedding(
        models=models,
        points=points.astype(float),
        steps=np.asarray(first["steps"])[drawn // samples],
        samples=drawn % samples,
        places=None if places is None else places[drawn % samples],
        place_name=name,
        of=snapshots * samples,
    )


def _some(count: int, most: int, name: str) -> NDArray[np.int64]:
    """So many places, drawn, since every so-manieth might always be of the same sample."""
    if count <= most:
        return np.arange(count)
    return np.sort(intervals.stream("embedding", name).choice(count, most, replace=False))


def _places(row: dict[str, Any]) -> tuple[NDArray[np.float64] | None, str]:
    """Of each sample, from 0 to below 1, and how it is called: the paper's x + 64 y, from the
    places of two factors that vary. None where no factor varies."""
    names = [str(name) for name in row["factor_names"]]
    if not names:
        return None, ""
    factors = np.reshape(row["factors"], (-1, len(names)))
    dense = rankdata(factors, "dense", axis=0).astype(int) - 1
    sizes = dict(zip(names, dense.max(axis=0) + 1, strict=True))
    varying = [name for name in names if sizes[name] > 1]
    if set(FIRST_FACTORS) <= set(varying):
        varying = list(FIRST_FACTORS)
    if not varying:
        return None, ""
    first, *others = varying[:2]
    value, size, name = dense[:, names.index(first)], sizes[first], first
    for other in others:
        value = value + size * dense[:, names.index(other)]
        name += f" + {size} · {other}"
        size *= sizes[other]
    return value / size, name
