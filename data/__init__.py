"""The data sets. Adding one is a line here and a module of its name with DESCRIPTION and load."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from data.protocol import DataSet, Description

DATA_SETS: tuple[str, ...] = (
    "dsprites",
    "color_dsprites",
    "noisy_dsprites",
)


def describe(name: str) -> Description:
    """Name, source, channels and factors of a data set, without loading it."""
    description: Description = _module(name).DESCRIPTION
    return description


def load(name: str, cache: Path | None = None) -> DataSet:
    """The data set, prepared in the folder `cache` (the machine's own if None) where needed."""
    from data.cache import folder

    data_set: DataSet = _module(name).load(cache or folder())
    return data_set


def _module(name: str) -> ModuleType:
    """Imported on first use, so that naming the data sets costs nothing."""
    if name not in DATA_SETS:
        from infra.errors import WrongInput, one_of

        raise WrongInput("data set", name, one_of(DATA_SETS, name))
    return import_module(f"data.{name}")
