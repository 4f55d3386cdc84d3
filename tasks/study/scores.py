"""Rows of the table `scores`: those that a metric computes today, and older ones.

A change of a metric raises its protocol (metrics.METRICS). Rows of an older protocol stay in the
table but count as missing, so that a study computes them anew and a report mixes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from infra.store import Store
from metrics import METRICS


def read_scores(
    store: Store, columns: Sequence[str], keys: Iterable[str] | None = None
) -> pa.Table:
    """The rows that are up to date, of all parts or of these."""
    wanted = list(dict.fromkeys([*columns, "metric", "protocol"]))
    return up_to_date(store.read("scores", wanted, keys)).select(list(columns))


def up_to_date(rows: pa.Table) -> pa.Table:
    """Without the rows of an older protocol than their metric's. Unknown metrics stay."""
    return rows.filter(pc.invert(_outdated(rows)))


def outdated_metrics(store: Store) -> list[str]:
    """The metrics of which the store has rows of an older protocol."""
    rows = store.read("scores", ["metric", "protocol"])
    metrics = set(rows.filter(_outdated(rows))["metric"].to_pylist())
    return [name for name in METRICS if name in metrics]


def _outdated(rows: pa.Table) -> pa.ChunkedArray:
    names = pa.array(METRICS, pa.string())
    protocols = pa.array([facts.protocol for facts in METRICS.values()], pa.int32())
    newest = pc.take(protocols, pc.index_in(rows["metric"], names))  # null for an unknown metric
    return pc.fill_null(pc.less(rows["protocol"], newest), False)
