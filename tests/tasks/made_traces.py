"""Traces of models as if they had been written during training."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np

from infra.store import Store
from tasks.study.model import Model

SECTION = {"samples": 12}  # `traces` of a spec
SNAPSHOTS, SAMPLES, UNITS = 4, 12, 5
LAYERS = ("deep",) * 3 + ("shallow",) * 2
NOISE = {1.0: 0.02, 4.0: 0.3, 10.0: None}  # by strength; without a number nothing is shared


def traces_of(model: Model) -> np.ndarray[Any, Any]:
    """Models of strength 1 share a base and differ by a little noise; others differ more."""
    shape = (SNAPSHOTS, SAMPLES, UNITS)
    base = np.random.default_rng([1, int(model.strength)]).normal(size=shape)
    own = np.random.default_rng([2, int(model.strength), model.seed]).normal(size=shape)
    noise = NOISE[model.strength]
    return (own if noise is None else base + noise * own).astype(np.float32)


def write_traces(store: Store, models: Iterable[Model], **changed: Any) -> None:
    """`traces.npz` in the folder of each model; `changed` has arrays to take in place."""
    factors = np.stack([np.arange(SAMPLES) % 3, np.arange(SAMPLES)], axis=1)
    for model in models:
        arrays = {
            "traces": traces_of(model),
            "steps": np.arange(SNAPSHOTS, dtype=np.int64) * 100,
            "layers": np.array(LAYERS),
            "factors": factors.astype(np.int64),
            "factor_names": np.array(["shape", "position"]),
        }
        content = io.BytesIO()
        np.savez(content, **{**arrays, **changed})
        store.write_bytes(content.getvalue(), "models", model.id, "traces.npz")
