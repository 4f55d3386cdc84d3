"""`tolstoy run --retry damaged`: reads every part of a store and all weights, and lets what cannot
be read be made again."""

from __future__ import annotations

from typing import NamedTuple

from infra.store import MERGED, Store
from infra.tables import TABLES
from tasks.study.model import TRAINED
from tasks.study.spec import Study
from tasks.study.weight_files import are_damaged

FROM_TRAINING = ("curves", "pictures", "representations")  # nothing else makes these again


class Forgotten(NamedTuple):
    """What `forget_damaged` found: models to train again, and parts that it set aside."""

    models: int
    parts: int


def forget_damaged(study: Study, store: Store) -> Forgotten:
    """Set damaged parts aside, and forget the models that will be trained again.

    These are models that were trained and have lost what only training gives. All else that a
    damaged part had counts as missing then, and every run makes that again.
    """
    damaged = [
        (table, key)
        for table in TABLES
        for key in store.parts(table)
        if store.is_damaged(table, key, deep=True)
    ]
    lost = _models_that_lost(study, store, damaged)
    for cell, ids in lost.items():  # first: a kill between the two must not forget them
        for table in ("models", "scores"):
            store.drop(table, cell, ids)
    left = [part for part in damaged if store.has_part(*part)]  # others went with their model
    for table, key in left:
        store.set_aside(table, key)
    return Forgotten(sum(map(len, lost.values())), len(left))


def _models_that_lost(
    study: Study, store: Store, damaged: list[tuple[str, str]]
) -> dict[str, set[str]]:
    """Their ids, by cell."""
    rows = store.read("models", ["model_id", "status"]).to_pylist()
    trained = {row["model_id"] for row in rows if row["status"] == TRAINED}
    own = {table: set(store.parts(table)) for table in FROM_TRAINING}
    bad = set(damaged)
    lost: dict[str, set[str]] = {}
    for cell in study.cells():
        for model in cell.models:
            for table in FROM_TRAINING:
                merged = model.id not in own[table] and (table, MERGED + cell.name) in bad
                gone = table == "representations" and model.id not in own[table]
                if model.id in trained and (merged or gone or (table, model.id) in bad):
                    lost.setdefault(cell.name, set()).add(model.id)
            if model.id in trained and are_damaged(model.id, store):
                lost.setdefault(cell.name, set()).add(model.id)
    return lost
