"""UDR, ModelCentrality, CKA or CCA of pairs of models: each representation is read once, and each
part of `pairs` written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from infra.store import Store, table_of
from infra.tables import KEYS
from metrics.udr import Prepared, compare, compare_both, prepare
from tasks.study.model import TRAINED, Model
from tasks.study.pair_parts import (
    NO_MODELS,
    PairPart,
    Sides,
    missing_parts,
    stored_models,
    tiles,
    wanted_parts,
)
from tasks.study.spec import Study, Udr

Codes = NDArray[np.float32]
Flags = NDArray[np.bool_]
Write = Callable[[PairPart, pa.Table], None]


def compare_tile(
    store: Store, study: Study, models: Sequence[Model], cells: Iterable[tuple[str, str]]
) -> list[str]:
    """Write what is missing of the pairs of models of these pairs of cells.

    Returns the ids of the models whose representations cannot be read; the others are compared.
    """
    udr, wanted = study.udr, set(cells)
    parts = [part for part in wanted_parts(models, udr) if part.cells in wanted]

    def write(part: PairPart, rows: pa.Table) -> None:
        store.write_part("pairs", part.name, rows, part.made_from(udr.kl_threshold))

    return compare_parts(store, parts, udr, write)


def compare_parts(store: Store, parts: Sequence[PairPart], udr: Udr, write: Write) -> list[str]:
    """Compute parts of which something is missing; returns ids of unreadable representations."""
    stored = {part.name: stored_models(store, part, udr.kl_threshold) for part in parts}
    missing = [part for part in parts if part.missing(stored[part.name])]
    cells: dict[str, dict[str, Model]] = {}
    for model in (model for part in missing for model in part.models):
        cells.setdefault(model.cell, {})[model.id] = model
    needed = [model for members in cells.values() for model in members.values()]
    informative = {i: kl > udr.kl_threshold for i, kl in kl_of_trained(store, needed).items()}
    similarities = list(dict.fromkeys(part.similarity for part in missing))
    unreadable: set[str] = set()
    ready: dict[str, _Cell] = {}
    raw: dict[str, _Raw] = {}  # kept where it is prepared again, for another similarity
    for cell, members in cells.items():
        codes = {i: read for i, m in members.items() if (read := codes_of(store, m)) is not None}
        unreadable |= members.keys() - codes.keys()
        if codes:
            unprepared = _Raw(list(codes), np.stack(list(codes.values())))
            ready[cell] = _Cell(unprepared, similarities[0], informative)
            if len(similarities) > 1:
                raw[cell] = unprepared
    for similarity in similarities:
        if similarity != similarities[0]:
            ready.clear()
            ready.update({c: _Cell(r, similarity, informative) for c, r in raw.items()})
        for whole in (part for part in missing if part.similarity == similarity):
            part = whole.without(unreadable)
            if part.one and part.other and part.missing(stored[part.name]):
                write(part, _compared(store, part, stored[part.name], ready))
    return sorted(unreadable)


def compare_here(
    store: Store, models: Sequence[Model], udr: Udr
) -> tuple[dict[str, pa.Table], set[str]]:
    """Parts that the store lacks, by name, computed in this process and not written; and the ids of
    models whose representations cannot be read."""
    parts: dict[str, pa.Table] = {}
    unreadable: set[str] = set()

    def collect(part: PairPart, rows: pa.Table) -> None:
        parts[part.name] = rows

    while True:
        readable = [model for model in models if model.id not in unreadable]
        new: list[str] = []
        for tile in tiles(missing_parts(store, readable, udr)):
            new += compare_parts(store, tile, udr, collect)
        if not new:
            return parts, unreadable
        unreadable.update(new)


def kl_of_trained(store: Store, models: Sequence[Model]) -> dict[str, NDArray[np.float64]]:
    """KL per latent, by id, of those of the models that are trained. Without a posterior it is
    infinite, so that every latent counts as informative."""
    cells: dict[str, set[str]] = {}
    for model in models:
        cells.setdefault(model.cell, set()).add(model.id)
    latents = {model.id: model.latents for model in models}
    keys = store.keys_of("models", cells)
    rows = store.read("models", ["model_id", "status", "kl_per_latent"], keys).to_pylist()
    return {
        row["model_id"]: np.array(row["kl_per_latent"] or [np.inf] * latents[row["model_id"]])
        for row in rows
        if row["status"] == TRAINED and row["model_id"] in latents
    }


def codes_of(store: Store, model: Model) -> Codes | None:
    """A model's means (points, latents); none if they are missing, damaged or not numbers."""
    means = store.read("representations", ["mean"], [model.id])["mean"].combine_chunks()
    if not len(means):
        return None
    flat: Codes = means.flatten().to_numpy()
    return flat.reshape(len(means), model.latents) if np.isfinite(flat).all() else None


@dataclass(frozen=True)
class _Raw:
    """Ids and codes (models, points, latents) of what can be read of a cell."""

    ids: list[str]
    codes: Codes


class _Cell:
    """The same, prepared for one similarity."""

    def __init__(self, raw: _Raw, similarity: str, informative: dict[str, Flags]) -> None:
        self._place = {model_id: place for place, model_id in enumerate(raw.ids)}
        self._prepared = prepare(raw.codes, similarity)
        self._informative = np.stack([informative[model_id] for model_id in raw.ids])

    def some(self, models: Sequence[Model]) -> tuple[Prepared, Flags]:
        places = [self._place[model.id] for model in models]
        if places == list(range(len(self._place))):
            return self._prepared, self._informative
        return self._prepared[places], self._informative[places]


def _compared(store: Store, part: PairPart, stored: Sides, ready: Mapping[str, _Cell]) -> pa.Table:
    """The part's rows: those in the store, and the missing ones computed."""
    models = part.models
    place = {model.id: index for index, model in enumerate(models)}
    scores = np.full((2, len(models), len(models)), np.nan)  # udr, udr_eq2 of regressor, target
    if stored != NO_MODELS:
        put_pairs(store.read("pairs", keys=[part.name]), place, scores)
    for one, other in part.missing(stored):
        rows, columns = ([place[model.id] for model in side] for side in (one, other))
        a, of_a = ready[one[0].cell].some(one)
        if one == other:
            scores[:, np.array(rows)[:, None], columns] = compare(a, a, of_a, of_a)
            continue
        b, of_b = ready[other[0].cell].some(other)
        both = compare_both(a, b, of_a, of_b)
        scores[:, np.array(rows)[:, None], columns] = both[:2]
        scores[:, np.array(columns)[:, None], rows] = both[2:]
    itself = range(len(models))
    scores[:, itself, itself] = np.nan
    return _pair_rows(models, scores, part.similarity)


def put_pairs(rows: pa.Table, place: dict[str, int], scores: NDArray[np.float64]) -> None:
    """Put rows of `pairs` at the places of their models in (udr, udr_eq2), models × models."""
    ids = pa.array(list(place), pa.string())
    places = [pc.index_in(rows[name], ids) for name in ("regressor_id", "model_id")]
    known = pc.and_(*(pc.is_valid(index) for index in places))
    regressor, target = (index.filter(known).to_numpy() for index in places)
    for formula, name in enumerate(("udr", "udr_eq2")):
        scores[formula, regressor, target] = rows[name].filter(known).to_numpy()


def _pair_rows(models: Sequence[Model], scores: NDArray[np.float64], similarity: str) -> pa.Table:
    """A row per ordered pair that was compared, target after target."""
    target, regressor = np.nonzero(~np.isnan(scores[0].T))
    keys = key_columns(models)
    return table_of(
        "pairs",
        {
            **{name: column.take(pa.array(target)) for name, column in keys.items()},
            "regressor_id": keys["model_id"].take(pa.array(regressor)),
            "similarity": similarity,
            "udr": scores[0, regressor, target],
            "udr_eq2": pa.array(scores[1, regressor, target], from_pandas=True),
        },
    )


def key_columns(models: Sequence[Model]) -> dict[str, pa.Array]:
    """The columns that every table begins with, a row per model."""
    rows = [model.keys for model in models]
    return {field.name: pa.array([row[field.name] for row in rows], field.type) for field in KEYS}
