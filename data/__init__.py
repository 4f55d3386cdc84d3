"""The data sets. Adding one is a line here and a module of its name; CONTRIBUTING.md shows it."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from data.official.published import Published
    from data.pixels import Progress
    from data.protocol import DataSet, Description, Source

DATA_SETS: tuple[str, ...] = (
    "dsprites",
    "color_dsprites",
    "noisy_dsprites",
    "scream_dsprites",
    "smallnorb",
    "cars3d",
    "shapes3d",
    "mpi3d_toy",
    "mpi3d_realistic",
    "mpi3d_real",
)


def sources(name: str) -> tuple[Source, ...]:
    """Where this data set's pictures can come from, the most faithful first."""
    known: tuple[Source, ...] = module(name).SOURCES
    return known


def published_files(name: str) -> dict[Source, Published]:
    """The published file that each source rests on; a source without one needs no download."""
    needed: dict[Source, Published] = getattr(module(name), "PUBLISHED", {})
    return needed


def at_hand(name: str, source: Source, cache: Path) -> bool:
    """Whether the data set can be loaded from this source without fetching anything."""
    needed = published_files(name)
    return source not in needed or needed[source].is_ready(cache)


def describe(name: str, source: Source | None = None) -> Description:
    """Name, source, channels and factors of a data set, without loading it."""
    description: Description = module(name).DESCRIPTION
    return replace(description, source=source or sources(name)[0])


def files(name: str) -> dict[Source, str]:
    """The prepared file in the cache that each source reads."""
    prepared: dict[Source, str] = module(name).FILES
    return prepared


def prepared_files(cache: Path) -> list[str]:
    """The files in a cache that the data sets and the user's own data read."""
    known = {file for name in DATA_SETS for file in files(name).values()}
    own = {path.name for kind in ("pixels", "factors") for path in cache.glob(f"own-*.{kind}")}
    return sorted(own | {file for file in known if (cache / file).is_file()})


def content(name: str, source: Source, cache: Path) -> str:
    """A hash of what name and source leave open of a data set that is at hand; mostly nothing."""
    tell = getattr(module(name), "content", None)
    return tell(cache, source) if tell else ""


def load(name: str, source: Source, cache: Path, progress: Progress | None = None) -> DataSet:
    """The data set, prepared in the folder `cache` where needed."""
    data_set: DataSet = module(name).load(cache, source, progress)
    return data_set


def module(name: str) -> Any:
    """Imported on first use, so that naming the data sets costs nothing."""
    if name not in DATA_SETS:
        from infra.errors import WrongInput, one_of

        raise WrongInput("data set", name, one_of(DATA_SETS, name))
    return import_module(f"data.{name}")
