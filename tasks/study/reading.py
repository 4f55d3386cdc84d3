"""Reading a study: a preset or a YAML file, `--set` overrides, errors in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from infra.errors import WrongInput, one_of
from infra.new_file import is_file
from tasks.study.data_choice import DataChoice
from tasks.study.plain_yaml import LONGEST, parse_yaml
from tasks.study.spec import Architecture, Study, with_metrics_section

PRESETS = Path(__file__).parent / "presets"
ARCHITECTURES = f"literal[{','.join(map(repr, get_args(Architecture)))}]"
KINDS = (  # where a value or a list is accepted, pydantic puts the one that it tried into the place
    *("int", "tuple[int, ...]", ARCHITECTURES),
    f"tuple[{ARCHITECTURES}, ...]",
)
YAML_TYPES = {  # by pydantic's types of errors
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "string_type": "text",
}


def preset_names() -> list[str]:
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def read_study(spec: str, overrides: Sequence[str] = ()) -> Study:
    """The study of a preset's name or a YAML file, with `key=value` overrides."""
    path = PRESETS / f"{spec}.yaml"
    is_preset = bool(re.fullmatch(r"[\w.-]+", spec)) and is_file(path)
    if not is_preset:
        path = Path(spec)
    if not is_file(path):
        accepted = "a YAML file, or one of the presets " + one_of(preset_names(), spec)
        raise WrongInput("SPEC", spec, accepted)
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise WrongInput(spec, getattr(error, "strerror", "not text"), "a YAML file") from None
    raw = parse_yaml(text, spec)
    if not isinstance(raw, dict):
        found = "nothing" if raw is None else "a list" if isinstance(raw, list) else repr(raw)
        raise WrongInput(spec, found, "a mapping with name, data and methods")
    raw = with_metrics_section(raw)
    if is_preset and any(map(_changes_what_is_studied, overrides)):
        raw.pop("about", None)  # it is about the preset, not about what is made of it
    for override in overrides:
        _set(raw, override)
    return parse_study(raw)


def parse_study(raw: object) -> Study:
    try:
        return Study.model_validate(raw)
    except ValidationError as error:
        raise _as_wrong_input(error) from None


def _changes_what_is_studied(override: str) -> bool:
    return re.split(r"[.=]", override)[0] not in ("name", "about", "running")


def _set(raw: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise WrongInput("--set", override, "key=value, such as training.steps=1000")
    value = parse_yaml(text, f"--set {key}", "a value as YAML has it")
    *folders, last = key.split(".")
    place = raw
    for folder in folders:
        place = place.setdefault(folder, {})
        if not isinstance(place, dict):
            raise WrongInput(f"--set {key}", override, f"a key; {folder} has no keys below it")
    place[last] = value


def _as_wrong_input(error: ValidationError) -> WrongInput:
    """The first error that pydantic reports, in one line."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, WrongInput):
        return cause
    place = [str(part) for part in first["loc"] if str(part) not in KINDS]
    field, value = ".".join(place), first["input"]
    if first["type"] == "extra_forbidden":
        section: Any = DataChoice if place[0] == "data" else Study
        for name in () if place[0] == "data" else place[:-1]:
            annotation = section.model_fields[name].annotation
            section = next(iter(get_args(annotation)), annotation)  # it may be a section or None
        return WrongInput(
            field, f"unknown key {place[-1]}", one_of(section.model_fields, place[-1])
        )
    if first["type"] == "missing":
        return WrongInput(field, "nothing", "a value (it has no default)")
    message = first["msg"].removeprefix("Input should be ").partition(", unable")[0].lower()
    accepted = YAML_TYPES.get(first["type"], message)
    if first["type"] == "string_type" and isinstance(value, bool | int | float | date):
        accepted += " (in quotes; without them YAML reads yes, no, on, off, numbers and dates)"
    return WrongInput(field, "nothing" if value is None else value, accepted)
