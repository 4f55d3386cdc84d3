"""Shapes3D (Burgess & Kim, 2018, https://github.com/google-deepmind/3d-shapes).

One of four solids in a room, seen by a camera that orbits it; floor, wall and object have a hue
each. Without the official file, similar pictures are drawn (data/look_alikes).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from data.base import pixels
from data.base.pixels import SIDE, Pixels, Progress
from data.base.protocol import DataSet, Factors, Finite, Grid, Images, Places, Source
from data.base.stored import StoredGrid
from data.official.published import Blocks, Published, RemoteFile
from data.official.unpack import channels_first, hdf5_blocks

DESCRIPTION = Grid(
    name="shapes3d",
    source="official",
    channels=3,
    factor_names=("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"),
    factor_sizes=(10, 10, 10, 8, 4, 15),
    pictures=480_000,
    categorical=("shape",),
    periodic=("floor_hue", "wall_hue", "object_hue"),  # the camera sees a sector, no whole turn
)
SOURCES: tuple[Source, ...] = ("official", "look-alike")
PICTURES = 480_000
LOOK_ALIKE = "shapes3d-look-alike-1.pixels"  # raise the number when the pictures change
WEIGHTS = (8 * 4 * 15, 4, SIDE * SIDE)
FILE = RemoteFile(
    "3dshapes.h5",
    ("https://storage.googleapis.com/3d-shapes/3dshapes.h5",),
    "sha256:0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
    267_573_662,
)


def pictures(path: Path, count: int = PICTURES) -> Blocks:
    """The pictures of the published file, in the grid's order: (n, 3, 64, 64) each."""
    return channels_first(hdf5_blocks(path, "images", (count, SIDE, SIDE, 3)))


def _read(files: Mapping[str, Path]) -> Blocks:
    return pictures(files[FILE.name])


PUBLISHED: dict[Source, Published] = {
    "official": Published(
        files=(FILE,),
        ready="shapes3d-official-1.pixels",
        shape=(PICTURES, 3, SIDE, SIDE),
        read=_read,
        has_look_alike=True,
    )
}
FILES: dict[Source, str] = {"official": PUBLISHED["official"].ready, "look-alike": LOOK_ALIKE}


@dataclass(frozen=True, eq=False)
class ComposedShapes3D(Finite, Grid):
    """The look-alike: every view once, coloured when images are requested (all take 6 GB)."""

    weights: Pixels  # (480, 4, 4096): the shares of floor, wall, object and sky in every pixel

    def places(self, factors: Factors, stream: np.random.Generator) -> Places:
        """The factors determine the picture: the stream is not used."""
        return self.order(factors)

    def show(self, places: Places) -> Images:
        from data.look_alikes.shapes3d import HUES, compose

        hues, views = np.divmod(places, len(self.weights))
        palette = HUES[np.stack(np.unravel_index(hues, self.factor_sizes[:3]), axis=1)]
        return compose(self.weights, views, palette)


def load(cache: Path, source: Source = "official", progress: Progress | None = None) -> DataSet:
    """The official pictures, fetched before, or similar ones, drawn into `cache` once."""
    description = vars(replace(DESCRIPTION, source=source))
    if source == "look-alike":
        weights = pixels.prepared(cache / LOOK_ALIKE, WEIGHTS, _draw_weights, progress)
        return ComposedShapes3D(**description, weights=weights)
    stored = PUBLISHED["official"].pixels(cache, DESCRIPTION.name)
    return StoredGrid(**description, pixels=stored)


def _draw_weights() -> Iterator[Pixels]:
    from data.look_alikes.shapes3d import weights

    yield weights()
