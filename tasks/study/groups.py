"""Comparisons of a study: in which groups they are ranked, and what of them stands in the store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from infra.store import Store
from tasks.study.dynamics import all_compared
from tasks.study.model import Cell, Model
from tasks.study.pair_parts import SEPARATOR, wanted_parts
from tasks.study.spec import Study, Udr
from tasks.study.survey import CellState


def groups_of(study: Study, cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """The cells that are ranked together, by the name of their part of `ranks`."""
    groups: dict[str, list[Cell]] = {}
    if study.udr.similarities and study.udr.pools:
        for cell in cells:
            name = cell.data if "data" in study.udr.pools else cell.group
            groups.setdefault(name, []).append(cell)
    return groups


def is_finished(study: Study, store: Store, states: Sequence[CellState]) -> bool:
    """Whether nothing is left to train, score or compare."""
    unfinished = any(state.unfinished or state.unscored for state in states)
    ended = not unfinished and all_ranked(study, store, states)
    return ended and all_compared(study, store, states)


def all_ranked(study: Study, store: Store, states: Sequence[CellState]) -> bool:
    """Whether every group is ranked as the study wants it; opens one file per group."""
    trained = {state.cell.name: state.trained for state in states}
    groups = groups_of(study, [state.cell for state in states])
    if not groups:
        return True
    parts = set(store.parts("pairs"))
    if outdated(store, groups, parts):
        return False
    return all(
        is_ranked(store, group, [m for c in cells for m in trained[c.name]], study.udr, parts)
        for group, cells in groups.items()
    )


def is_ranked(store: Store, group: str, models: Sequence[Model], udr: Udr, parts: set[str]) -> bool:
    """Whether the ranking was made from just these models, and no part of their pairs was lost."""
    if not models:
        return True
    made_from = ranking_made_from([model.id for model in models], udr)
    return store.part_made_from("ranks", group) == made_from and parts.issuperset(
        part.name for part in wanted_parts(models, udr)
    )


def outdated(store: Store, groups: Iterable[str], parts: Iterable[str]) -> list[tuple[str, str]]:
    """Parts that others replace: rankings of other groups, pairs of an older layout."""
    return [
        *(("ranks", name) for name in store.parts("ranks") if name not in groups),
        *(("pairs", name) for name in parts if SEPARATOR not in name),
    ]


def ranking_made_from(model_ids: Sequence[str], udr: Udr) -> str:
    """What a ranking depends on: which models were compared, and how."""
    text = udr.model_dump_json() + " ".join(sorted(model_ids))
    return hashlib.sha256(text.encode()).hexdigest()
