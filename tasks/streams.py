"""Random streams named by what they are for, so that no order of work changes a number."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

Streams: TypeAlias = Callable[[str], np.random.Generator]  # of what, by the purpose of a stream


def entropy(*names: object) -> int:
    """256 bits that depend on the names and on nothing else."""
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def stream(*names: object) -> np.random.Generator:
    """The numpy stream of these names, e.g. `stream(model_id, "mig")`."""
    return np.random.default_rng(entropy(*names))
