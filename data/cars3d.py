"""Cars3D (Reed et al., 2015, http://www.scottreed.info): 183 cars on a turntable, in colour.

The official pictures are 128 by 128 and are shrunk once, with Lanczos, as in the study of
Locatello et al. (2019). Without the official file, similar cars are drawn (data/look_alikes).
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from data.base import pixels
from data.base.pixels import SIDE, Progress
from data.base.protocol import Grid, Source
from data.base.stored import StoredGrid
from data.official import cars3d as official_cars
from data.official.published import Blocks, OtherForm, Published, RemoteFile, files_named

DESCRIPTION = Grid(
    name="cars3d",
    source="official",
    channels=3,
    factor_names=("elevation", "azimuth", "object"),
    factor_sizes=(4, 24, 183),
    pictures=17_568,
    categorical=("object",),
    periodic=("azimuth",),
)
SOURCES: tuple[Source, ...] = ("official", "look-alike")
LOOK_ALIKE = "cars3d-look-alike-1.pixels"  # raise the number when the pictures change
SHAPE = (4 * 24 * 183, 3, SIDE, SIDE)
TAR = RemoteFile(
    "nips2015-analogy-data.tar.gz",
    ("http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",),
    "md5:4e866a7919c1beedf53964e6f7a23686",
)


def _read(files: Mapping[str, Path]) -> Blocks:
    return official_cars.read_tar(files[TAR.name])


def _find_folder(path: Path) -> Path | None:
    return next((file.parent for file in files_named(path, "car_001_mesh.mat")), None)


PUBLISHED: dict[Source, Published] = {
    "official": Published(
        files=(TAR,),
        ready="cars3d-official-1.pixels",
        shape=SHAPE,
        read=_read,
        other_forms=(
            OtherForm("the unpacked folder cars", _find_folder, official_cars.read_folder),
        ),
        has_look_alike=True,
    )
}
FILES: dict[Source, str] = {"official": PUBLISHED["official"].ready, "look-alike": LOOK_ALIKE}


def load(cache: Path, source: Source = "official", progress: Progress | None = None) -> StoredGrid:
    """The official pictures, fetched before, or similar cars, drawn into `cache` once."""
    if source == "look-alike":
        from data.look_alikes import cars3d as look_alike

        stored = pixels.prepared(cache / LOOK_ALIKE, SHAPE, look_alike.draw, progress)
    else:
        stored = PUBLISHED["official"].pixels(cache, DESCRIPTION.name)
    return StoredGrid(**vars(replace(DESCRIPTION, source=source)), pixels=stored)
