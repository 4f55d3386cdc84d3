"""Rankings from pairs: every model's median over its comparisons, or its mean, for each pool and
similarity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from infra.store import Store, table_of
from metrics import SIMILARITIES
from metrics.udr import aggregate
from metrics.udr.moments import own_pairs
from tasks.compare import key_columns, kl_of_trained, put_pairs
from tasks.streams import stream
from tasks.study.groups import ranking_made_from
from tasks.study.model import Model
from tasks.study.pair_parts import PairPart, chosen_seeds, wanted_parts
from tasks.study.spec import Study, Udr

Scores = NDArray[np.float64]  # (udr and udr_eq2, regressors, targets); NaN where not compared


def rank_models(store: Store, study: Study, group: str, models: Sequence[Model]) -> None:
    """Write the rankings of these models, all of whose pairs must be in the store."""
    made_from = ranking_made_from([model.id for model in models], study.udr)
    rows = rankings(store, models, study.udr)
    store.write_part("ranks", group, pa.concat_tables(rows), made_from)


def rankings(
    store: Store,
    models: Sequence[Model],
    udr: Udr,
    newer: Mapping[str, pa.Table] | None = None,
) -> list[pa.Table]:
    """Rows of `ranks` of these trained models of one data set, by similarity and pool.

    `newer` has parts of `pairs`, by name, to read in place of the store's.
    """
    models = sorted(models, key=lambda model: (model.method, model.strength, model.seed))
    kl = kl_of_trained(store, models)
    informative = np.array([(kl[model.id] > udr.kl_threshold).sum() for model in models])
    wanted = wanted_parts(models, udr)
    tables = []
    for similarity in udr.similarities:
        parts = [part for part in wanted if part.similarity == similarity]
        scores = pair_scores(store, models, parts, newer or {})
        tables += [
            _rank_rows(models, scores, informative, similarity, pool, udr) for pool in udr.pools
        ]
    return tables


def pair_scores(
    store: Store,
    models: Sequence[Model],
    parts: Sequence[PairPart],
    newer: Mapping[str, pa.Table],
) -> Scores:
    """All pairs of some parts, at the places of their models."""
    place = {model.id: index for index, model in enumerate(models)}
    scores = np.full((2, len(models), len(models)), np.nan)
    columns = ["model_id", "regressor_id", "udr", "udr_eq2"]
    for part in parts:
        rows = newer.get(part.name)
        put_pairs(
            store.read("pairs", columns, [part.name]) if rows is None else rows, place, scores
        )
        one, other = ([place[model.id] for model in side] for side in (part.one, part.other))
        missing = np.isnan(scores[0][np.ix_(one, other)]) | np.isnan(
            scores[0][np.ix_(other, one)].T
        )
        if part.within:
            np.fill_diagonal(missing, False)
        if missing.any():
            raise LookupError(f"{missing.sum()} pairs of {part.name} are missing or damaged")
    return scores


def _rank_rows(
    models: Sequence[Model],
    scores: Scores,
    informative: NDArray[np.int64],
    similarity: str,
    pool: str,
    udr: Udr,
) -> pa.Table:
    """A row per model of the pool: its median, or mean, over its comparisons with the others."""
    collapsed = informative == 0
    medians, comparisons = np.full((2, len(models)), np.nan), np.zeros(len(models), dtype=np.int64)
    ranked = np.zeros(len(models), dtype=bool)
    symmetric = SIMILARITIES[similarity].symmetric
    formulas = 1 if own_pairs(similarity) else 2
    for names, members in _pools(models, pool, udr.seeds_per_cell):
        square = np.ix_(members, members)
        ranked[members] = True
        for values, into in zip(scores[:formulas], medians, strict=False):
            draws = stream("udr", *names, similarity)
            into[members], comparisons[members] = aggregate(
                values[square], collapsed[members], udr.p, draws, symmetric
            )
    return table_of(
        "ranks",
        {
            **key_columns(models),
            "similarity": similarity,
            "pool": pool,
            "p": udr.p or 0,
            "udr": pa.array(medians[0], from_pandas=True),
            "udr_eq2": pa.array(medians[1], from_pandas=True),
            "informative": informative,
            "comparisons": comparisons,
            "collapsed": collapsed,
        },
    ).filter(pa.array(ranked))


def _pools(
    models: Sequence[Model], pool: str, seeds_per_cell: int | None
) -> Iterator[tuple[tuple[str, ...], NDArray[np.int64]]]:
    """Names of its stream, and places, of the models that are compared with each other."""
    chosen = chosen_seeds(models, None if pool == "cell" else seeds_per_cell)
    members: dict[tuple[str, ...], list[int]] = {}
    for place, model in enumerate(models):
        if model.id in chosen:
            method = "" if pool == "data" else model.method
            cell = model.cell if pool == "cell" else ""
            members.setdefault((model.data, method, pool, cell), []).append(place)
    for names, places in members.items():
        yield names, np.array(places)
