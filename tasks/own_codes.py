"""Anyone's codes and factors, from a file: .npz, HDF5 or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base import hdf5, npy
from data.base.reading import reading
from infra.errors import WrongInput
from metrics.base.arrays import numbers, whole_numbers

NAMES = ("codes", "factors", "factor_names")
READABLE = "an .npz, .h5, .hdf5 or .parquet file with codes and factors"


@dataclass(frozen=True)
class OwnCodes:
    """Codes (points, latents) and factors (points, factors) of the same points."""

    codes: NDArray[np.floating[Any]]
    factors: NDArray[np.int64]
    factor_names: tuple[str, ...] | None


def read_codes(path: Path) -> OwnCodes:
    """The arrays of a file, or a WrongInput that names what is wrong with it."""
    readers: dict[str, Callable[[Path], dict[str, Any]]] = {
        ".npz": lambda path: npz(path, NAMES),
        ".h5": lambda path: hdf5_file(path, NAMES),
        ".hdf5": lambda path: hdf5_file(path, NAMES),
        ".parquet": _parquet,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None or not path.is_file():
        raise WrongInput("FILE", str(path), READABLE)
    with reading("FILE", path.name, READABLE):
        found = reader(path)
    for name in ("codes", "factors"):
        if found.get(name) is None:
            raise WrongInput("FILE", f"no {name} in {path.name}", READABLE)
    try:
        codes = numbers("codes", found["codes"], ("row", "column"))
        factors = whole_numbers("factors", found["factors"], ("row", "factor"))
    except ValueError as error:
        field, _, rest = str(error).partition(": found ")
        raise WrongInput(f"{path.name}, {field}", *halves(rest)) from None
    if len(codes) != len(factors):
        found_rows = f"{len(factors)} rows of factors"
        raise WrongInput(f"{path.name}, factors", found_rows, f"{len(codes)}, as codes has")
    names = found.get("factor_names")
    if names is not None:
        names = tuple(one.decode() if isinstance(one, bytes) else str(one) for one in names)
        if len(names) != factors.shape[1]:
            accepted = f"{factors.shape[1]}, one for each column of factors"
            raise WrongInput(f"{path.name}, factor_names", f"{len(names)} names", accepted)
    return OwnCodes(codes, factors, names)


def halves(text: str) -> tuple[str, str]:
    """`1.5; integers are accepted (...)` as what was found and what is accepted."""
    found, _, accepted = text.partition("; ")
    return found, accepted.replace(" is accepted", "").replace(" are accepted", "").rstrip(",")


def npz(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """The arrays of these names that there are."""
    there = npy.arrays(path)
    return {name: npy.stored(path, name).whole() for name in names if name in there}


def hdf5_file(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Likewise; names of things, the last, may also be an attribute."""
    with hdf5.opened(path) as file:
        stored = {name: hdf5.stored(file, name) for name in names}
        found = {name: one[()] for name, one in stored.items() if one is not None}
        named = file.attrs.get(names[-1])
        return {**({} if named is None else {names[-1]: named}), **found}


def _parquet(path: Path) -> dict[str, Any]:
    """A column `codes` of lists, or columns codes_0, codes_1, ...; the others are factors."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        labels = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        table = file.read(columns=[n for n in file.schema_arrow.names if n not in labels])
    names = table.column_names
    codes: NDArray[Any] | None
    if "codes" in names:
        mine = ["codes"]
        codes = np.array(table["codes"].to_pylist())
    else:
        mine = sorted(
            (name for name in names if name.startswith("codes_") and name[6:].isdigit()),
            key=lambda name: int(name[6:]),
        )
        codes = np.stack([table[name].to_numpy() for name in mine], axis=1) if mine else None
    factors = [name for name in names if name not in mine]
    if not factors:
        return {"codes": codes}
    columns = np.stack([table[name].to_numpy() for name in factors], axis=1)
    return {"codes": codes, "factors": columns, "factor_names": factors}
