"""What a unit of work is told: which model, how to train, score and compare it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_serializer,
)

import metrics
from data.protocol import Source
from infra.errors import WrongInput, one_of
from infra.tables import PROTOCOL
from metrics.evaluate import needs
from metrics.inputs import INTERVENED
from metrics.trees import Kind


class Settings(BaseModel):
    """Frozen; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Positive = Annotated[int, Field(ge=1, strict=True)]
Rate = Annotated[float, Field(gt=0)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class DataChoice(Settings):
    """One data set of a study: a known one, or the user's own files.

    `source` and `content` are settled when a study first runs, and from then on part of it.
    """

    name: str
    source: Source | None = None
    images: str | None = None
    factors: str | None = None
    folder: str | None = None
    content: str = ""

    @property
    def own(self) -> bool:
        return bool(self.images or self.folder)

    @model_serializer
    def _short(self) -> dict[str, str]:
        """Only what is said."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name))}


class PerModel(Settings):
    """What one model is given of a machine: CPUs, GiB of memory, minutes until a try is ended."""

    cpus_per_model: Amount = 1.0
    memory_per_model: Amount | None = None
    minutes_per_model: Amount | None = None


NOT_SCIENCE = {
    *("log_every", "checkpoint_seconds", "checkpoint_steps", "fast", "gpus_per_model"),
    *PerModel.model_fields,
}


class Training(PerModel):
    """Optimisation; the defaults are Table 4 of Locatello et al. 2019."""

    steps: Positive = 300_000
    batch_size: Annotated[int, Field(ge=2, strict=True)] = 64
    learning_rate: Rate = 1e-4
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    epsilon: Rate = 1e-8
    precision: Literal["float32", "bfloat16"] = "float32"
    fast: bool = True  # layers lowered by hand for the CPU; the same mathematics
    gpus_per_model: Annotated[float, Field(ge=0, le=1)] | None = None  # one each, if there are any
    log_every: Positive = 1000
    checkpoint_seconds: Annotated[float, Field(gt=0)] = 120.0
    checkpoint_steps: Positive | None = None  # whichever of the two comes first

    def science(self) -> dict[str, Any]:
        """What changes the numbers: not how often something is written down, nor where it runs."""
        return self.model_dump(exclude=NOT_SCIENCE)


class Metrics(PerModel):
    """Supervised scores; the defaults are those of Locatello et al. 2019, appendix C."""

    names: tuple[str, ...] = metrics.METRICS
    points: Annotated[int, Field(ge=2, strict=True)] = 10_000
    test_points: Positive = 5_000
    group_size: Annotated[int, Field(ge=2, strict=True)] = 64
    trees: Kind = "presorted"  # or scikit-learn's, to check them: the same but for equal splits

    def science(self) -> dict[str, Any]:
        return self.model_dump(exclude=NOT_SCIENCE)

    @field_validator("names")
    @classmethod
    def _metrics_exist(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in metrics.METRICS:
                raise WrongInput("metrics.names", name, one_of(metrics.METRICS, name))
        return _once("metrics.names", names)


def images_per_model(settings: Metrics, factor_sizes: Sequence[int]) -> int:
    """Images that the metrics read of one model, counted as often as they are read."""
    wanted = needs(settings.names)
    tables = (settings.points if settings.names else 0) + (
        settings.test_points if "test_table" in wanted else 0
    )
    in_groups = (settings.points + settings.test_points) * settings.group_size
    times = {"groups": 1, "pairs": 2, "variations": 1}
    set_to_values = INTERVENED * sum(factor_sizes) if "interventions" in wanted else 0
    in_all_groups = in_groups * sum(times[kind] for kind in times if kind in wanted)
    return tables + in_all_groups + set_to_values


Pool = Literal["cell", "method", "data"]


class Udr(Settings):
    """Comparisons without labels; the defaults are those of Duan et al. 2020 and their code."""

    similarities: tuple[str, ...] = ("lasso",)
    pools: tuple[Pool, ...] = ("cell", "method")
    p: Positive | None = None
    seeds_per_cell: Positive | None = None  # in the pools method and data; the paper's A2A: 10
    kl_threshold: Annotated[float, Field(ge=0)] = 0.01

    @field_validator("similarities")
    @classmethod
    def _similarities_exist(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in metrics.SIMILARITIES:
                raise WrongInput("udr.similarities", name, one_of(metrics.SIMILARITIES, name))
        return names

    @field_validator("similarities", "pools")
    @classmethod
    def _each_once(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return _once(f"udr.{info.field_name}", names)


class Running(Settings):
    """How a run goes about it; nothing here changes a number.

    By seeds, every cell has its first seed before one has its second: the whole grid shows early.
    """

    order: Literal["seeds", "cells"] = "seeds"
    tries: Positive = 4  # of a model whose worker dies
    minutes_per_comparison: Amount | None = None  # of a tile, or a ranking
    storage_minutes: Annotated[float, Field(ge=0)] = 10.0  # to wait for a full or read-only store


def _once(field: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """A name given twice would give its rows twice."""
    if len(set(names)) < len(names):
        raise WrongInput(field, list(names), "each value once")
    return names


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


@dataclass(frozen=True)
class TrainingOrder:
    """How to train, beyond what the model's identity says, and where the model goes."""

    store: str
    data: DataChoice
    probe: int
    training: Training


@dataclass(frozen=True)
class ScoringOrder:
    """Which scores, and where the model lies."""

    store: str
    data: DataChoice
    metrics: Metrics


@dataclass(frozen=True)
class ComparisonOrder:
    """How to compare, and where the models lie.

    With cells: the pairs of models of these pairs of cells. Without: the rankings.
    """

    store: str
    udr: Udr
    cells: tuple[tuple[str, str], ...] = ()
    minutes: float | None = None


def ranking_made_from(model_ids: Sequence[str], udr: Udr) -> str:
    """What a ranking depends on: which models were compared, and how."""
    text = udr.model_dump_json() + " ".join(sorted(model_ids))
    return hashlib.sha256(text.encode()).hexdigest()
