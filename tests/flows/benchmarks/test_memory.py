"""`tolstoy bench memory` measures a worker's models one by one."""

from __future__ import annotations

import sys

import pytest

from flows.benchmarks.memory import SMALL_MODELS, measure, rows_of
from infra.runtime import WORKER_BYTES


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not count it")
def test_small_models_are_measured_and_do_not_grow() -> None:
    first, third = measure(3)
    assert (first.name, third.name) == ("small model 1", "small model 3")
    assert 100 < first.ours <= WORKER_BYTES / 1e6 and first.ratio == 1
    assert third.ours <= WORKER_BYTES / 1e6


def test_rows_name_the_first_the_tenth_and_the_last_model() -> None:
    rows = rows_of({"training": [225.0], SMALL_MODELS: [float(n) for n in range(1, 101)]})
    assert [(row.name, row.ours, row.baseline, row.ratio) for row in rows] == [
        ("training", 225, 450, 2),
        ("small model 1", 1, 1, 1),
        ("small model 10", 10, 1, 0.1),
        ("small model 100", 100, 1, 0.01),
    ]
