"""Which rows of scores are headlines."""

from __future__ import annotations

import pyarrow as pa

from metrics import is_headline
from tasks.study.scores import headlines


def test_headlines_are_those_of_the_metrics_package() -> None:
    rows = [("score", None), ("score", "shape"), ("gap", None), ("gap", "shape")]
    parts, factors = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"part": parts, "factor": pa.array(factors, pa.string())})
    chosen = [(row["part"], row["factor"]) for row in table.filter(headlines()).to_pylist()]
    assert chosen == [row for row in rows if is_headline(*row)] == [("score", None)]
