"""What one worker compiles is what scores and comparisons call: nothing is compiled twice."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from metrics.base.inputs import Inputs
from metrics.evaluate import evaluate
from metrics.udr import compare, prepare
from tasks.compiled_loops import compile_loops
from tasks.study.reading import read_study

MODULES = ("metrics.compiled.exact_tree", "metrics.compiled.lasso", "metrics.udr.pair_score")


def signatures() -> dict[str, list[object]]:
    """What is compiled in this process, by function."""
    loops = {
        f"{name}.{function}": value.signatures
        for name in MODULES
        for function, value in vars(import_module(name)).items()
        if isinstance(value, Dispatcher)
    }
    return {name: list(of) for name, of in loops.items()}


@pytest.mark.parametrize("preset", ["smoke", "locatello-2019"])
def test_scores_and_comparisons_find_everything_compiled(preset: str) -> None:
    changes = ["metrics.names=[mig, dci]"] if preset != "smoke" else []
    study = read_study(preset, changes)
    compile_loops(study)
    compiled = signatures()
    assert any(compiled.values())
    draws = np.random.default_rng(1)
    codes = draws.normal(size=(200, 10)).astype(np.float32)
    factors = draws.integers(0, [2, 3, 7], size=(200, 3))
    inputs = Inputs(codes, factors, test_codes=codes[:50], test_factors=factors[:50])
    evaluate("dci", inputs, draws)
    prepared = prepare(draws.normal(size=(3, 200, 10)).astype(np.float32), "lasso")
    informative = np.ones((3, 10), bool)
    compare(prepared, prepared, informative, informative)
    assert signatures() == compiled
