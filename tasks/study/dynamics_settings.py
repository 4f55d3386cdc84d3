"""How dynamics are compared, as a spec or `--set` says it: checked, and as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from infra.errors import WrongInput, one_of
from metrics.base.arrays import BadArray
from metrics.dynamics.settings import Settings


def settings_from(values: Mapping[str, Any], prefix: str) -> Settings:
    """Settings with these values; a WrongInput names the wrong one, after this prefix."""
    names = [field.name for field in fields(Settings)]
    for name in values:
        if name not in names:
            raise WrongInput(f"{prefix}{name}", f"unknown key {name}", one_of(names, name))
    layers = values.get("layers")
    if isinstance(layers, str | list):
        values = {**values, "layers": (layers,) if isinstance(layers, str) else tuple(layers)}
    try:
        return Settings(**values)
    except BadArray as error:
        raise WrongInput(f"{prefix}{error.field}", values[error.field], error.accepted) from None


def settings_text(settings: Settings) -> str:
    """JSON, the same for equal settings."""
    return json.dumps(asdict(settings), sort_keys=True)
