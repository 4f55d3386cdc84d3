"""Study: what to run, read from a preset or a YAML file, checked, and expanded to models."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

import data
import models
from data.protocol import Source
from infra.errors import WrongInput, one_of
from tasks.data_sets import settle
from tasks.settings import (
    Cell,
    DataChoice,
    Metrics,
    Model,
    Positive,
    Running,
    Settings,
    Training,
    Udr,
)

PRESETS = Path(__file__).parent / "presets"
KINDS = {  # pydantic's names for what YAML calls otherwise
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "string_type": "text",
}
Strength = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Study(Settings):
    """One study: a grid of models and what is done with each."""

    name: str
    about: str = ""
    data: tuple[DataChoice, ...]
    sources: tuple[Source, ...] = ("redrawn", "official")
    methods: dict[str, tuple[Strength, ...]]
    seeds: int | tuple[int, ...] = 50
    architecture: Literal["paper", "library"] = "paper"
    latents: Positive = 10
    probe: Annotated[int, Field(ge=10, strict=True)] = 10_000
    training: Training = Training()
    metrics: Metrics = Metrics()
    udr: Udr = Udr()
    running: Running = Running()

    @model_validator(mode="before")
    @classmethod
    def _metrics_may_be_a_list(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and isinstance(raw.get("metrics"), list | tuple):
            return {**raw, "metrics": {"names": raw["metrics"]}}
        return raw

    @field_validator("name")
    @classmethod
    def _name_is_a_folder(cls, name: str) -> str:
        return file_name("name", name)

    @field_validator("data", mode="before")
    @classmethod
    def _data_may_be_names(cls, raw: Any) -> Any:
        return tuple(map(_spelt_out, raw)) if isinstance(raw, list | tuple) else raw

    @field_validator("data")
    @classmethod
    def _data_exists(cls, choices: tuple[DataChoice, ...]) -> tuple[DataChoice, ...]:
        for one in choices:
            _check_choice(one)
        _distinct("data", tuple(one.name for one in choices))
        return choices

    @field_validator("sources")
    @classmethod
    def _sources_once(cls, sources: tuple[Source, ...]) -> tuple[Source, ...]:
        return _distinct("sources", sources)

    @field_validator("methods")
    @classmethod
    def _methods_exist(cls, grid: dict[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
        for name in grid:
            if name not in models.METHODS:
                raise WrongInput("methods", name, one_of(models.METHODS, name))
            _distinct(f"methods.{name}", grid[name])
        if not grid:
            raise WrongInput("methods", "{}", "at least one of " + ", ".join(models.METHODS))
        return grid

    @field_validator("seeds")
    @classmethod
    def _seeds_count(cls, seeds: int | tuple[int, ...]) -> int | tuple[int, ...]:
        if isinstance(seeds, int):
            if seeds < 1:
                raise WrongInput("seeds", seeds, "a number from 1, or a list of seeds")
            return seeds
        if any(seed < 0 or seed >= 2**31 for seed in seeds):
            raise WrongInput("seeds", list(seeds), "seeds from 0 to 2147483647")
        return _distinct("seeds", seeds)

    @property
    def seed_list(self) -> tuple[int, ...]:
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    def cells(self) -> list[Cell]:
        """The grid, in the order in which the spec names it."""
        shared = {
            "architecture": self.architecture,
            "latents": self.latents,
            **self.training.science(),
        }
        return [
            Cell(
                tuple(
                    Model(one.name, source, method, s, seed, **shared, content=one.content)
                    for seed in self.seed_list
                )
            )
            for one in self.data
            for source in [one.source or ("user" if one.own else data.sources(one.name)[0])]
            for method, strengths in self.methods.items()
            for s in strengths
        ]

    def settled(
        self, older: Study | None = None, missing: Callable[[WrongInput], None] | None = None
    ) -> Study:
        """The study with a source for each data set; what an older spec settled stands.

        A data set that is not at hand is an error, or is told to `missing` and left as it is. One
        that was settled before is looked for when it is needed: a study may be finished.
        """
        before = {one.name: one for one in older.data} if older else {}
        choices = []
        for one in self.data:
            had = before.get(one.name)
            if had and not one.source:
                one = one.model_copy(update={"source": had.source, "content": had.content})
            if had and one == had and one.source and not one.own:
                choices.append(one)
                continue
            try:
                choices.append(settle(one, self.sources))
            except WrongInput as error:
                if missing is None or one.own:
                    raise
                missing(error)
                choices.append(one)
        return self.model_copy(update={"data": tuple(choices)})

    def must_extend(self, older: Study) -> None:
        """Raise if a store made by the older spec cannot take this one's results.

        A grid may grow and comparisons may be made anew; what has been trained must stand.
        """
        accepted = "the spec that made the store or one that adds to it; or another --store"
        chosen = {one.name: one for one in older.data}
        fixed: dict[str, tuple[Any, Any]] = {
            name: (getattr(self, name), getattr(older, name))
            for name in ("architecture", "latents", "probe")
        }
        for one in self.data:
            for name in ("source", "content"):
                before = getattr(chosen.get(one.name), name, None)
                if before:  # not settled yet, or a data set that is new
                    fixed[f"data {one.name}, {name}"] = getattr(one, name), before
        for part, (has, had) in {
            "training": (self.training.science(), older.training.science()),
            "metrics": (self.metrics.science(), older.metrics.science()),
        }.items():
            fixed |= {f"{part}.{key}": (has[key], had[key]) for key in has if key != "names"}
        for field, (value, before) in fixed.items():
            if value != before:
                raise WrongInput(field, value, f"{before!r}: {accepted}")
        grids: list[tuple[str, Sequence[object], Sequence[object]]] = [
            ("data", [one.name for one in self.data], [one.name for one in older.data]),
            ("methods", list(self.methods), list(older.methods)),
            ("seeds", self.seed_list, older.seed_list),
            ("metrics.names", self.metrics.names, older.metrics.names),
        ]
        for method in self.methods.keys() & older.methods.keys():
            grids.append((f"methods.{method}", self.methods[method], older.methods[method]))
        for field, values, held in grids:
            lost = [value for value in held if value not in values]
            if lost:
                raise WrongInput(field, list(values), f"a list with {lost}: {accepted}")


def _spelt_out(raw: Any) -> Any:
    """A data set that is given by its name; the user's own files are named after themselves."""
    if isinstance(raw, str):
        return {"name": raw}
    if isinstance(raw, dict) and "name" not in raw:
        place = raw.get("folder") or raw.get("images")
        if isinstance(place, str):
            return {**raw, "name": Path(place).absolute().stem}
    return raw


def _check_choice(one: DataChoice) -> None:
    """Raise unless it is a known data set, or one of the user's own with a name of its own."""
    if not one.own:
        if one.name not in data.DATA_SETS:
            accepted = one_of(data.DATA_SETS, one.name)
            raise WrongInput("data", one.name, f"{accepted}, {{images: FILE}} or {{folder: PATH}}")
        if one.source and one.source not in data.sources(one.name):
            accepted = one_of(data.sources(one.name), one.source)
            raise WrongInput(f"data {one.name}, source", one.source, accepted)
        if one.factors:
            raise WrongInput(f"data {one.name}, factors", one.factors, "factors beside images")
        return
    if one.images and one.folder:
        raise WrongInput(f"data {one.name}", "images and folder", "one of them")
    if one.folder and one.factors:
        raise WrongInput(f"data {one.name}", "folder and factors", "factors beside images")
    if one.source not in (None, "user"):
        raise WrongInput(f"data {one.name}, source", one.source, "user, as the files are your own")
    if file_name("data name", one.name) in data.DATA_SETS:
        raise WrongInput("data name", one.name, "a name that no known data set has (name: ...)")


def file_name(field: str, name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise WrongInput(field, name, "letters, digits, '.', '_' and '-'")
    return name


def _distinct(field: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values:
        raise WrongInput(field, "[]", "at least one value")
    if len(set(values)) < len(values):
        raise WrongInput(field, list(values), "each value once")
    return values


def preset_names() -> list[str]:
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def read_study(spec: str, overrides: Sequence[str] = ()) -> Study:
    """The study of a preset's name or a YAML file, with `key=value` overrides."""
    path = PRESETS / f"{spec}.yaml"
    if not re.fullmatch(r"[\w.-]+", spec) or not path.is_file():
        path = Path(spec)
    if not path.is_file():
        accepted = "a YAML file, or one of the presets " + one_of(preset_names(), spec)
        raise WrongInput("SPEC", spec, accepted)
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError, OSError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{spec}, line {mark.line + 1}" if mark else spec
        problem = getattr(error, "problem", None) or getattr(error, "strerror", None)
        problem = problem or ("not text" if isinstance(error, UnicodeDecodeError) else str(error))
        raise WrongInput(where, problem, "readable YAML") from None
    if not isinstance(raw, dict):
        raise WrongInput(spec, type(raw).__name__, "a mapping with name, data and methods")
    if isinstance(raw.get("metrics"), list):
        raw["metrics"] = {"names": raw["metrics"]}
    for override in overrides:
        _set(raw, override)
    return parse_study(raw)


def parse_study(raw: object) -> Study:
    try:
        return Study.model_validate(raw)
    except ValidationError as error:
        raise _as_wrong_input(error) from None


def _set(raw: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise WrongInput("--set", override, "key=value, such as training.steps=1000")
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise WrongInput(f"--set {key}", text, "a value as YAML has it") from None
    *folders, last = key.split(".")
    place = raw
    for folder in folders:
        place = place.setdefault(folder, {})
        if not isinstance(place, dict):
            raise WrongInput(f"--set {key}", override, f"a key; {folder} has no keys below it")
    place[last] = value


def _as_wrong_input(error: ValidationError) -> WrongInput:
    """pydantic's first complaint, in our one line."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, WrongInput):
        return cause
    place = [str(part) for part in first["loc"] if part not in ("int", "tuple[int, ...]")]
    field, found = ".".join(place), first["input"]
    if first["type"] == "extra_forbidden":
        section: Any = DataChoice if place[0] == "data" else Study
        for name in () if place[0] == "data" else place[:-1]:
            section = section.model_fields[name].annotation
        return WrongInput(
            field, f"unknown key {place[-1]}", one_of(section.model_fields, place[-1])
        )
    if first["type"] == "missing":
        return WrongInput(field, "nothing", "a value (it has no default)")
    message = first["msg"].removeprefix("Input should be ").partition(", unable")[0].lower()
    return WrongInput(field, found, KINDS.get(first["type"], message))
