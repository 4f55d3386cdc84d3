"""Random streams named by what they are for, so that no order of work changes a number."""

from __future__ import annotations

import hashlib

import numpy as np


def entropy(*names: object) -> int:
    """256 bits that depend on the names and on nothing else."""
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def stream(*names: object) -> np.random.Generator:
    """The numpy stream of these names, e.g. `stream(model_id, "mig")`."""
    return np.random.default_rng(entropy(*names))
