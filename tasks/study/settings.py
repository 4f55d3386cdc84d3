"""What the sections of a spec have in common."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict

from infra.errors import WrongInput


class Settings(BaseModel):
    """Frozen; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


LONGEST_NAME = 150  # file systems take 255 bytes, of which tables need the rest


def file_name(field: str, name: str) -> str:
    if len(name) > LONGEST_NAME:
        raise WrongInput(field, name, f"at most {LONGEST_NAME} characters")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise WrongInput(field, name, "letters, digits, '.', '_' and '-'")
    return name


def distinct(field: str, values: tuple[Any, ...], empty: bool = False) -> tuple[Any, ...]:
    """Values of which none stands twice; a name given twice would give its rows twice."""
    if not values and not empty:
        raise WrongInput(field, "[]", "at least one value")
    if len(set(values)) < len(values):
        raise WrongInput(field, list(values), "each value once")
    return values
