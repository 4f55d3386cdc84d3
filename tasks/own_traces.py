"""Files of the user's own with traces of models in training, read one model at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base import hdf5, npy
from data.base.reading import printable, reading
from infra.errors import WrongInput
from metrics.base.arrays import LARGEST
from tasks import own_arrays
from tasks.own import MODELS_ENDINGS
from tasks.words import plural

Array = NDArray[np.floating[Any]]
Group = str | int | float | bool
BYTES_OF_GROUP = 100  # as a Python object
AXES = ("model", "snapshot", "sample", "unit")
TRACES_FILE = (
    "an .npz, .h5 or .hdf5 file with traces (models, snapshots, samples, units) and groups (models)"
)


@dataclass(frozen=True)
class OwnTraces:
    """A file: its models' activations (models, snapshots, samples, units), which stay there, the
    group of each model, and the layer of each unit if the file names them."""

    path: Path
    shape: tuple[int, int, int, int]
    groups: tuple[Group, ...]
    layers: tuple[str, ...] | None
    doubts: tuple[str, ...]

    def models(self, group: Group, layers: Sequence[str] | None) -> Iterator[Array]:
        """The traces (snapshots, samples, units) of a group's models, of these layers only."""
        units = self.units(layers)
        for of_model, traces in zip(self.groups, _models(self.path), strict=True):
            if of_model == group:
                yield traces[..., units]

    def units(self, layers: Sequence[str] | None) -> slice | NDArray[np.bool_]:
        """Those of these layers; None: all."""
        if layers is None:
            return slice(None)
        named = self.layers or ()
        if absent := [name for name in layers if name not in named]:
            accepted = ", ".join(dict.fromkeys(named)) or "nothing, as the file has no layers"
            found = f"{', '.join(absent)}, not in {printable(self.path.name)}"
            raise WrongInput("--set layers", found, accepted)
        return np.isin(named, layers)


def read_traces(paths: Sequence[Path]) -> list[OwnTraces]:
    """What is in the files, all of which is read once; or a WrongInput that names what is wrong."""
    files = []
    for path in paths:
        own_arrays.check_file(path, MODELS_ENDINGS, TRACES_FILE)
        files.append(_checked(path))
        first, last = files[0], files[-1]
        if last.shape[1:3] != first.shape[1:3]:
            found = "{} snapshots of {} samples".format(*last.shape[1:3])
            accepted = "{} of {}, as in {}".format(*first.shape[1:3], printable(first.path.name))
            raise WrongInput(f"{path.name}, traces", found, accepted)
    models = [group for file in files for group in file.groups]
    name = f"{paths[0].name}, groups" if len(paths) == 1 else "groups"
    for group, count in Counter(models).items():
        if count < 2:
            raise WrongInput(name, f"1 model in group {group}", "2 or more, to compare")
    return files


def _checked(path: Path) -> OwnTraces:
    with reading(own_arrays.FIELD, path.name, TRACES_FILE):
        shape, kind, present = _header(path)
    own_arrays.check_present(path, "traces", "traces" in present, present, TRACES_FILE)
    field = f"{path.name}, traces"
    if len(shape) != len(AXES) or 0 in shape:
        accepted = f"({', '.join(axis + 's' for axis in AXES)}), none of them 0"
        raise WrongInput(field, f"shape {shape}", accepted)
    if kind.kind not in "fiub":
        raise WrongInput(field, str(kind), "real numbers")
    models, snapshots, samples, units = shape
    if snapshots < 2:
        raise WrongInput(field, f"{snapshots} snapshot", "2 or more of each model")
    of_model = max(kind.itemsize, 4) * snapshots * samples * units
    names = ("groups", "layers")
    with own_arrays.in_memory(path, names, TRACES_FILE, of_model + BYTES_OF_GROUP * models):
        return _read(path, shape, field)


def _read(path: Path, shape: tuple[int, ...], field: str) -> OwnTraces:
    """The file, whose traces have this shape: groups and layers, and a look at each model."""
    models, snapshots, samples, units = shape
    arrays = own_arrays.read(path, ("groups", "layers"), ("groups",), TRACES_FILE)
    groups = _groups(path, arrays["groups"], models)
    layers = None
    if "layers" in arrays:
        if (count := np.size(arrays["layers"])) != units:
            accepted = f"{units}, one for each unit"
            raise WrongInput(f"{path.name}, layers", plural(count, "name"), accepted)
        layers = tuple(str(_plain(name)) for name in np.ravel(arrays["layers"]).tolist())
    doubts = []
    for model, traces in enumerate(_models(path)):
        _check_finite(field, traces, model)
        if (traces[-1] == traces[-1, :1]).all():
            doubts.append(
                f"model {model}: all samples have the same activations at its last snapshot, and "
                "models that tell no samples apart look stable"
            )
    return OwnTraces(path, (models, snapshots, samples, units), groups, layers, tuple(doubts))


def _check_finite(field: str, traces: Array, model: int) -> None:
    if not float(np.maximum(traces.max(), -traces.min())) < LARGEST:  # nan stays nan
        place = np.argwhere(~(np.abs(traces) < np.float64(LARGEST)))[0].tolist()
        where = ", ".join(
            f"{axis} {index}" for axis, index in zip(AXES, (model, *place), strict=True)
        )
        accepted = f"finite numbers below {LARGEST:g} in size"
        raise WrongInput(field, f"{traces[tuple(place)]} in {where}", accepted)


def _groups(path: Path, array: Any, models: int) -> tuple[Group, ...]:
    field = f"{path.name}, groups"
    if np.shape(array) != (models,):
        accepted = f"({models},), the group of each model"
        raise WrongInput(field, f"shape {np.shape(array)}", accepted)
    groups = tuple(_plain(group) for group in np.ravel(array).tolist())
    for group in groups:
        if not isinstance(group, Group) or group != group:
            raise WrongInput(field, group, "names or numbers")
    return groups


def _plain(name: Any) -> Any:
    """HDF5 has texts as bytes."""
    return name.decode(errors="replace") if isinstance(name, bytes) else name


def _header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any], list[str]]:
    """The shape and the kind of the traces, without any of them; and what the file holds."""
    if path.suffix.lower() == ".npz":
        present = npy.arrays(path)
        if "traces" not in present:
            return (), np.dtype(float), present
        array: Any = npy.stored(path, "traces")
        return array.shape, array.dtype, present
    with hdf5.opened(path) as file:
        array, present = hdf5.stored(file, "traces"), hdf5.names(file)
        if array is None:
            return (), np.dtype(float), [name for name in present if name != "traces"]
        return array.shape, array.dtype, present


def _models(path: Path) -> Iterator[Array]:
    """The traces of one model after the other, as float32 or float64."""
    with reading(own_arrays.FIELD, path.name, TRACES_FILE):
        if path.suffix.lower() == ".npz":
            for block in npy.stored(path, "traces").blocks(1):
                yield _floats(block[0])
        else:
            with hdf5.opened(path) as file:
                array = hdf5.stored(file, "traces")
                for model in range(len(array)):
                    yield _floats(array[model])


def _floats(traces: NDArray[Any]) -> Array:
    """Half precision and small integers fit into float32."""
    return traces.astype(np.result_type(traces.dtype, np.float32))
