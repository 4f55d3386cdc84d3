"""Which strength a score chooses, and whether UDR and the scores with labels choose the same.

Duan et al. 2020, Figure 2: the strength with the highest median over seeds is the most promising.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tasks.report.frames import DATA_SET, groups
from tasks.report.tables import Column, turned


@dataclass(frozen=True)
class StrengthRow:
    """Chosen strengths of a data set and method, per score; several where medians are equal."""

    data: str
    source: str
    method: str
    strengths: int  # between which there is a choice
    chosen: tuple[tuple[float, ...], ...]
    agrees: tuple[bool | None, ...]  # with UDR; None where either makes no choice


@dataclass(frozen=True)
class Choices:
    """The rows, the scores of their columns, the ranking that chooses, and how often all agree."""

    rows: tuple[StrengthRow, ...]
    columns: tuple[Column, ...]
    udr: Column
    same: int
    compared: int
    by_chance: float  # how many would be the same if strengths were drawn
    seeds: int  # in the smallest cell


def choosing(shown: Sequence[Column], wide: pd.DataFrame) -> Column | None:
    """Within a cell, if there is such a ranking: for strengths the paper prefers it (section 4)."""
    rankings = [c for c in shown if c.is_udr and wide[c.key].notna().any()]
    return next((c for c in rankings if c.pool == "cell"), next(iter(rankings), None))


def chosen_strengths(wide: pd.DataFrame, shown: Sequence[Column]) -> Choices | None:
    """Per data set and method with several strengths; None where UDR or labels choose nothing."""
    udr = choosing(shown, wide)
    columns = tuple(c for c in shown if c.direction and wide[c.key].notna().any())
    if udr is None or all(column.is_udr for column in columns):
        return None
    rows, chances, seeds = [], 0.0, []
    for (data, source, method), of_method in groups(wide, [*DATA_SET, "method"]):
        by_strength = turned(of_method, shown).groupby("strength")
        medians = by_strength[[column.key for column in columns]].median()
        chosen = tuple(_highest(medians[column.key]) for column in columns)
        ours = set(chosen[columns.index(udr)])
        agrees = tuple(
            bool(ours & set(theirs)) if ours and theirs and not column.is_udr else None
            for column, theirs in zip(columns, chosen, strict=True)
        )
        if len(medians) > 1 and any(chosen):
            rows.append(StrengthRow(data, source, method, len(medians), chosen, agrees))
            chances += sum(one is not None for one in agrees) / len(medians)
            seeds.append(int(by_strength.size().min()))
    answers = [one for row in rows for one in row.agrees if one is not None]
    if not answers:
        return None
    return Choices(tuple(rows), columns, udr, sum(answers), len(answers), chances, min(seeds))


def _highest(medians: pd.Series[float]) -> tuple[float, ...]:
    """Nothing where there is no choice: fewer than two medians, or all equal."""
    known = medians.dropna()
    if known.nunique() < 2:
        return ()
    return tuple(float(strength) for strength in known.index[known == known.max()])
