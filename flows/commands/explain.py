"""`tolstoy score --explain NAME`: what a metric is, as docs/metrics.md says it."""

from __future__ import annotations

import json as jsonlib
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import metrics
from infra.errors import WrongInput, one_of
from tasks.explain import Explanation, explain, section


def explain_metrics(names: Sequence[str], json: bool) -> int:
    check_metrics("--explain", names)
    every = [explain(name) for name in names]
    if json:
        print(jsonlib.dumps([_facts(of) for of in every], indent=2))
    else:
        print("\n\n".join(map(section, every)))
    return 0


def _facts(of: Explanation) -> dict[str, Any]:
    """JSON has no infinity: null is a range without an end."""
    return asdict(of) | {"bounds": [bound if math.isfinite(bound) else None for bound in of.bounds]}


def check_metrics(option: str, names: Sequence[str]) -> None:
    for name in names:
        if name not in metrics.METRICS:
            raise WrongInput(option, name, one_of(metrics.METRICS, name))
