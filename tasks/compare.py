"""UDR of a group of models: all ordered pairs once, then a ranking per pool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from infra.store import Store, merged_key, table_of
from infra.tables import KEYS
from metrics.udr import Pairs, aggregate, pairwise
from tasks.settings import ComparisonOrder, Model, ranking_made_from
from tasks.streams import stream

KEY_NAMES = tuple(field.name for field in KEYS)


def compare_models(name: str, models: Sequence[Model], order: ComparisonOrder) -> str:
    """Write pairs and ranks of the trained models among these; returns `done` or `compared`."""
    store, settings = Store(order.store), order.udr
    kl_of = _kl_of_trained(store, models)
    trained = sorted(
        (model for model in models if model.id in kl_of), key=lambda m: (m.strength, m.seed)
    )
    made_from = ranking_made_from([model.id for model in trained], settings)
    stands = {store.part_made_from(table, name) for table in ("pairs", "ranks")}
    if not trained or stands == {made_from}:
        return "done"
    codes = np.stack([_codes(store, model) for model in trained])
    kl = np.stack([kl_of[model.id] for model in trained])
    pair_parts, rank_parts = [], []
    for similarity in settings.similarities:
        pairs = pairwise(codes, kl, similarity, settings.kl_threshold)
        pair_parts.append(_pair_rows(trained, pairs, similarity))
        rank_parts += [
            _rank_rows(trained, pairs, similarity, pool, settings.p) for pool in settings.pools
        ]
    store.write_part("pairs", name, pa.concat_tables(pair_parts), made_from)
    store.write_part("ranks", name, pa.concat_tables(rank_parts), made_from)
    return "compared"


def _kl_of_trained(store: Store, models: Sequence[Model]) -> dict[str, NDArray[np.float64]]:
    wanted = [model.id for model in models] + [merged_key(c) for c in {m.cell for m in models}]
    rows = store.read("models", ["model_id", "status", "kl_per_latent"], wanted).to_pylist()
    return {
        row["model_id"]: np.array(row["kl_per_latent"], dtype=np.float64)
        for row in rows
        if row["status"] == "trained"
    }


def _codes(store: Store, model: Model) -> NDArray[np.float32]:
    means = store.read("representations", ["mean"], [model.id])["mean"].combine_chunks()
    if not len(means):
        raise LookupError(f"representation of model {model.id} is missing or damaged")
    flat: NDArray[np.float32] = means.flatten().to_numpy()
    return flat.reshape(len(means), model.latents)


def _pair_rows(models: Sequence[Model], pairs: Pairs, similarity: str) -> pa.Table:
    """Rows of all ordered pairs, target after target."""
    n = len(models)
    regressor, target = np.nonzero(~np.eye(n, dtype=bool))
    ids = np.array([model.id for model in models], dtype=object)
    return table_of(
        "pairs",
        {
            **_keys([models[j] for j in target.tolist()]),
            "regressor_id": pa.array(ids[regressor], pa.string()),
            "similarity": similarity,
            "udr": pairs.udr[regressor, target],
            "udr_eq2": pairs.udr_eq2[regressor, target],
        },
    )


def _rank_rows(
    models: Sequence[Model], pairs: Pairs, similarity: str, pool: str, p: int | None
) -> pa.Table:
    """Every model's rank score within its pool."""
    collapsed = pairs.informative == 0
    udr, eq2 = np.full((2, len(models)), np.nan)
    comparisons = np.zeros(len(models), dtype=np.int64)
    pools = np.array([model.cell if pool == "cell" else "" for model in models])
    for name in np.unique(pools):
        members = np.flatnonzero(pools == name)
        square = np.ix_(members, members)
        for values, scores in ((pairs.udr, udr), (pairs.udr_eq2, eq2)):
            draws = stream("udr", models[0].data, models[0].method, pool, name, similarity)
            scores[members], comparisons[members] = aggregate(
                values[square], collapsed[members], p, draws
            )
    return table_of(
        "ranks",
        {
            **_keys(models),
            "similarity": similarity,
            "pool": pool,
            "p": p or 0,
            "udr": pa.array(udr, from_pandas=True),
            "udr_eq2": pa.array(eq2, from_pandas=True),
            "informative": pairs.informative,
            "comparisons": comparisons,
            "collapsed": collapsed,
        },
    )


def _keys(models: Sequence[Model]) -> dict[str, list[object]]:
    rows = [model.keys for model in models]
    return {name: [row[name] for row in rows] for name in KEY_NAMES}
