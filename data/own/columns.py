"""Read the columns of a user's factor table: .npz, .npy, HDF5, Parquet, .csv or .tsv."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base import csv_table, hdf5, npy, parquet_file
from data.base.reading import printable
from data.own.parquet import COLUMNS as IMAGE_COLUMNS
from infra.errors import WrongInput

FIELD = "data.factors"
READABLE = "a whole .npz, .npy, .h5, .hdf5, .parquet, .csv or .tsv file"
LABELS = ("factor_names", "factor_kinds")  # what a file may say of its factors
MOST_FACTORS = 1000  # so that no header asks for more memory than a table takes


@dataclass(frozen=True)
class Columns:
    """The columns of a table, their names, and their kinds if the file names them."""

    names: list[str]
    values: list[NDArray[Any]]
    kinds: list[str] | None = None


def read(path: Path, count: int, needed: bool) -> Columns:
    """The columns, `count` rows each; none if the file holds no table and none is `needed`."""
    columns: Columns | None = None
    match path.suffix.lower():
        case ".npy":
            columns = _split(npy.stored(path), {}, count) if needed else None
        case ".npz":
            columns = _from_npz(path, count, needed)
        case ".h5" | ".hdf5":
            columns = _from_hdf5(path, count)
        case ".parquet":
            columns = _from_parquet(path, count)
        case ".csv" | ".tsv":
            columns = _from_csv(path, count)
        case _:
            raise WrongInput(FIELD, printable(path.name), READABLE)
    if needed and (columns is None or not columns.names):
        raise WrongInput(
            FIELD, f"no factors in {printable(path.name)}", "an array or columns of them"
        )
    return columns or Columns([], [])


def _from_npz(path: Path, count: int, needed: bool) -> Columns | None:
    names = npy.arrays(path)
    tables = [name for name in names if name not in LABELS]
    if needed and "factors" not in names and len(tables) == 1:
        factors = tables[0]
    elif "factors" in names:
        factors = "factors"
    else:
        return None
    labels = {name: npy.stored(path, name).whole() for name in LABELS if name in names}
    return _split(npy.stored(path, factors), labels, count)


def _from_hdf5(path: Path, count: int) -> Columns | None:
    with hdf5.opened(path) as file:
        if (factors := hdf5.stored(file, "factors")) is None:
            return None
        labels = {}
        for name in LABELS:
            label = file.attrs.get(name, factors.attrs.get(name))
            if (dataset := hdf5.stored(file, name)) is not None:
                label = dataset[()]
            if label is not None:
                labels[name] = label
        return _split(factors, labels, count)


def _split(factors: Any, labels: Mapping[str, NDArray[Any]], count: int) -> Columns:
    """The columns of a stored array, which is read only if its shape is right."""
    shape = factors.shape
    if len(shape) not in (1, 2) or shape[0] != count or not 1 <= (*shape, 1)[1] <= MOST_FACTORS:
        accepted = (
            f"({count}, factors), as there are {count} pictures, with 1 to {MOST_FACTORS} factors"
        )
        raise WrongInput(FIELD, f"shape {shape}", accepted)
    values = factors.whole() if isinstance(factors, npy.StoredArray) else factors[()]
    values = values.reshape(count, -1)
    numbered = [f"factor_{place}" for place in range(values.shape[1])]
    names, kinds = (words(labels[name]) if name in labels else None for name in LABELS)
    names = names or numbered
    if len(names) != values.shape[1]:
        found = f"{len(names)} factor_names for {values.shape[1]} factors"
        raise WrongInput(FIELD, found, "one name for each factor")
    return Columns(names, list(values.T), kinds)


def words(array: NDArray[Any]) -> list[str]:
    """The words of a stored array."""
    return [word.decode() if isinstance(word, bytes) else str(word) for word in np.ravel(array)]


def _from_parquet(path: Path, count: int) -> Columns:
    """All columns but the pictures and the row labels that pandas stores."""
    with parquet_file.opened(path) as file:
        _check_rows(file.metadata.num_rows, count)
        schema = file.schema_arrow
        labels = (schema.pandas_metadata or {}).get("index_columns", [])
        names = [n for n in schema.names if n not in labels and n not in IMAGE_COLUMNS]
        if len(names) > MOST_FACTORS:
            raise WrongInput(FIELD, f"{len(names):,} columns", f"1 to {MOST_FACTORS} factors")
        return _from_arrow(file.read(columns=names)) if names else Columns([], [])


def _from_csv(path: Path, count: int) -> Columns:
    table = csv_table.read(path)
    _check_rows(table.num_rows, count)
    return _from_arrow(table)


def _check_rows(rows: int, count: int) -> None:
    if rows != count:
        raise WrongInput(
            FIELD, f"{rows} row{'s' * (rows != 1)}", f"{count} rows, as there are pictures"
        )


def _from_arrow(table: Any) -> Columns:
    names = [name.strip() for name in table.column_names]
    return Columns(names, [parquet_file.values(column) for column in table.columns])
