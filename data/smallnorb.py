"""SmallNORB (LeCun et al., 2004, https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/).

Grey pictures of 50 toys of 5 categories, ten instances of each.

Conventions:
- As in the study of Locatello et al. (2019) the instance is not a factor: it is random for every
  picture, and only the first of the two cameras is used, shrunk from 96 to 64 pixels with Lanczos.
- The study read the bytes as signed numbers, so that its pictures left [0, 1] a little at sharp
  edges; ours do not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from data.base import pixels
from data.base.pixels import SIDE, Pixels, Progress, as_floats
from data.base.protocol import Factors, Finite, Grid, Images, Places, Source
from data.official import smallnorb as official_norb
from data.official.published import Blocks, Published, RemoteFile
from data.official.smallnorb import GRID, TESTING, TRAINING

BASE = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
CATEGORIES, INSTANCES, ELEVATIONS, AZIMUTHS, LIGHTINGS = GRID

DESCRIPTION = Grid(
    name="smallnorb",
    source="official",
    channels=1,
    factor_names=("category", "elevation", "azimuth", "lighting"),
    factor_sizes=(CATEGORIES, ELEVATIONS, AZIMUTHS, LIGHTINGS),
    pictures=48_600,  # ten of each point: one per instance
    categorical=("category", "lighting"),
    periodic=("azimuth",),
)
SOURCES: tuple[Source, ...] = ("official", "look-alike")
LOOK_ALIKE = "smallnorb-look-alike-1.pixels"  # raise the number when the pictures change
SHAPE = (48_600, 1, SIDE, SIDE)


def _file(part: str, kind: str, size: int, sha256: str) -> RemoteFile:
    name = f"{part.format(kind)}.gz"
    return RemoteFile(name, (BASE + name,), f"sha256:{sha256}", size)


def _read(files: Mapping[str, Path]) -> Blocks:
    return official_norb.read(files)


# fmt: off
NORB = (
    _file(TRAINING, "dat", 131_896_188,
          "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873"),
    _file(TRAINING, "cat", 348,
          "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"),
    _file(TRAINING, "info", 71_052,
          "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32"),
    _file(TESTING, "dat", 130_799_817,
          "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474"),
    _file(TESTING, "cat", 347,
          "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"),
    _file(TESTING, "info", 10_428,
          "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2"),
)
# fmt: on
PUBLISHED: dict[Source, Published] = {
    "official": Published(NORB, "smallnorb-official-1.pixels", SHAPE, _read, has_look_alike=True)
}
FILES: dict[Source, str] = {"official": PUBLISHED["official"].ready, "look-alike": LOOK_ALIKE}


@dataclass(frozen=True, eq=False)
class SmallNORB(Finite, Grid):
    """`pixels` is (48600, 1, 64, 64): category, instance, elevation, azimuth, lighting."""

    pixels: Pixels

    def places(self, factors: Factors, stream: np.random.Generator) -> Places:
        """The same points show other toys of their categories at every call."""
        category, *view = factors.T
        instance = stream.integers(INSTANCES, size=len(factors))
        places: Places = np.ravel_multi_index((category, instance, *view), GRID)
        return places

    def show(self, places: Places) -> Images:
        return as_floats(self.pixels, places)


def load(cache: Path, source: Source = "official", progress: Progress | None = None) -> SmallNORB:
    """The official pictures, fetched before, or similar toys, drawn into `cache` once."""
    if source == "look-alike":
        from data.look_alikes import smallnorb as look_alike

        stored = pixels.prepared(cache / LOOK_ALIKE, SHAPE, look_alike.draw, progress)
    else:
        stored = PUBLISHED["official"].pixels(cache, DESCRIPTION.name)
    return SmallNORB(**vars(replace(DESCRIPTION, source=source)), pixels=stored)
