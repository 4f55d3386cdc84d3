"""Files that `tolstoy score` reads: .npz, HDF5, Parquet and CSV."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from metrics import METRICS
from tasks import own_arrays
from tasks.own import OwnCodes, naming_file, read_codes
from tasks.score_codes import score_of, split_inputs
from tests.fuzz import own_files
from tests.fuzz.cases import IN_TWO_SIZES, accepted, of_each, only_in, run
from tests.fuzz.mutations import edited, edits

FREE = 200_000_000  # bytes of memory that are said to be free
QUICK = ("mig", "modularity", "dcimig", "jemmig", "sap")
FORMATS = [".npz", ".h5", ".parquet", ".csv"]
SOUND: own_files.Arrays = {
    "codes": np.random.default_rng(0).normal(size=(30, 3)),
    "factors": np.random.default_rng(1).integers(0, 3, (30, 2)),
    "factor_names": np.array(["shape", "hue"]),
}


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_arrays, "free_memory_bytes", lambda: float(FREE))


def check(path: Path) -> OwnCodes | None:
    """Codes and factors that are accepted are finite, of equal length, and can be scored."""
    with only_in(path.parent), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        own = accepted(lambda: read_codes(path))
        if own is None:
            return None
        assert np.isfinite(own.codes).all() and len(own.codes) == len(own.factors)
        assert own.factors.dtype == np.int64 and own.factors.ndim == 2
        inputs = accepted(lambda: _inputs(path, own))
        if inputs is not None and own.codes.size < 200:
            for name in QUICK:
                result = score_of(inputs, name, seed=0)
                low, high = METRICS[name].bounds
                value = result.scores[0].value
                assert result.reason or low - 1e-9 <= value <= high + 1e-9, (name, value)
        return own


def _inputs(path: Path, own: OwnCodes) -> Any:
    with naming_file(path):
        return split_inputs(own, QUICK, seed=0)


@of_each(FORMATS)
def test_hostile_arrays(cases: int, endings: Sequence[str], tmp_path: Path) -> None:
    def one(ending: str, content: own_files.Arrays) -> None:
        path = tmp_path / f"own{ending}"
        if own_files.write(path, content):
            check(path)

    run(cases, one, ending=st.sampled_from(endings), content=own_files.codes_and_factors())


@of_each(FORMATS)
def test_files_with_faults(cases: int, endings: Sequence[str], tmp_path: Path) -> None:
    paths = [tmp_path / f"own{ending}" for ending in endings]
    for path in paths:
        own_files.write(path, SOUND)
    contents = {path: path.read_bytes() for path in paths}

    def one(path: Path, changes: Any) -> None:
        path.write_bytes(edited(contents[path], changes))
        check(path)

    run(cases, one, path=st.sampled_from(paths), changes=edits())


@IN_TWO_SIZES
def test_headers_that_lie(cases: int, tmp_path: Path) -> None:
    """Of .npz files: what an array claims to be, and how it is packed."""
    path = tmp_path / "own.npz"

    def one(codes: str, factors: str, content: bytes, method: int) -> None:
        members = {"codes.npy": codes, "factors.npy": factors}
        packed = {name: own_files.npy_bytes(header, content) for name, header in members.items()}
        path.write_bytes(own_files.npz_bytes(packed, method))
        check(path)

    run(
        cases,
        one,
        codes=own_files.headers(),
        factors=own_files.headers(),
        content=st.one_of(st.binary(max_size=200), st.just(bytes(192))),
        method=st.sampled_from([0, 8, 12, 14]),
    )
