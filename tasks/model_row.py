"""A model's row in `models`: how it ended. It is the record of progress, so it is written last."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.metadata import version
from platform import python_version
from typing import Any

from infra.provenance import made_with
from infra.store import Store
from tasks.log import model_log
from tasks.study.model import Model


def write_row(model: Model, store: Store, status: str, reason: str = "", **numbers: Any) -> None:
    """Write a model's row in `models`; columns that are not given stay empty."""
    row = {
        "steps": 0,
        "seconds": 0.0,
        "device": "",
        "loss": None,
        "reconstruction": None,
        "kl": None,
        "elbo": None,
        "kl_per_latent": [[]],
        "training_steps": model.steps,
        "versions": versions(),
        "instructions": None,
        "memory_mb": None,
        "tries": len(model_log(store, model.id).tries()) or None,
    }
    row |= {**numbers, "status": status, "reason": reason}
    store.write_part("models", model.id, {**model.keys, **row}, lasting=True)


def status_of(model: Model, store: Store) -> str:
    """How a model ended; empty if it has not."""
    rows = store.rows_of("models", model.id, model.cell)
    return str(rows["status"][0]) if rows.num_rows else ""


@lru_cache(maxsize=1)
def versions() -> str:
    packages = {name: version(name) for name in ("tolstoy", "torch", "numpy", "scikit-learn")}
    return json.dumps({**packages, "python": python_version(), **made_with()})
