"""Anyone's models to rank, from a file: .npz or HDF5."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base.reading import reading
from infra.errors import WrongInput
from metrics.base.arrays import numbers
from tasks.own_codes import halves, hdf5_file, npz

NAMES = ("codes", "kl", "names")
READABLE = "an .npz, .h5 or .hdf5 file with codes (models, points, latents), of the same points"


@dataclass(frozen=True)
class OwnModels:
    """Codes (models, points, latents), KL (models, latents) if known, and the models' names."""

    codes: NDArray[np.floating[Any]]
    kl: NDArray[np.floating[Any]] | None
    names: tuple[str, ...] | None


def read_models(path: Path) -> OwnModels:
    """The arrays of a file, or a WrongInput that names what is wrong with it."""
    readers = {".npz": npz, ".h5": hdf5_file, ".hdf5": hdf5_file}
    reader = readers.get(path.suffix.lower())
    if reader is None or not path.is_file():
        raise WrongInput("FILE", str(path), READABLE)
    with reading("FILE", path.name, READABLE):
        found = reader(path, NAMES)
    if "codes" not in found:
        raise WrongInput("FILE", f"no codes in {path.name}", READABLE)
    kl = None
    try:
        codes = numbers("codes", found["codes"], ("model", "row", "latent"))
        if "kl" in found:
            kl = numbers("kl", found["kl"], ("model", "latent"))
    except ValueError as error:
        field, _, rest = str(error).partition(": ")
        raise WrongInput(f"{path.name}, {field}", *halves(rest.removeprefix("found "))) from None
    models, points, _ = codes.shape
    if models < 2:
        raise WrongInput(f"{path.name}, codes", f"{models} model", "2 or more, to compare")
    if points < 2:
        raise WrongInput(f"{path.name}, codes", f"{points} row", "2 or more points per model")
    return OwnModels(codes, kl, _names(path, found.get("names"), models))


def _names(path: Path, found: Any, models: int) -> tuple[str, ...] | None:
    if found is None:
        return None
    names = tuple(one.decode() if isinstance(one, bytes) else str(one) for one in np.ravel(found))
    if len(names) != models:
        accepted = f"{models}, one for each model"
        raise WrongInput(f"{path.name}, names", f"{len(names)} names", accepted)
    if len(set(names)) < models:
        raise WrongInput(f"{path.name}, names", ", ".join(names), "each name once")
    return names
