"""One model of a study: everything that changes its numbers, hashed to its id; and its cell."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from infra.tables import AXES, PROTOCOL
from models import METHODS
from models.recipe import Recipe
from tasks.study.axes import sweep_name, sweep_of

# How a model ends: a row of `models` has one of these.
TRAINED, DIVERGED, FAILED = STATUSES = ("trained", "diverged", "failed")
CAN_RETRY = (FAILED, DIVERGED)
DAMAGED = "damaged"  # no end of a model: with `--retry`, those whose results cannot be read


NETWORK_FIELDS = ("data", "source", "method", "strength", "seed", "architecture", "latents")


def group_name(data: str, method: str) -> str:
    """The name of a group: the cells of a data set and method."""
    return f"{data}-{method}"


def cell_name(data: str, sweep: str, strength: float) -> str:
    """The name of a cell: all but the seed. Distinct strengths have distinct names."""
    return f"{data}-{sweep}-{float(strength)!r}".removesuffix(".0")


def cell_of(row: Mapping[Any, Any], axes: Iterable[str] = ()) -> str:
    """The name of the cell of a table's row, in a study that sweeps these axes. Rows of the report
    already have their values in the column `method`."""
    return cell_name(row["data"], sweep_of(row, axes), row["strength"])


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
    recipe: Recipe
    protocol: int = PROTOCOL
    content: str = ""  # a hash of the pictures, where name and source do not determine them
    pictures: int = 0  # only the first so many of the data set; 0: all
    axes: tuple[str, ...] = ()  # what its study sweeps: in names, and not part of the identity

    @property
    def identity(self) -> dict[str, Any]:
        """What the id is made from. A later field is left out where it is empty: ids stay."""
        facts = {name: getattr(self, name) for name in NETWORK_FIELDS}
        if self.has_steps:
            facts |= self.recipe.model_dump()
        later = {"content": self.content, "pictures": self.pictures}
        known = {name: value for name, value in later.items() if value}
        return {**facts, "protocol": self.protocol, **known}

    @classmethod
    def from_identity(cls, facts: Mapping[str, Any]) -> Model:
        """The model that has this identity."""
        recipe = {name: facts[name] for name in Recipe.model_fields if name in facts}
        others = {name: value for name, value in facts.items() if name not in recipe}
        return cls(**others, recipe=Recipe(**recipe))

    @property
    def has_steps(self) -> bool:
        """Whether it learns by optimiser steps; otherwise the recipe changes nothing."""
        return self.method not in METHODS or METHODS[self.method].has_steps

    @property
    def steps(self) -> int:
        """Optimiser steps from nothing to the end."""
        return self.recipe.steps if self.has_steps else 0

    @property
    def step_cost(self) -> int:
        return METHODS[self.method].step_cost if self.method in METHODS else 1

    @cached_property
    def id(self) -> str:
        canonical = json.dumps(self.identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    @property
    def cell(self) -> str:
        return cell_name(self.data, self.sweep, self.strength)

    @property
    def sweep(self) -> str:
        """The method with the values of the axes that the study sweeps."""
        return sweep_name(self.method, self.swept)

    @property
    def swept(self) -> dict[str, Any]:
        """The values of the axes that the study sweeps."""
        return {axis: getattr(self, axis) for axis in self.axes}

    @property
    def keys(self) -> dict[str, Any]:
        """The columns that every table begins with."""
        return {
            "model_id": self.id,
            "data": self.data,
            "source": self.source,
            "method": self.method,
            "strength": self.strength,
            **{axis: getattr(self, axis) for axis in AXES},
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
        """The data set and method whose models are compared over all strengths and axes."""
        return group_name(self.models[0].data, self.models[0].method)
