"""Rows of the table `scores`: those that a metric computes today, and older ones.

A change of a metric raises its protocol (metrics.METRICS). Rows of an older protocol stay in the
table but count as missing: the next run computes the metric again, and reports do not show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from infra.store import Store
from metrics import HEADLINE, METRICS


def headlines() -> pc.Expression:
    """Chooses the one number of a metric, as metrics.is_headline does.

    A function, because pyarrow loads pandas where it makes an expression.
    """
    return (pc.field("part") == HEADLINE) & pc.field("factor").is_null()


def read_scores(
    store: Store,
    columns: Sequence[str],
    keys: Iterable[str] | None = None,
    where: pc.Expression | None = None,
) -> pa.Table:
    """The rows that are up to date, of all parts or of these; `where` reads these columns."""
    wanted = list(dict.fromkeys([*columns, "metric", "protocol"]))
    condition = _up_to_date() if where is None else _up_to_date() & where
    return store.read("scores", wanted, keys, condition).select(list(columns))


def up_to_date(rows: pa.Table) -> pa.Table:
    """Without the rows of an older protocol than their metric's. Unknown metrics stay."""
    return rows.filter(_up_to_date())


def _up_to_date() -> pc.Expression:
    outdated = pc.field("protocol") < 0
    for name, facts in METRICS.items():
        of_metric = pc.field("metric") == name
        outdated |= of_metric & (pc.field("protocol") < facts.protocol)
    return ~outdated


def outdated_metrics(store: Store) -> list[str]:
    """The metrics of which the store has rows of an older protocol."""
    columns = ["metric", "protocol"]
    rows = store.read("scores", columns).group_by(columns, use_threads=False).aggregate([])
    pairs = zip(*rows.to_pydict().values(), strict=True)
    metrics = {metric for metric, protocol in pairs if is_outdated(metric, protocol)}
    return [name for name in METRICS if name in metrics]


def is_outdated(metric: str, protocol: int) -> bool:
    return metric in METRICS and protocol < METRICS[metric].protocol
