"""The row that says how a model ended; the record of progress, so it is written last."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.metadata import version
from platform import python_version
from typing import Any

from infra.store import Store
from tasks.study.model import Model


def write_outcome(model: Model, store: Store, status: str, reason: str = "", **known: Any) -> None:
    """Write a model's row in `models`; what is not known of it stays empty."""
    row = {
        "steps": 0,
        "seconds": 0.0,
        "device": "",
        "loss": None,
        "reconstruction": None,
        "kl": None,
        "elbo": None,
        "kl_per_latent": [[]],
        "architecture": model.architecture,
        "training_steps": model.steps,
        "versions": versions(),
    }
    row |= {**known, "status": status, "reason": reason}
    store.write_part("models", model.id, {**model.keys, **row}, lasting=True)


def outcome_of(model: Model, store: Store) -> str:
    """How a model ended; nothing if it has not."""
    rows = store.rows_of("models", model.id, model.cell)
    return str(rows["status"][0]) if rows.num_rows else ""


@lru_cache(maxsize=1)
def versions() -> str:
    found = {name: version(name) for name in ("tolstoy", "torch", "numpy", "scikit-learn")}
    return json.dumps({**found, "python": python_version()})
