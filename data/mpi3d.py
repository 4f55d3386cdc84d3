"""The common part of the three MPI3D data sets (Gondal et al., 2019): a robot arm with an object.

They show the same grid: as a simple rendering (toy), as a realistic one, and as photographs.
https://github.com/rr-learning/disentanglement_dataset

The authors have moved the files twice. Whether the newer files have the bytes of the first ones is
not known here, so one with another checksum is accepted if its content is right: as many pictures,
of this size and type, undamaged, in the order of the grid. What was read is then part of the
identity of every model that is trained on it.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from data.base.pixels import SIDE
from data.base.protocol import Grid
from data.base.stored import StoredGrid
from data.official.published import Blocks, Published, RemoteFile
from data.official.unpack import ROWS, channels_first, npz_blocks
from infra.errors import WrongInput

PLACES = (  # since 2025, before, and until 2023
    "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main/{name}.npz",
    "https://storage.googleapis.com/mpi3d_disentanglement_dataset/data/{older_name}.npz",
    "https://storage.googleapis.com/disentanglement_dataset/Final_Dataset/{name}.npz",
)
OLDER_NAMES = {"mpi3d_real": "real"}  # in the second place
PICTURES = 1_036_800
LAST_AXIS = 40  # along it pictures that follow each other show the arm one step further
CHECKED = 8  # of so many blocks one, when the order is checked


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
    older_name = OLDER_NAMES.get(name, name)
    places = tuple(place.format(name=name, older_name=older_name) for place in PLACES)
    file = RemoteFile(f"{name}.npz", places, f"md5:{md5}", check=check)

    def read(files: Mapping[str, Path]) -> Blocks:
        return pictures(files[file.name])

    return Published((file,), f"{name}-official-1.pixels", (PICTURES, 3, SIDE, SIDE), read)


def pictures(path: Path, count: int = PICTURES) -> Blocks:
    """The pictures of a file: (n, 3, 64, 64) each."""
    return channels_first(npz_blocks(path, "images", (count, SIDE, SIDE, 3)))


def check(path: Path, count: int = PICTURES) -> None:
    """Raise if the file holds other pictures; reads all of it.

    Neighbours along the last axis must be more alike than the last picture of one row and the first
    of the next, where the arm goes all the way back: else the pictures have another order.
    """
    steps, returns = [], []
    for number, block in enumerate(pictures(path, count)):
        if number % CHECKED == 0:
            different = np.abs(np.diff(block.astype(np.int16), axis=0)).mean(axis=(1, 2, 3))
            first = number * ROWS + 1  # of the second picture of each pair
            is_return = (first + np.arange(len(different))) % LAST_AXIS == 0
            steps.append(different[~is_return])
            returns.append(different[is_return])
    step, back = (float(np.concatenate(each).mean()) for each in (steps, returns))
    if not step < 0.9 * back:
        found = f"pictures that differ by {step:.3g} in a row and by {back:.3g} between rows"
        raise WrongInput(str(path), found, "the order of the grid, its last axis fastest")


def load(description: Grid, file: Published, cache: Path) -> StoredGrid:
    """The official pictures, which must have been fetched before."""
    pixels = file.pixels(cache, description.name)
    return StoredGrid(**{**vars(description), "content": file.content(cache)}, pixels=pixels)
