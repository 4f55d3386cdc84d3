"""Files of the user's own: codes and factors to score, or models to rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base import hdf5, npy
from data.base.continuous import BINS, are_continuous, equal_bins
from data.base.reading import reading
from infra.errors import WrongInput
from metrics.base.arrays import BadArray, numbers, whole_numbers

Arrays = dict[str, Any]
Reader = Callable[[Path, Sequence[str]], Arrays]

CODES_NAMES = ("codes", "factors", "factor_kinds", "factor_names")
CODES_FILE = "an .npz, .h5, .hdf5 or .parquet file with codes and factors"
MODELS_NAMES = ("codes", "kl", "names")
MODELS_FILE = "an .npz, .h5 or .hdf5 file with codes (models, points, latents), of the same points"


@dataclass(frozen=True)
class OwnCodes:
    """Codes (points, latents) and factors (points, factors) of the same points.

    Continuous factors have bins in `factors`; `targets` are all factors as real numbers.
    """

    codes: NDArray[np.floating[Any]]
    factors: NDArray[np.int64]
    factor_names: tuple[str, ...] | None
    targets: NDArray[np.float64] | None = None  # None: the factors
    continuous: tuple[int, ...] = ()
    guessed: bool = False  # that they are continuous: the file does not say so

    def name(self, factor: int) -> str:
        return self.factor_names[factor] if self.factor_names else f"factor {factor}"


@dataclass(frozen=True)
class OwnModels:
    """Codes (models, points, latents), KL (models, latents) if known, and the models' names."""

    codes: NDArray[np.floating[Any]]
    kl: NDArray[np.floating[Any]] | None
    names: tuple[str, ...] | None


def read_codes(path: Path, bins: int = BINS) -> OwnCodes:
    """The arrays of a file, or a WrongInput that names what is wrong with it; `bins` of equal width
    stand for a continuous factor where classes are needed."""
    readers: dict[str, Reader] = {
        ".npz": _npz,
        ".h5": _hdf5,
        ".hdf5": _hdf5,
        ".parquet": lambda path, _: _parquet(path),
    }
    arrays = _arrays(path, readers, CODES_NAMES, CODES_FILE, required=("codes", "factors"))
    with naming_file(path):
        codes = numbers("codes", arrays["codes"], ("row", "column"))
        whole = np.asarray(arrays["factors"]).dtype.kind in "iub"
        read = whole_numbers if whole else numbers
        values: NDArray[Any] = read("factors", arrays["factors"], ("row", "factor"))
    if len(codes) != len(values):
        row_count = f"{len(values)} rows of factors"
        raise WrongInput(f"{path.name}, factors", row_count, f"{len(codes)}, as codes has")
    columns = values.shape[1]
    accepted = f"{columns}, one for each column of factors"
    names = _names(path, "factor_names", arrays, columns, accepted)
    kinds = _names(path, "factor_kinds", arrays, columns, accepted)
    which = are_continuous(f"{path.name}, factor_kinds", list(values.T), kinds)
    if whole and not any(which):
        return OwnCodes(codes, values, names)
    factors, targets = np.empty(values.shape, np.int64), np.empty(values.shape)
    for place, (column, is_continuous) in enumerate(zip(values.T, which, strict=True)):
        positions = np.unique(column, return_inverse=True)[1]
        factors[:, place] = equal_bins(column, bins) if is_continuous else positions
        targets[:, place] = column
    continuous = tuple(np.flatnonzero(which).tolist())
    return OwnCodes(codes, factors, names, targets, continuous, guessed=kinds is None)


def read_models(path: Path) -> OwnModels:
    """The arrays of a file, or a WrongInput that names what is wrong with it."""
    readers: dict[str, Reader] = {".npz": _npz, ".h5": _hdf5, ".hdf5": _hdf5}
    arrays = _arrays(path, readers, MODELS_NAMES, MODELS_FILE, required=("codes",))
    kl = None
    with naming_file(path):
        codes = numbers("codes", arrays["codes"], ("model", "row", "latent"))
        if "kl" in arrays:
            kl = numbers("kl", arrays["kl"], ("model", "latent"))
    models, points, _ = codes.shape
    if models < 2:
        raise WrongInput(f"{path.name}, codes", f"{models} model", "2 or more, to compare")
    if points < 2:
        raise WrongInput(f"{path.name}, codes", f"{points} row", "2 or more points per model")
    names = _names(path, "names", arrays, models, f"{models}, one for each model")
    if names is not None and len(set(names)) < models:
        raise WrongInput(f"{path.name}, names", ", ".join(names), "each name once")
    return OwnModels(codes, kl, names)


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """A BadArray becomes a WrongInput that also names the file."""
    try:
        yield
    except BadArray as error:
        field = f"{path.name}, {error.field}"
        raise WrongInput(field, error.found, error.accepted) from None


def _arrays(
    path: Path,
    readers: dict[str, Reader],
    names: Sequence[str],
    accepted: str,
    required: Sequence[str],
) -> Arrays:
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise WrongInput("FILE", str(path), accepted)
    if not path.is_file():
        raise WrongInput("FILE", f"{path}, which is no file", accepted)
    with reading("FILE", path.name, accepted):
        arrays = reader(path, names)
    for name in required:
        if arrays.get(name) is None:
            raise WrongInput("FILE", f"no {name} in {path.name}", accepted)
    return arrays


def _names(
    path: Path, key: str, arrays: Arrays, count: int, accepted: str
) -> tuple[str, ...] | None:
    """The names of `count` things, if the file has names."""
    if arrays.get(key) is None:
        return None
    entries = np.ravel(arrays[key])
    names = tuple(name.decode() if isinstance(name, bytes) else str(name) for name in entries)
    if len(names) != count:
        raise WrongInput(f"{path.name}, {key}", f"{len(names)} names", accepted)
    return names


def _npz(path: Path, names: Sequence[str]) -> Arrays:
    """The arrays of these names that the file has."""
    stored = npy.arrays(path)
    return {name: npy.stored(path, name).whole() for name in names if name in stored}


def _hdf5(path: Path, names: Sequence[str]) -> Arrays:
    """Likewise; names and kinds may also be attributes of the file."""
    with hdf5.opened(path) as file:
        stored = {name: hdf5.stored(file, name) for name in names}
        arrays = {name: array[()] for name, array in stored.items() if array is not None}
        return {name: file.attrs[name] for name in names if name in file.attrs} | arrays


def _parquet(path: Path) -> Arrays:
    """A column `codes` of lists, or columns codes_0, codes_1, ...; the others are factors."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        labels = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        table = file.read(columns=[n for n in file.schema_arrow.names if n not in labels])
    names = table.column_names
    codes: NDArray[Any] | None
    if "codes" in names:
        code_columns = ["codes"]
        codes = np.array(table["codes"].to_pylist())
    else:
        code_columns = sorted(
            (name for name in names if name.startswith("codes_") and name[6:].isdigit()),
            key=lambda name: int(name[6:]),
        )
        columns = [table[name].to_numpy() for name in code_columns]
        codes = np.stack(columns, axis=1) if columns else None
    factors = [name for name in names if name not in code_columns]
    if not factors:
        return {"codes": codes}
    values = np.stack([table[name].to_numpy() for name in factors], axis=1)
    return {"codes": codes, "factors": values, "factor_names": factors}
