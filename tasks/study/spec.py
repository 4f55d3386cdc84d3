"""Study: what a spec says, section by section, checked, and expanded to models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

import data
import metrics
from data.base.protocol import Source
from infra.errors import WrongInput, one_of
from infra.tables import AXES
from metrics.base.inputs import INTERVENED
from metrics.base.trees import Kind
from metrics.dynamics.settings import Settings as DynamicsSettings
from metrics.evaluate import needs
from models.recipe import Recipe
from tasks.study.axes import sweep_name
from tasks.study.data_choice import DataChoice, check_choices, with_name
from tasks.study.dynamics_settings import settings_from
from tasks.study.label_noise import Regimes, check_factors, checked_regimes
from tasks.study.methods import check_combinations, checked_methods
from tasks.study.model import Cell, Model
from tasks.study.settings import Settings, distinct, file_name
from tasks.study.traces import Traces, check_traces

Positive = Annotated[int, Field(ge=1, lt=2**31, strict=True)]
AtLeastTwo = Annotated[int, Field(ge=2, lt=2**31, strict=True)]
MOST_LATENTS = 4096
MOST_MODELS = 200_000  # so that plan answers within seconds
MOST_FITTED, FEWER_FITTED = 200_000, 20_480  # pictures
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class PerModel(Settings):
    """What one model is given of a machine: CPUs, GiB of memory, minutes until a try is ended."""

    cpus_per_model: Amount = 1.0
    memory_per_model: Amount | None = None
    minutes_per_model: Amount | None = None


class Training(Recipe, PerModel):
    """Optimisation: the recipe, and what does not change the numbers."""

    fast: bool = True  # layers lowered by hand for the CPU; the same mathematics
    slow_bfloat16: bool = False  # also on a processor without instructions for it
    gpus_per_model: Annotated[float, Field(ge=0, le=1)] | None = None  # one each, if there are any
    log_every: Positive = 1000
    checkpoint_seconds: Annotated[float, Field(gt=0)] = 120.0
    checkpoint_steps: Positive | None = None  # whichever of the two comes first

    @property
    def recipe(self) -> Recipe:
        return Recipe(**{name: getattr(self, name) for name in Recipe.model_fields})


class Metrics(PerModel):
    """Supervised scores; the defaults are those of Locatello et al. 2019, appendix C."""

    names: tuple[str, ...] = metrics.OF_ALL_DATA
    points: AtLeastTwo = 10_000
    test_points: Positive = 5_000
    group_size: AtLeastTwo = 64
    repeats: Positive = 1  # independent draws of everything that is drawn; a score is their mean
    trees: Kind = "presorted"  # or scikit-learn's, to check them: the same but for equal splits
    label_noise: Regimes = ()  # on what metrics are told of factors, beside the clean scores

    def science(self) -> dict[str, Any]:
        """What changes the numbers."""
        return self.model_dump(exclude=set(PerModel.model_fields))

    @field_validator("names")
    @classmethod
    def _metrics_exist(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in metrics.METRICS:
                raise WrongInput("metrics.names", name, one_of(metrics.METRICS, name))
        return distinct("metrics.names", names, empty=True)

    @field_validator("label_noise", mode="before")
    @classmethod
    def _regimes_exist(cls, raw: Any) -> Regimes:
        return checked_regimes(raw)


Pool = Literal["cell", "method", "data"]


class Udr(Settings):
    """Comparisons without labels; the defaults are those of Duan et al. 2020 and their code."""

    similarities: tuple[str, ...] = ("lasso",)
    pools: tuple[Pool, ...] = ("cell", "method")
    p: Positive | None = None
    seeds_per_cell: Positive | None = None  # in the pools method and data; the paper's A2A: 10
    kl_threshold: Annotated[float, Field(ge=0)] = metrics.INFORMATIVE_KL

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
        return distinct(f"udr.{info.field_name}", names, empty=True)


class Running(Settings):
    """How a run works; nothing here changes a number.

    By seeds, every cell has its first seed before one has its second: the whole grid is visible
    early.
    """

    order: Literal["seeds", "cells"] = "seeds"
    tries: Positive = 4  # of a model whose worker dies
    minutes_per_comparison: Amount | None = None  # of a tile, a ranking, or a cell's dynamics
    storage_minutes: Annotated[float, Field(ge=0)] = 10.0  # to wait for a full or read-only store


def pictures_fitted(pictures: int) -> int:
    """Of how many random pictures a method learns that is fitted at once, where a data set has so
    many; 0 stands for pictures that are new each time."""
    return pictures if 0 < pictures <= MOST_FITTED else FEWER_FITTED


def images_per_model(
    settings: Metrics, factor_sizes: Sequence[int], regimes: int = 0, has_splits: bool = False
) -> int:
    """Images that the metrics read of one model, counted as often as they are read: without label
    noise, and once more in so many regimes of it, which read the same tables. A data set with
    splits also has validation and zero-shot rows for metrics that predict its factors."""
    wanted = needs(settings.names)
    table = settings.points if settings.names else 0
    tests = ("test_table" in wanted) + 2 * (has_splits and "targets" in wanted)
    times = {"groups": 1, "pairs": 2, "variations": 1}
    images_in_groups = (settings.points + settings.test_points) * settings.group_size
    groups = images_in_groups * sum(times[kind] for kind in times if kind in wanted)
    interventions = INTERVENED * sum(factor_sizes) if "interventions" in wanted else 0
    return settings.repeats * (
        table + tests * settings.test_points + (1 + regimes) * (groups + interventions)
    )


Strength = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def with_metrics_section(raw: Any) -> Any:
    """A spec may list its metrics in place of a section with their names."""
    if isinstance(raw, dict) and isinstance(raw.get("metrics"), list | tuple):
        return {**raw, "metrics": {"names": raw["metrics"]}}
    return raw


Architecture = Literal["paper", "library", "resnet", "resnet_small"]


class Study(Settings):
    """One study: a grid of models and what is done with each."""

    name: str
    about: str = ""
    data: tuple[DataChoice, ...]
    sources: tuple[Source, ...] = ("redrawn", "official")
    methods: dict[str, tuple[Strength, ...]]
    seeds: int | tuple[int, ...] = 50
    # A list of an axis sweeps it (infra.tables.AXES).
    architecture: Architecture | tuple[Architecture, ...] = "paper"
    latents: int | tuple[int, ...] = 10
    probe: Annotated[int, Field(ge=10, lt=2**31, strict=True)] = 10_000
    training: Training = Training()
    metrics: Metrics = Metrics()
    udr: Udr = Udr()
    traces: Traces | None = None  # recorded while models are trained
    dynamics: DynamicsSettings = DynamicsSettings()
    running: Running = Running()

    _metrics_may_be_a_list = model_validator(mode="before")(with_metrics_section)

    @field_validator("name")
    @classmethod
    def _name_is_a_folder(cls, name: str) -> str:
        return file_name("name", name)

    @field_validator("data", mode="before")
    @classmethod
    def _data_may_be_names(cls, raw: Any) -> Any:
        return tuple(map(with_name, raw)) if isinstance(raw, list | tuple) else raw

    @field_validator("data")
    @classmethod
    def _data_exists(cls, choices: tuple[DataChoice, ...]) -> tuple[DataChoice, ...]:
        check_choices(choices)
        return choices

    @field_validator("sources")
    @classmethod
    def _sources_once(cls, sources: tuple[Source, ...]) -> tuple[Source, ...]:
        return distinct("sources", sources)

    @field_validator("methods")
    @classmethod
    def _methods_exist(cls, grid: dict[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
        return checked_methods(grid)

    @field_validator("latents", mode="before")
    @classmethod
    def _latents_are_numbers(cls, latents: Any) -> Any:
        for value in latents if isinstance(latents, list | tuple) else [latents]:
            if type(value) is not int or not 1 <= value <= MOST_LATENTS:
                accepted = f"a whole number from 1 to {MOST_LATENTS}, or a list of them to sweep"
                raise WrongInput("latents", "nothing" if value is None else value, accepted)
        return latents

    @field_validator(*AXES)
    @classmethod
    def _values_once(cls, values: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        return distinct(name, values) if isinstance(values, tuple) else values

    @field_validator("dynamics", mode="before")
    @classmethod
    def _dynamics_are_settings(cls, raw: Any) -> DynamicsSettings:
        if isinstance(raw, DynamicsSettings):
            return raw
        if not isinstance(raw, dict):
            raise WrongInput("dynamics", raw, "a mapping")
        return settings_from(raw, "dynamics.")

    @model_validator(mode="after")
    def _models_count(self) -> Study:
        strengths = sum(map(len, self.methods.values()))
        seeds = self.seeds if isinstance(self.seeds, int) else len(self.seeds)
        axes = prod(len(self.values_of(axis)) for axis in AXES)
        if (count := len(self.data) * strengths * axes * seeds) > MOST_MODELS:
            raise WrongInput("seeds", self.seeds, f"at most {MOST_MODELS:,} models, not {count:,}")
        return self

    @model_validator(mode="after")
    def _methods_can_have_these_settings(self) -> Study:
        architectures = self.values_of("architecture")
        precision, has_traces = self.training.precision, self.traces is not None
        check_combinations(list(self.methods), architectures, precision, has_traces)
        return self

    @model_validator(mode="after")
    def _traces_are_not_too_large(self) -> Study:
        if self.traces:
            check_traces(self.traces, self.training.steps)
        return self

    @model_validator(mode="after")
    def _metrics_fit_the_data(self) -> Study:
        for name in self.metrics.names:
            accepted = metrics.METRICS[name].data
            others = [choice.name for choice in self.data if choice.name not in accepted]
            if accepted and others:
                only = f"{name} only with data: {', '.join(accepted)}; not with {others[0]}"
                raise WrongInput("metrics.names", name, only)
        return self

    @model_validator(mode="after")
    def _label_noise_has_factors(self) -> Study:
        self.check_label_noise()
        return self

    def check_label_noise(self) -> None:
        """Raise if label noise is on factors that no data set has. Those of the user's own data are
        known once the data were read."""
        if self.metrics.label_noise and all(not c.own or c.read for c in self.data):
            check_factors(self.metrics.label_noise, [choice.factor_names for choice in self.data])

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds_are_numbers(cls, seeds: Any) -> Any:
        for seed in seeds if isinstance(seeds, list | tuple) else [seeds]:
            if isinstance(seed, bool):
                raise WrongInput("seeds", str(seed).lower(), "a number from 1, or a list of seeds")
        return seeds

    @field_validator("seeds")
    @classmethod
    def _seeds_count(cls, seeds: int | tuple[int, ...]) -> int | tuple[int, ...]:
        if isinstance(seeds, int):
            if seeds < 1:
                raise WrongInput("seeds", seeds, "a number from 1, or a list of seeds")
            return seeds
        if any(seed < 0 or seed >= 2**31 for seed in seeds):
            raise WrongInput("seeds", list(seeds), "seeds from 0 to 2147483647")
        return distinct("seeds", seeds)

    @property
    def seed_list(self) -> tuple[int, ...]:
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    @property
    def axes(self) -> tuple[str, ...]:
        """What is swept beside strength and seed: what the spec gives as a list."""
        return tuple(axis for axis in AXES if isinstance(getattr(self, axis), tuple))

    def values_of(self, axis: str) -> tuple[Any, ...]:
        """All values of an axis, also of one that is not swept."""
        value = getattr(self, axis)
        return value if isinstance(value, tuple) else (value,)

    @property
    def sweeps(self) -> dict[str, tuple[float, ...]]:
        """The strengths of each method at each value of the swept axes, by the sweep's name."""
        return {
            sweep_name(method, {axis: point[axis] for axis in self.axes}): strengths
            for method, strengths in self.methods.items()
            for point in self._points()
        }

    def _points(self) -> list[dict[str, Any]]:
        """Each combination of values of all axes."""
        values = product(*(self.values_of(axis) for axis in AXES))
        return [dict(zip(AXES, of_point, strict=True)) for of_point in values]

    def cells(self) -> list[Cell]:
        """The grid, in the order in which the spec names it."""
        recipe, axes, points = self.training.recipe, self.axes, self._points()
        return [
            Cell(
                tuple(
                    Model(
                        data=choice.name,
                        source=source,
                        method=method,
                        strength=strength,
                        seed=seed,
                        recipe=recipe,
                        content=choice.content,
                        pictures=choice.first_pictures,
                        axes=axes,
                        **point,
                    )
                    for seed in self.seed_list
                )
            )
            for choice in self.data
            for source in [
                choice.source or ("user" if choice.own else data.sources(choice.name)[0])
            ]
            for method, strengths in self.methods.items()
            for point in points
            for strength in strengths
        ]

    def choice(self, data: str) -> DataChoice:
        """How the study has a data set, by its name."""
        return next(choice for choice in self.data if choice.name == data)

    def must_extend(self, older: Study) -> None:
        """Raise if a store made by the older spec cannot take this one's results.

        A grid may grow and comparisons may change; models that are trained must stay part of it.
        """
        accepted = "the spec that made the store or one that adds to it; or another --store"
        swept_before = set(self.axes) & set(older.axes)
        older_choices = {choice.name: choice for choice in older.data}
        fixed: dict[str, tuple[Any, Any]] = {
            name: (getattr(self, name), getattr(older, name))
            for name in (*AXES, "probe")
            if name not in swept_before
        }
        for choice in self.data:
            for name in ("source", "content"):
                before = getattr(older_choices.get(choice.name), name, None)
                if before:  # not chosen yet, or a data set that is new
                    fixed[f"data {choice.name}, {name}"] = getattr(choice, name), before
            if older_choice := older_choices.get(choice.name):
                both = [each.first_pictures or "all pictures" for each in (choice, older_choice)]
                fixed[f"data {choice.name}, pictures"] = both[0], both[1]
        for section, (ours, before) in {
            "training": (self.training.recipe.model_dump(), older.training.recipe.model_dump()),
            "metrics": (self.metrics.science(), older.metrics.science()),
        }.items():
            fixed |= {f"{section}.{k}": (ours[k], before[k]) for k in ours if k != "names"}
        for field, (value, before) in fixed.items():
            if value != before:
                raise WrongInput(field, value, f"{before!r}: {accepted}")
        grids: list[tuple[str, Sequence[object], Sequence[object]]] = [
            ("data", [choice.name for choice in self.data], list(older_choices)),
            ("methods", list(self.methods), list(older.methods)),
            ("seeds", self.seed_list, older.seed_list),
            ("metrics.names", self.metrics.names, older.metrics.names),
        ]
        grids += [(axis, self.values_of(axis), older.values_of(axis)) for axis in swept_before]
        for method in self.methods.keys() & older.methods.keys():
            grids.append((f"methods.{method}", self.methods[method], older.methods[method]))
        for field, values, older_values in grids:
            missing = [value for value in older_values if value not in values]
            if missing:
                raise WrongInput(field, list(values), f"a list with {missing}: {accepted}")
