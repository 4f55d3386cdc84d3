"""Read the columns of a user's factor table: .npz, .npy, HDF5, Parquet or .csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from data.base import hdf5, npy
from data.base.reading import printable
from data.own.parquet import COLUMNS as IMAGE_COLUMNS
from infra.errors import WrongInput

FIELD = "data.factors"
READABLE = "a whole .npz, .npy, .h5, .hdf5, .parquet or .csv file"
MOST_FACTORS = 1000  # so that no header asks for more memory than a table takes

Columns: TypeAlias = list[tuple[str, NDArray[Any]]]


def read(path: Path, count: int, needed: bool) -> Columns:
    """The columns, `count` rows each; none if the file holds no table and none is `needed`."""
    columns: Columns | None = None
    match path.suffix.lower():
        case ".npy":
            columns = _split(npy.stored(path), None, count) if needed else None
        case ".npz":
            columns = _from_npz(path, count, needed)
        case ".h5" | ".hdf5":
            columns = _from_hdf5(path, count)
        case ".parquet":
            columns = _from_parquet(path, count)
        case ".csv":
            columns = _from_csv(path, count)
        case _:
            raise WrongInput(FIELD, printable(path.name), READABLE)
    if needed and not columns:
        raise WrongInput(
            FIELD, f"no factors in {printable(path.name)}", "an array or columns of them"
        )
    return columns or []


def _from_npz(path: Path, count: int, needed: bool) -> Columns | None:
    names = npy.arrays(path)
    tables = [name for name in names if name != "factor_names"]
    if needed and "factors" not in names and len(tables) == 1:
        factors = tables[0]
    elif "factors" in names:
        factors = "factors"
    else:
        return None
    factor_names = npy.stored(path, "factor_names").whole() if "factor_names" in names else None
    return _split(npy.stored(path, factors), factor_names, count)


def _from_hdf5(path: Path, count: int) -> Columns | None:
    with hdf5.opened(path) as file:
        if (factors := hdf5.stored(file, "factors")) is None:
            return None
        factor_names = file.attrs.get("factor_names", factors.attrs.get("factor_names"))
        if (dataset := hdf5.stored(file, "factor_names")) is not None:
            factor_names = dataset[()]
        return _split(factors, factor_names, count)


def _split(factors: Any, factor_names: NDArray[Any] | None, count: int) -> Columns:
    """The columns of a stored array, which is read only if its shape is right."""
    shape = factors.shape
    if len(shape) not in (1, 2) or shape[0] != count or not 1 <= (*shape, 1)[1] <= MOST_FACTORS:
        accepted = (
            f"({count}, factors), as there are {count} pictures, with 1 to {MOST_FACTORS} factors"
        )
        raise WrongInput(FIELD, f"shape {shape}", accepted)
    values = factors.whole() if isinstance(factors, npy.StoredArray) else factors[()]
    values = values.reshape(count, -1)
    names = [f"factor_{place}" for place in range(values.shape[1])]
    if factor_names is not None:
        names = [n.decode() if isinstance(n, bytes) else str(n) for n in np.ravel(factor_names)]
    if len(names) != values.shape[1]:
        found = f"{len(names)} factor_names for {values.shape[1]} factors"
        raise WrongInput(FIELD, found, "one name for each factor")
    return list(zip(names, values.T, strict=True))


def _from_parquet(path: Path, count: int) -> Columns:
    """All columns but the pictures and the row labels that pandas stores."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        _check_rows(file.metadata.num_rows, count)
        schema = file.schema_arrow
        labels = (schema.pandas_metadata or {}).get("index_columns", [])
        names = [n for n in schema.names if n not in labels and n not in IMAGE_COLUMNS]
        return _from_arrow(file.read(columns=names)) if names else []


def _from_csv(path: Path, count: int) -> Columns:
    """Columns with a header; an empty cell is a missing value, also in a column of words."""
    from pyarrow import csv

    table = csv.read_csv(path, convert_options=csv.ConvertOptions(strings_can_be_null=True))
    _check_rows(table.num_rows, count)
    return _from_arrow(table)


def _check_rows(rows: int, count: int) -> None:
    if rows != count:
        raise WrongInput(FIELD, f"{rows} rows", f"{count} rows, as there are pictures")


def _from_arrow(table: Any) -> Columns:
    names = (name.strip() for name in table.column_names)
    return [(n, c.to_numpy()) for n, c in zip(names, table.columns, strict=True)]
