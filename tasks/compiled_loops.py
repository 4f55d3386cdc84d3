"""The compiled loops of scores and comparisons, called once on made-up numbers.

numba compiles a loop at its first call, for seconds, and keeps the result on the disk. If one
worker does that before any other needs it, no other compiles these loops on the same machine.
"""

from __future__ import annotations

import numpy as np

from metrics.base.inputs import Inputs
from metrics.evaluate import evaluate, metric
from metrics.udr import compare, prepare
from tasks.study.spec import Study

ROWS, TEST_ROWS = 60, 30
TABLES = frozenset({"table", "test_table"})


def compile_loops(study: Study) -> None:
    """Call the study's metrics that read tables, and its similarities, on a few random rows."""
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(ROWS, 4)).astype(np.float32)
    factors = np.stack([np.arange(ROWS) % 2, np.arange(ROWS) % 3], axis=1)
    inputs = Inputs(
        codes,
        factors,
        test_codes=codes[:TEST_ROWS],
        test_factors=factors[:TEST_ROWS],
        trees=study.metrics.trees,
    )
    for name in study.metrics.names:
        if metric(name).NEEDS <= TABLES:
            evaluate(name, inputs, rng)
    models = np.stack([codes, codes[::-1]])
    informative = np.ones((len(models), codes.shape[1]), bool)
    for similarity in study.udr.similarities:
        prepared = prepare(models, similarity)
        compare(prepared, prepared, informative, informative)
