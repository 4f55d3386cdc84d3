"""The data sets: data/NAME.py holds one; adding one is that file and one line here."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from data.base.pixels import Progress
    from data.base.protocol import DataSet, Description, Source
    from data.official.published import Published


@dataclass(frozen=True)
class KnownDataSet:
    """Facts about a data set; `papers` are keys of tasks.citations.PAPERS."""

    title: str
    papers: tuple[str, ...]


DATA_SETS: dict[str, KnownDataSet] = {
    "dsprites": KnownDataSet("dSprites", ("matthey-2017",)),
    "color_dsprites": KnownDataSet("Color-dSprites", ("matthey-2017", "locatello-2019")),
    "noisy_dsprites": KnownDataSet("Noisy-dSprites", ("matthey-2017", "locatello-2019")),
    "scream_dsprites": KnownDataSet("Scream-dSprites", ("matthey-2017", "locatello-2019")),
    "smallnorb": KnownDataSet("SmallNORB", ("lecun-2004",)),
    "cars3d": KnownDataSet("Cars3D", ("reed-2015",)),
    "shapes3d": KnownDataSet("Shapes3D", ("burgess-kim-2018",)),
    "mpi3d_toy": KnownDataSet("MPI3D toy", ("gondal-2019",)),
    "mpi3d_realistic": KnownDataSet("MPI3D realistic", ("gondal-2019",)),
    "mpi3d_real": KnownDataSet("MPI3D real", ("gondal-2019",)),
    "teapots": KnownDataSet("Teapots", ("eastwood-2018",)),
    "scene": KnownDataSet("Scene", ("watters-2019",)),
}


def sources(name: str) -> tuple[Source, ...]:
    """The sources of a data set's pictures, the most faithful first."""
    all_sources: tuple[Source, ...] = module(name).SOURCES
    return all_sources


def published_files(name: str) -> dict[Source, Published]:
    """The published files that sources need; a source that is not here needs no download."""
    published: dict[Source, Published] = getattr(module(name), "PUBLISHED", {})
    return published


def is_available(name: str, source: Source, cache: Path) -> bool:
    """Whether the data set can be loaded from this source without a download."""
    published = published_files(name)
    return source not in published or published[source].is_ready(cache)


def describe(name: str, source: Source | None = None, pictures: int = 0) -> Description:
    """Name, source, channels and factors of a data set, or of its first pictures, without loading
    it."""
    description: Description = module(name).DESCRIPTION
    source = source or sources(name)[0]
    return replace(description, source=source, pictures=pictures or description.pictures)


def fewest_pictures(name: str) -> int | None:
    """From how many on the first pictures can be taken alone; None: only all pictures."""
    fewest: int | None = getattr(module(name), "FEWEST_PICTURES", None)
    return fewest


def files(name: str) -> dict[Source, str]:
    """The prepared file in the cache that each source reads."""
    prepared: dict[Source, str] = module(name).FILES
    return prepared


def first_files(name: str) -> dict[Source, str]:
    """The prepared file of the first pictures alone, for each source that has one; * in its name is
    how many."""
    prepared: dict[Source, str] = getattr(module(name), "FIRST_FILES", {})
    return prepared


def file_pattern(file: str) -> str:
    """The regular expression of a prepared file's name."""
    return re.escape(file).replace(re.escape("*"), r"\d+")


def is_prepared(name: str, source: Source, cache: Path, pictures: int = 0) -> bool:
    """Whether the data set, or its first pictures, can be loaded without writing into the cache."""
    names = [prepared] if (prepared := files(name).get(source)) else []
    if pictures and (first := first_files(name).get(source)):
        names.append(first.replace("*", str(pictures)))
    return not names or any((cache / file).exists() for file in names)


def files_in(cache: Path, name: str) -> list[str]:
    """The files in a cache that a data set reads."""
    found = [file for file in files(name).values() if (cache / file).is_file()]
    for file in first_files(name).values():
        pattern = re.compile(file_pattern(file))
        names = sorted(path.name for path in cache.glob(file))
        found += [first for first in names if pattern.fullmatch(first)]
    return found


def prepared_files(cache: Path) -> list[str]:
    """The files in a cache that the data sets and the user's own data read."""
    kinds = ("pixels", "factors", "real")
    own = {path.name for kind in kinds for path in cache.glob(f"own-*.{kind}")}
    return sorted(own.union(*(files_in(cache, name) for name in DATA_SETS)))


def content(name: str, source: Source, cache: Path) -> str:
    """A hash of the pictures where name and source do not determine them; otherwise empty."""
    hash_of = getattr(module(name), "content", None)
    return hash_of(cache, source) if hash_of else ""


def load(
    name: str, source: Source, cache: Path, progress: Progress | None = None, pictures: int = 0
) -> DataSet:
    """The data set, or its first pictures, prepared in the folder `cache` where needed."""
    first = (pictures,) if pictures else ()
    data_set: DataSet = module(name).load(cache, source, progress, *first)
    return data_set


def module(name: str) -> Any:
    """Imported on first use, so that listing the names of data sets is fast."""
    if name not in DATA_SETS:
        from infra.errors import WrongInput, one_of

        raise WrongInput("data set", name, one_of(DATA_SETS, name))
    return import_module(f"data.{name}")
