"""MPI3D-realistic (Gondal et al., 2019): a robot arm holding an object, rendered realistically."""

from pathlib import Path

from data import mpi3d
from data.base.pixels import Progress
from data.base.protocol import Source
from data.base.stored import StoredGrid
from data.official.published import Published

DESCRIPTION = mpi3d.described("mpi3d_realistic")
SOURCES: tuple[Source, ...] = ("official",)
PUBLISHED: dict[Source, Published] = {
    "official": mpi3d.published("mpi3d_realistic", "59a6225b88b635365f70c91b3e52f70f")
}
FILES: dict[Source, str] = {"official": PUBLISHED["official"].ready}


def content(cache: Path, source: Source) -> str:
    """A hash of the pictures, if their file is not the one that was first published."""
    return PUBLISHED["official"].content(cache)


def load(cache: Path, source: Source = "official", progress: Progress | None = None) -> StoredGrid:
    """The official pictures, which must have been fetched before."""
    return mpi3d.load(DESCRIPTION, PUBLISHED["official"], cache)
