"""The ranking itself: models best first, with all that is known of each without its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tasks.report.frames import DATA_SET, groups
from tasks.report.tables import Column

FIRST, LAST = 10, 3  # of each data set


@dataclass(frozen=True)
class RankedModel:
    """One row of the ranking."""

    place: int
    model_id: str
    method: str
    strength: float
    seed: int
    informative: int | None
    collapsed: bool
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Ranking:
    """The models of a data set: all of them, or the first and the last."""

    data: str
    source: str
    columns: tuple[Column, ...]
    models: tuple[RankedModel, ...]
    all: int


def rankings(wide: pd.DataFrame, shown: Sequence[Column], udr: Column) -> list[Ranking]:
    """Per data set, by the main ranking; equal models in the order of their ids."""
    found = []
    for (data, source), rows in groups(wide.dropna(subset=[udr.key]), DATA_SET):
        others = (c for c in shown if c is not udr and rows[c.key].notna().any())
        columns = (udr, *sorted(others, key=lambda column: not column.is_udr))
        ordered = rows.sort_values([udr.key, "model_id"], ascending=[False, True])
        kept = ordered = ordered.assign(place=range(1, len(rows) + 1))
        if len(ordered) > FIRST + LAST:
            kept = pd.concat([ordered.iloc[:FIRST], ordered.iloc[-LAST:]])
        models = tuple(
            RankedModel(
                *(int(row["place"]), str(row["model_id"]), str(row["method"])),
                *(float(row["strength"]), int(row["seed"])),
                None if pd.isna(row["informative"]) else int(row["informative"]),
                bool(row["collapsed"]),
                tuple(float(row[column.key]) for column in columns),
            )
            for row in kept.to_dict("records")
        )
        found.append(Ranking(data, source, columns, models, len(rows)))
    return found
