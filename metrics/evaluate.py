"""Any metric by its name: ask what it needs, then call it.

needs(names) says which inputs to prepare, once for all of them; evaluate(name, inputs, rng) gives
a metric's scores. A metric's module is imported at its first use.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Protocol, cast

import numpy as np

from metrics import METRICS, MODULES
from metrics.base.arrays import BadArray
from metrics.base.inputs import Inputs, Score


class Metric(Protocol):
    """What a module metrics/<name>.py offers. Its evaluate() may put into inputs.matrices what it
    has learned of each latent and factor, for a picture.

    PARTS says what each part is. In its name N stands for a number, STEP for mean or max.
    """

    NEEDS: frozenset[str]
    PARTS: Mapping[str, str]

    def evaluate(self, inputs: Inputs, rng: np.random.Generator) -> list[Score]: ...


def metric(name: str) -> Metric:
    """The module of a metric."""
    if name not in METRICS:
        raise BadArray("metric", repr(name), ", ".join(METRICS))
    return cast(Metric, import_module(MODULES[name]))


def needs(names: Iterable[str]) -> frozenset[str]:
    """What Inputs must hold for all these metrics, by the names that Inputs explains."""
    return frozenset().union(*(metric(name).NEEDS for name in names))


def reads_factors(name: str) -> bool:
    """Whether a metric needs factors: all do that need more than the posterior or agents."""
    return bool(metric(name).NEEDS - {"posterior", "agents"})


def evaluate(name: str, inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """One metric's scores of one model, its headline first.

    Where it read bins in place of a continuous factor, "bins" says how many occur.
    """
    scores = metric(name).evaluate(inputs, rng)
    if reads_factors(name) and "targets" not in metric(name).NEEDS:
        for factor in inputs.continuous:
            bins = len(np.unique(inputs.factors[:, factor]))
            scores = [*scores, Score("bins", float(bins), factor)]
    return scores
