"""Names of what a study sweeps beside strength and seed (infra.tables.AXES).

A method at one value of each swept axis is a sweep of strengths. Its name has the values only if
the study gives a list: `beta_vae-latents_4`. So names of a study that sweeps nothing else are the
methods' own. No method's name has a hyphen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from infra.tables import AXES

SEPARATOR = "-"


def sweep_name(method: str, values: Mapping[str, Any]) -> str:
    """`beta_vae-latents_4`; the method's own name without values."""
    return SEPARATOR.join([method, *(f"{axis}_{value}" for axis, value in values.items())])


def sweep_of(row: Mapping[Any, Any], axes: Iterable[str]) -> str:
    """The name of a table's row, in a study that sweeps these axes."""
    return sweep_name(row["method"], {axis: row[axis] for axis in axes})


def method_of(sweep: str) -> str:
    """The method of a sweep's name."""
    return sweep.partition(SEPARATOR)[0]


def values_of(sweep: str) -> dict[str, str]:
    """The values of the swept axes in a sweep's name."""
    values = {}
    for part in sweep.split(SEPARATOR)[1:]:
        axis = next((axis for axis in AXES if part.startswith(f"{axis}_")), "")
        values[axis] = part.removeprefix(f"{axis}_")
    return values


def value_text(axis: str, value: Any) -> str:
    """`4 latents`, or `architecture library` where the value is no number."""
    unit, text = AXES[axis].unit, str(value)
    if not text.isdigit():
        return f"{unit} {text}"
    return f"{text} {unit}" if text == "1" else f"{text} {unit}s"
