"""Files of the user's own: codes and factors to score, or models to rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base.continuous import BINS, are_continuous, equal_bins
from data.base.reading import reading
from data.own.factors import classes, text
from infra.errors import WrongInput
from metrics.base.arrays import BadArray, numbers, whole_numbers
from metrics.base.inputs import Reals
from tasks import own_arrays, own_columns, own_further
from tasks.words import plural

TABLES = (".parquet", *own_columns.TEXT_TABLES)
CODES_ENDINGS = (".npz", ".h5", ".hdf5", *TABLES)
CODES_NAMES = ("codes", "factors", "factor_kinds", "factor_names", *own_further.NAMES)
CODES_FILE = (
    "an .npz, .h5 or .hdf5 file with codes and factors, or a .parquet, .csv or .tsv file with "
    "codes_0, codes_1 ... and factor_NAME"
)
MODELS_ENDINGS = (".npz", ".h5", ".hdf5")
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
    left_out: dict[str, str] = field(default_factory=dict)  # columns that are neither, and why
    gap: str = ""  # in the numbers of a table's codes
    validation: tuple[Reals, Reals] | None = None  # codes and factors of further rows
    zero_shot: tuple[Reals, Reals] | None = None

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
    own_arrays.check_file(path, CODES_ENDINGS, CODES_FILE)
    with own_arrays.in_memory(path, CODES_NAMES, CODES_FILE), naming_file(path):
        if path.suffix.lower() in TABLES:
            with reading("FILE", path.name, CODES_FILE):
                arrays, present = own_columns.read(path)
            for name in ("codes", "factors"):
                own_arrays.check_present(path, name, name in arrays, present, CODES_FILE)
        else:
            arrays = own_arrays.read(path, CODES_NAMES, ("codes", "factors"), CODES_FILE)
        return _codes(path, arrays, bins)


def _codes(path: Path, arrays: own_arrays.Arrays, bins: int) -> OwnCodes:
    codes = numbers("codes", arrays["codes"], ("row", "column"))
    columns = _columns(arrays["factors"])
    rows = len(columns[0])
    if len(codes) != rows:
        accepted = f"{len(codes)}, as codes has{_hint(codes, columns)}"
        raise WrongInput(f"{path.name}, factors", f"{plural(rows, 'row')} of factors", accepted)
    accepted = f"{len(columns)}, one for each column of factors"
    names = _names(path, "factor_names", arrays, len(columns), accepted)
    if names and len(set(names)) < len(names):
        raise WrongInput(f"{path.name}, factor_names", ", ".join(names), "each name once")
    kinds = _names(path, "factor_kinds", arrays, len(columns), accepted)
    which = are_continuous(f"{path.name}, factor_kinds", columns, kinds)
    others: dict[str, Any] = {name: arrays[name] for name in ("left_out", "gap") if name in arrays}
    others |= own_further.further_rows(path, arrays, codes, columns)
    factors = np.empty((rows, len(columns)), np.int64)
    targets = np.empty(factors.shape)
    for place, (column, is_continuous) in enumerate(zip(columns, which, strict=True)):
        if is_continuous:
            factors[:, place] = equal_bins(column, bins)
        else:
            name = names[place] if names else str(place)
            factors[:, place] = classes(f"{path.name}, factors", name, column)[1]
        targets[:, place] = column if column.dtype.kind in "iubf" else factors[:, place]
    continuous = tuple(np.flatnonzero(which).tolist())
    return OwnCodes(codes, factors, names, targets, continuous, kinds is None, **others)


def _columns(factors: Any) -> list[NDArray[Any]]:
    """The factors one by one, an array without columns being one: numbers that are finite, truth
    values or words."""
    if isinstance(factors, list):
        return [
            numbers(name, column, ("row",)) if column.dtype.kind == "f" else column
            for name, column in factors
        ]
    if np.ndim(factors) == 1:
        factors = np.asarray(factors)[:, None]
    axes, kind = ("row", "factor"), np.asarray(factors).dtype.kind
    if kind in "iub":
        return list(whole_numbers("factors", factors, axes).T)
    if kind in "USO" and np.ndim(factors) == len(axes) and np.size(factors):
        return list(np.asarray(factors).T)
    return list(numbers("factors", factors, axes).T)


def _hint(codes: NDArray[Any], columns: Sequence[NDArray[Any]]) -> str:
    """What may be wrong with two arrays of different lengths."""
    if codes.shape[1] == len(columns[0]):
        return f"; codes of shape {codes.shape} may be transposed"
    if len(columns) == len(codes):
        return f"; factors of shape ({len(columns[0])}, {len(columns)}) may be transposed"
    return ""


def read_models(path: Path) -> OwnModels:
    """The arrays of a file, or a WrongInput that names what is wrong with it."""
    own_arrays.check_file(path, MODELS_ENDINGS, MODELS_FILE)
    with own_arrays.in_memory(path, MODELS_NAMES, MODELS_FILE):
        return _models(path)


def _models(path: Path) -> OwnModels:
    arrays = own_arrays.read(path, MODELS_NAMES, ("codes",), MODELS_FILE)
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


def _names(
    path: Path, key: str, arrays: dict[str, Any], count: int, accepted: str
) -> tuple[str, ...] | None:
    """The names of `count` things, if the file has names."""
    if arrays.get(key) is None:
        return None
    field, entries = f"{path.name}, {key}", np.ravel(arrays[key])
    if len(entries) != count:  # each will take fifty times as much memory as it does now
        raise WrongInput(field, plural(len(entries), "name"), accepted)
    return tuple(text(field, name) if isinstance(name, bytes) else str(name) for name in entries)
