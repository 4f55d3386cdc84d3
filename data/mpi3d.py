"""The common part of the three MPI3D data sets (Gondal et al., 2019): a robot arm with an object.

They show the same grid: as a simple rendering (toy), as a realistic one, and as photographs.
https://github.com/rr-learning/disentanglement_dataset
"""

from collections.abc import Mapping
from pathlib import Path

from data.base.pixels import SIDE
from data.base.protocol import Grid
from data.base.stored import StoredGrid
from data.official.published import Blocks, Published, RemoteFile
from data.official.unpack import channels_first, npz_blocks

BASE = "https://storage.googleapis.com/disentanglement_dataset/Final_Dataset/"
PICTURES = 1_036_800


def described(name: str) -> Grid:
    """The grid, which is the same for all three."""
    return Grid(
        name=name,
        source="official",
        channels=3,
        factor_names=(
            "object_color",
            "object_shape",
            "object_size",
            "camera_height",
            "background_color",
            "horizontal_axis",
            "vertical_axis",
        ),
        factor_sizes=(6, 6, 2, 3, 3, 40, 40),
        pictures=PICTURES,
        categorical=("object_color", "object_shape", "background_color"),
    )


def published(name: str, md5: str) -> Published:
    """One .npz that holds the pictures in the grid's order."""
    file = RemoteFile(f"{name}.npz", (f"{BASE}{name}.npz",), f"md5:{md5}")

    def read(files: Mapping[str, Path]) -> Blocks:
        return pictures(files[file.name])

    return Published((file,), f"{name}-official-1.pixels", (PICTURES, 3, SIDE, SIDE), read)


def pictures(path: Path, count: int = PICTURES) -> Blocks:
    """The pictures of a file: (n, 3, 64, 64) each."""
    return channels_first(npz_blocks(path, "images", (count, SIDE, SIDE, 3)))


def load(description: Grid, file: Published, cache: Path) -> StoredGrid:
    """The official pictures, which must have been fetched before."""
    return StoredGrid(**vars(description), pixels=file.pixels(cache, description.name))
