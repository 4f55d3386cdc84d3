"""Medians over seeds, per method and strength."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from tasks.report.frames import groups


def medians(rows: pd.DataFrame, scores: Sequence[str]) -> pd.DataFrame:
    """A row per method and strength of one data set: the medians, and `place`, the strength's
    place in its sweep, from 1 for the weakest."""
    table = rows.groupby(["method", "strength"], sort=False)[list(scores)].median().reset_index()
    table["place"] = table.groupby("method")["strength"].rank("dense").astype(int)
    return table.sort_values(["place"], kind="stable")


def sweeps(table: pd.DataFrame, score: str) -> dict[str, list[float]]:
    """By method: the medians of one score in the order of strengths."""
    return {
        method: [float(value) for value in part[score]]
        for (method,), part in groups(table, ["method"])
        if part[score].notna().any()
    }
