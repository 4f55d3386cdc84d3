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
from data.base.protocol import DataSet, Images
from data.base.table import Table
from infra.errors import WrongInput
from infra.new_file import writing_new
from infra.pictures import grid_png
from tasks.words import plural

Rows = NDArray[np.int64]  # factors (n, factors) of a grid; numbers (n,) of a table's pictures

BLOCK = 4096  # images drawn and written at a time, so that memory stays bounded
SHEET = (6, 10)  # rows and columns of a contact sheet of random pictures
MOST_ROWS = 10  # of one of chosen pictures


def read_rows(path: Path, data_set: DataSet) -> Rows:
    """Rows of factor values, from an .npy file that holds them, or places in the grid's order; of a
    table's pictures, such as your own, their numbers, from 0."""
    if not path.is_file():  # numpy would wait for ever at a pipe
        raise WrongInput("--rows", f"{path}, which is no file", "an .npy file of whole numbers")
    try:
        rows: Any = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        reason = getattr(error, "strerror", None) or "it is not written by numpy.save"
        raise WrongInput("--rows", f"{path} ({reason})", "an .npy file of whole numbers") from None
    if not isinstance(rows, np.ndarray):  # several arrays: numpy opened an .npz file
        raise WrongInput("--rows", f"{path} (an .npz file)", "an .npy file of whole numbers")
    sizes, is_table = data_set.factor_sizes, isinstance(data_set, Table)
    if (
        rows.dtype.kind not in "iu"
        or rows.ndim not in ((1,) if is_table else (1, 2))
        or not len(rows)
    ):
        description = f"{path} ({rows.dtype}, shape {rows.shape})"
        shapes = "(n,)" if is_table else f"(n, {len(sizes)}) or (n,)"
        raise WrongInput("--rows", description, f"whole numbers, shape {shapes}, n ≥ 1")
    if rows.ndim == 1:
        _check_range("--rows", rows, _count(data_set))
        if is_table:
            return np.asarray(rows, np.int64)
        rows = np.stack(np.unravel_index(rows, sizes), axis=1)
    if rows.shape[1] != len(sizes):
        accepted = f"{len(sizes)} columns: {', '.join(data_set.factor_names)}"
        raise WrongInput("--rows", plural(rows.shape[1], "column"), accepted)
    for name, column, size in zip(data_set.factor_names, rows.T, sizes, strict=True):
        _check_range(f"--rows, {name}", column, size)
    return np.asarray(rows, np.int64)


def _count(data_set: DataSet) -> int:
    """How many images there are: a table's pictures, or points of the grid."""
    if isinstance(data_set, Table):
        return len(data_set.pixels)
    return math.prod(data_set.factor_sizes)


def _check_range(field: str, values: NDArray[Any], size: int) -> None:
    wrong = np.flatnonzero((values < 0) | (values >= size))
    if wrong.size:
        wrong_value = f"{values[wrong[0]]} in row {wrong[0]}"
        raise WrongInput(field, wrong_value, f"0 to {size - 1}")


def write_images(
    target: Path,
    data_set: DataSet,
    rows: Rows | None,
    draws: np.random.Generator,
    progress: Progress | None = None,
) -> int:
    """Write images (n, 64, 64, channels) and factors of these rows, or of all there are.

    The file appears whole or not at all, and never replaces another.
    """
    count = _count(data_set) if rows is None else len(rows)
    with (
        writing_new(target, "--out", [".npz"]) as partial,
        zipfile.ZipFile(partial, "w", allowZip64=True) as archive,
    ):
        with archive.open("images.npy", "w", force_zip64=True) as member:
            header = {"descr": "|u1", "fortran_order": False}
            shape = (count, 64, 64, data_set.channels)
            np.lib.format.write_array_header_1_0(member, {**header, "shape": shape})
            for done, part in _parts(data_set, rows, count):
                images = _images(data_set, part, draws).transpose(0, 2, 3, 1)
                member.write(np.rint(images * 255).astype(np.uint8).tobytes())
                if progress:
                    progress(done / count)
        if data_set.factor_names:
            parts = [_factors(data_set, part) for _, part in _parts(data_set, rows, count)]
            names = np.array(data_set.factor_names)
            for name, array in (("factors", np.concatenate(parts)), ("factor_names", names)):
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
    return count


def _parts(data_set: DataSet, rows: Rows | None, count: int) -> Iterator[tuple[int, Rows]]:
    for first in range(0, count, BLOCK):
        places = np.arange(first, min(first + BLOCK, count))
        if rows is not None:
            part = rows[places]
        elif isinstance(data_set, Table):
            part = places
        else:
            part = np.stack(np.unravel_index(places, data_set.factor_sizes), axis=1)
        yield int(places[-1]) + 1, part


def _images(data_set: DataSet, rows: Rows, draws: np.random.Generator) -> Images:
    if isinstance(data_set, Table):
        return data_set.show(rows)
    return data_set.images(rows, draws)


def _factors(data_set: DataSet, rows: Rows) -> NDArray[Any]:
    """Positions among the sorted values; real numbers, where a table's are continuous."""
    if not isinstance(data_set, Table):
        return rows
    return data_set.targets(rows) if data_set.continuous else data_set.factors[rows]


def contact_sheet(data_set: DataSet, rows: Rows | None, draws: np.random.Generator) -> bytes:
    """A PNG of some images: the first of these rows, or random ones."""
    across, count = SHEET[1], math.prod(SHEET)
    if rows is None and isinstance(data_set, Table):
        every = len(data_set.pixels)
        rows = np.sort(draws.choice(every, size=min(count, every), replace=False))
    elif rows is None:
        rows = data_set.sample(count, draws)
    rows = rows[: MOST_ROWS * across]
    images = _images(data_set, rows, draws)
    blank = np.ones((-len(images) % across, *images.shape[1:]), np.float32)
    return grid_png(np.concatenate([images, blank]).reshape(-1, across, *images.shape[1:]))
