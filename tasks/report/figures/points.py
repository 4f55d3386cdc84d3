"""Where the points of a drawing lie, and which model or cell each of them is.

The page's script leads from a click near a point to the model or the cell. A link in the page for
each point would make it slow: there are many figures with hundreds of points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from tasks.report.frames import CELL

MODEL = ["model_id", *CELL, "seed"]


@dataclass(frozen=True)
class Points:
    """A row per point: left and top in pixels of the drawing, and MODEL; model_id is empty where a
    point is a cell. By title: the numbers of the points."""

    rows: pd.DataFrame
    values: Mapping[str, NDArray[np.float64]]

    @property
    def are_models(self) -> bool:
        return bool((self.rows["model_id"] != "").any())


def points_at(
    axes: Axes, keys: pd.DataFrame, x: ArrayLike, y: ArrayLike, values: Mapping[str, ArrayLike]
) -> Points | None:
    """Points at places of the axes, and what their keys say they are; None if that is no cell.

    The axes' limits must be final.
    """
    if not {*CELL} <= {*keys.columns}:
        return None
    figure: Any = axes.get_figure()
    places = np.column_stack([np.asarray(x, float), np.asarray(y, float)])
    across, up = axes.transData.transform(places).T if len(places) else np.empty((2, 0))
    if not {*MODEL} <= {*keys.columns}:
        keys = without_model(keys)
    rows = keys[MODEL].reset_index(drop=True)
    rows = rows.assign(left=across, top=figure.bbox.height - up)
    return Points(rows, {title: np.asarray(numbers, float) for title, numbers in values.items()})


def without_model(keys: pd.DataFrame) -> pd.DataFrame:
    """The cells of models."""
    return keys.assign(model_id="", seed=0)


def collapsed_of(rows: pd.DataFrame) -> pd.Series[bool]:
    """Whether a model is drawn hollow: none of its latents is informative."""
    if "collapsed" in rows:
        return rows["collapsed"].astype(bool)
    return pd.Series(False, index=rows.index)
