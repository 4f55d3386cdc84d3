"""Damaged parts of a store's tables, noticed by the rows that they lack."""

from __future__ import annotations

from collections.abc import Sequence

from infra.store import Store, merged_key
from tasks.study.survey import CellState
from tasks.words import plural

NAMED = 3
REPAIRED = "The next tolstoy run repairs what it can."


def damaged_parts(store: Store, states: Sequence[CellState]) -> list[str]:
    """`models/KEY.parquet` for each part that cannot be read. Only parts are looked at whose models
    have no row: in a store that is whole these are none, however large it is."""
    lacking = {
        "models": [(state.cell.name, state.unfinished) for state in states],
        "scores": [
            (state.cell.name, [m for m in state.unscored if m.id not in state.with_scores])
            for state in states
        ],
    }
    damaged = []
    for table, cells in lacking.items():
        wanted = {model.id for _, models in cells for model in models}
        wanted |= {merged_key(cell) for cell, models in cells if models}
        parts = wanted.intersection(store.parts(table)) if wanted else set()
        damaged += [
            f"{table}/{key}.parquet"
            for key in sorted(parts)
            if store.is_damaged(table, key, deep=False)
        ]
    return damaged


def damage_text(store: Store, damaged: Sequence[str], advice: str = REPAIRED) -> str:
    """A sentence for people; empty if nothing is damaged."""
    if not damaged:
        return ""
    more = f" and {len(damaged) - NAMED:,} more" if len(damaged) > NAMED else ""
    what = "is damaged and counts" if len(damaged) == 1 else "are damaged and count"
    return (
        f"{plural(len(damaged), 'part')} of the tables in {store} {what} as missing: "
        f"{', '.join(damaged[:NAMED])}{more}. {advice}"
    )
