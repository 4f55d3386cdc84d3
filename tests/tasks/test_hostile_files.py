"""Faults that tests with random files (tests/fuzz) have found: small files that asked for memory
without a limit, and names that are no text. Each ends in one line, or is read as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infra.errors import WrongInput
from infra.peak_memory import peak_megabytes, reset_peak
from tasks import own_arrays
from tasks.own import read_codes, read_models
from tasks.own_traces import read_traces

ROWS = 20_000
FREE = 100_000_000  # bytes of memory that are said to be free


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_arrays, "free_memory_bytes", lambda: float(FREE))


def grown(start: float | None) -> float:
    """By how many megabytes memory has grown at its peak; 0 where nobody counts it."""
    return (peak_megabytes() or 0) - (start or 0)


def write_repeated(path: Path, name: str, word: str | bytes, **others: Any) -> None:
    """One word in all rows, which the file has once."""
    places = pa.array(np.zeros(ROWS, np.int32))
    column = pa.DictionaryArray.from_arrays(places, pa.array([word]))
    table = pa.table({name: column, **others})
    pq.write_table(table, path, compression="zstd", store_schema=False)


def test_a_long_word_in_every_row_is_read_once(tmp_path: Path) -> None:
    """It was 20 GB of a file of 60 kB, and four times that as an array of numpy."""
    path = tmp_path / "own.parquet"
    write_repeated(path, "factor_a", "x" * 1_000_000, codes_0=np.arange(float(ROWS)))
    reset_peak()
    start = peak_megabytes()
    own = read_codes(path)
    assert own.factor_names == ("a",) and not own.factors.any() and len(own.codes) == ROWS
    assert grown(start) < 300


def test_a_list_of_any_length_is_counted_before_it_is_read(tmp_path: Path) -> None:
    path, many = tmp_path / "own.parquet", 20_000_000
    rows = pa.ListArray.from_arrays(pa.array([0, many], pa.int32()), np.zeros(many, np.int8))
    pq.write_table(pa.table({"codes": rows, "factor_a": [1]}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(WrongInput, match="whose arrays take 160 MB"):
        read_codes(path)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tens_of_thousands_of_columns_are_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"own.{ending}"
    names = [f"codes_{i}" for i in range(10_001)]
    if ending == "csv":
        path.write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    else:
        pq.write_table(pa.table({name: [1.0] for name in names}), path)
    with pytest.raises(WrongInput, match=r"own\.\w+, columns: found 10,001 columns"):
        read_codes(path)


def test_names_are_counted_before_each_becomes_an_object(tmp_path: Path) -> None:
    path = tmp_path / "own.npz"
    content = {"codes": np.ones((3, 2)), "factors": np.ones((3, 1), int)}
    np.savez_compressed(path, factor_names=np.zeros(40_000_000, "S1"), **content)
    reset_peak()
    start = peak_megabytes()
    with pytest.raises(WrongInput, match="factor_names: found 40,000,000 names"):
        read_codes(path)
    assert grown(start) < 300


def test_one_models_traces_must_fit_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "own.npz"
    traces = np.zeros((2, 2, 100, 200_000), np.int8)
    np.savez_compressed(path, traces=traces, groups=np.zeros(2, int))
    with pytest.raises(WrongInput, match=r"own\.npz, whose arrays take 160 MB"):
        read_traces([path])


def test_words_and_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    table, wrong = tmp_path / "own.csv", tmp_path / "own.npz"
    table.write_bytes(b"codes_0,factor_a\n1,\xff\xfe\n2,b\n3,b\n")
    with pytest.raises(WrongInput, match=r"own\.csv, factors: found .*words in UTF-8"):
        read_codes(table)
    np.savez(wrong, codes=np.ones((2, 3, 2)), names=np.array([b"\xff", b"b"]))
    with pytest.raises(WrongInput, match=r"own\.npz, names: found .*words in UTF-8"):
        read_models(wrong)


def test_an_hdf5_file_may_have_names_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "own.h5"
    with h5py.File(path, "w") as file:
        file[b"\xff\xfe"] = 1
    with pytest.raises(WrongInput, match=r"no codes in own\.h5"):
        read_models(path)
    with pytest.raises(WrongInput, match=r"no traces in own\.h5"):
        read_traces([path])


@pytest.mark.parametrize("name", ["a" * 300 + ".npz", "a\0.npz"])
def test_a_name_that_no_file_can_have(name: str) -> None:
    for read in (read_codes, read_models):
        with pytest.raises(WrongInput, match="FILE: found"):
            read(Path(name))
