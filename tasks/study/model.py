"""One model of a study: everything that changes its numbers, hashed to its id; and its cell."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from infra.tables import PROTOCOL

# How a model ends: a row of `models` has one of these.
TRAINED, DIVERGED, FAILED = STATUSES = ("trained", "diverged", "failed")


def cell_name(data: str, method: str, strength: float) -> str:
    """The name of a cell: all but the seed. Distinct strengths have distinct names."""
    return f"{data}-{method}-{float(strength)!r}".removesuffix(".0")


@dataclass(frozen=True)
class Model:
    """Everything that changes the science of one model, and nothing else."""

    data: str
    source: str
    method: str
    strength: float
    seed: int
    architecture: str
    latents: int
    steps: int
    batch_size: int
    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float
    precision: str
    protocol: int = PROTOCOL
    content: str = ""  # a hash of the pictures, where name and source do not determine them

    @property
    def identity(self) -> dict[str, Any]:
        """What the id is made from; what came later is left out where it says nothing."""
        facts = asdict(self)
        if not self.content:
            del facts["content"]
        return facts

    @cached_property
    def id(self) -> str:
        canonical = json.dumps(self.identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    @property
    def cell(self) -> str:
        return cell_name(self.data, self.method, self.strength)

    @property
    def keys(self) -> dict[str, Any]:
        """The columns that every table begins with."""
        return {
            "model_id": self.id,
            "data": self.data,
            "source": self.source,
            "method": self.method,
            "strength": self.strength,
            "seed": self.seed,
            "protocol": self.protocol,
        }


@dataclass(frozen=True)
class Cell:
    """Models that differ in their seed only."""

    models: tuple[Model, ...]

    @property
    def name(self) -> str:
        return self.models[0].cell

    @property
    def data(self) -> str:
        return self.models[0].data

    @property
    def group(self) -> str:
        """The data set and method whose models are compared over all strengths."""
        return f"{self.models[0].data}-{self.models[0].method}"
