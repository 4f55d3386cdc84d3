"""Medians over seeds, per method and strength."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from tasks.report.frames import CELL


def medians(rows: pd.DataFrame, scores: Sequence[str]) -> pd.DataFrame:
    """A row per cell of one data set: the medians, and `place`, the strength's place in its sweep,
    from 1 for the weakest."""
    table = rows.groupby(CELL, sort=False)[list(scores)].median().reset_index()
    table["place"] = table.groupby("method")["strength"].rank("dense").astype(int)
    return table.sort_values(["place"], kind="stable")


def sweep_of(table: pd.DataFrame, score: str) -> pd.DataFrame:
    """The medians of one score, of the methods that have any."""
    known = table[score].notna().groupby(table["method"]).transform("any")
    return table.loc[known, [*CELL, "place", score]]
