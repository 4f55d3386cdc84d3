"""How much memory comparing the dynamics of a cell takes, from the headers of its traces."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence

from numpy.lib import format as npy_format

from infra.store import Store
from metrics.dynamics import Settings, memory_bytes
from tasks.study.dynamics import TRACES, with_traces
from tasks.study.model import Model

PER_GIB = 8  # memory is asked for in eighths, so that few kinds of calls differ


def memory_gib(store: Store, settings: Settings, models: Sequence[Model]) -> float:
    """About, rounded up; 0 if fewer than two models have traces, as nothing is compared then."""
    present = with_traces(store, models)
    shape = first_shape(store, present)
    if shape is None or len(present) < 2:
        return 0.0
    needed = memory_bytes(len(present), shape, settings) / 2**30
    return math.ceil(PER_GIB * needed) / PER_GIB


def first_shape(store: Store, models: Sequence[Model]) -> tuple[int, int, int] | None:
    """Snapshots, samples and units of the first model whose traces have a header."""
    shapes = (_shape(store, model) for model in models)
    return next((shape for shape in shapes if shape is not None), None)


def _shape(store: Store, model: Model) -> tuple[int, int, int] | None:
    try:
        path = store.path("models", model.id, TRACES)
        with (
            store.fs.open_input_file(path) as file,
            zipfile.ZipFile(file) as archive,
            archive.open("traces.npy") as member,
        ):
            if npy_format.read_magic(member) != (1, 0):
                return None
            shape, _, _ = npy_format.read_array_header_1_0(member)
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile):
        return None
    return shape if len(shape) == 3 else None
