"""Images of a data set as a file for other programs, or as a picture for people."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base.pixels import Progress
from data.base.protocol import DataSet, Factors
from infra.errors import WrongInput
from infra.new_file import writing_new
from infra.pictures import grid_png

BLOCK = 4096  # images drawn and written at a time, so that memory stays bounded
SHEET = (6, 10)  # rows and columns of a contact sheet


def read_rows(path: Path, data_set: DataSet) -> Factors:
    """Rows of factor values, from an .npy file that holds them, or places in the grid's order."""
    try:
        rows: NDArray[Any] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise WrongInput("--rows", f"{path} ({error})", "an .npy file of whole numbers") from None
    sizes = data_set.factor_sizes
    if rows.dtype.kind not in "iu" or rows.ndim not in (1, 2):
        description = f"{path} ({rows.dtype}, shape {rows.shape})"
        raise WrongInput("--rows", description, f"whole numbers, shape (n, {len(sizes)}) or (n,)")
    if rows.ndim == 1:
        _check_range("--rows", rows, math.prod(sizes))
        rows = np.stack(np.unravel_index(rows, sizes), axis=1)
    if rows.shape[1] != len(sizes):
        accepted = f"{len(sizes)} columns: {', '.join(data_set.factor_names)}"
        raise WrongInput("--rows", f"{rows.shape[1]} columns", accepted)
    for name, column, size in zip(data_set.factor_names, rows.T, sizes, strict=True):
        _check_range(f"--rows, {name}", column, size)
    return rows.astype(np.int64)


def _check_range(field: str, values: NDArray[Any], size: int) -> None:
    wrong = np.flatnonzero((values < 0) | (values >= size))
    if wrong.size:
        wrong_value = f"{values[wrong[0]]} in row {wrong[0]}"
        raise WrongInput(field, wrong_value, f"0 to {size - 1}")


def write_images(
    target: Path,
    data_set: DataSet,
    rows: Factors | None,
    draws: np.random.Generator,
    progress: Progress | None = None,
) -> int:
    """Write images (n, 64, 64, channels) and factors of these rows, or of the whole grid.

    The file appears whole or not at all, and never replaces another.
    """
    count = math.prod(data_set.factor_sizes) if rows is None else len(rows)
    with (
        writing_new(target, "--out", [".npz"]) as partial,
        zipfile.ZipFile(partial, "w", allowZip64=True) as archive,
    ):
        with archive.open("images.npy", "w", force_zip64=True) as member:
            header = {"descr": "|u1", "fortran_order": False}
            shape = (count, 64, 64, data_set.channels)
            np.lib.format.write_array_header_1_0(member, {**header, "shape": shape})
            for done, part in _parts(data_set, rows, count):
                images = data_set.images(part, draws).transpose(0, 2, 3, 1)
                member.write(np.rint(images * 255).astype(np.uint8).tobytes())
                if progress:
                    progress(done / count)
        factors = np.concatenate([part for _, part in _parts(data_set, rows, count)])
        names = np.array(data_set.factor_names)
        for name, array in (("factors", factors), ("factor_names", names)):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return count


def _parts(data_set: DataSet, rows: Factors | None, count: int) -> Iterator[tuple[int, Factors]]:
    for first in range(0, count, BLOCK):
        places = np.arange(first, min(first + BLOCK, count))
        if rows is None:
            part = np.stack(np.unravel_index(places, data_set.factor_sizes), axis=1)
        else:
            part = rows[places]
        yield int(places[-1]) + 1, part


def contact_sheet(data_set: DataSet, rows: Factors | None, draws: np.random.Generator) -> bytes:
    """A PNG of some images: the first of these rows, or random ones."""
    across = SHEET[1]
    if rows is None:
        rows = data_set.sample(math.prod(SHEET), draws)
    rows = rows[: 10 * across]
    images = data_set.images(rows, draws)
    blank = np.ones((-len(images) % across, *images.shape[1:]), np.float32)
    return grid_png(np.concatenate([images, blank]).reshape(-1, across, *images.shape[1:]))
