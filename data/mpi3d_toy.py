"""MPI3D-toy (Gondal et al., 2019): a robot arm that holds an object, rendered simply."""

from pathlib import Path

from data import mpi3d
from data.base.pixels import Progress
from data.base.protocol import Source
from data.base.stored import StoredGrid
from data.official.published import Published

DESCRIPTION = mpi3d.described("mpi3d_toy")
SOURCES: tuple[Source, ...] = ("official",)
PUBLISHED: dict[Source, Published] = {
    "official": mpi3d.published("mpi3d_toy", "55889cb7c7dfc655d6e0277beee88868")
}
FILES: dict[Source, str] = {"official": PUBLISHED["official"].ready}


def content(cache: Path, source: Source) -> str:
    """A hash of the pictures, if their file is not the one that was first published."""
    return PUBLISHED["official"].content(cache)


def load(cache: Path, source: Source = "official", progress: Progress | None = None) -> StoredGrid:
    """The official pictures, which must have been fetched before."""
    return mpi3d.load(DESCRIPTION, PUBLISHED["official"], cache)
