"""A user's codes and factors are read in any format; wrong input is refused in one line."""

import os

import h5py
import numpy as np
import pandas as pd
import pytest

from infra.errors import WrongInput
from tasks import own_arrays
from tasks.own import read_codes, read_models

CODES = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
FACTORS = np.random.default_rng(1).integers(0, 3, size=(30, 2))
NAMES = ("shape", "hue")
MODELS = np.stack([CODES, CODES])


def as_npz(path):
    np.savez(path, codes=CODES, factors=FACTORS, factor_names=NAMES)


def as_hdf5(path):
    with h5py.File(path, "w") as file:
        file["codes"], file["factors"] = CODES, FACTORS
        file["factor_names"] = [name.encode() for name in NAMES]


def as_columns(path):
    table = pd.DataFrame(CODES, columns=[f"codes_{i}" for i in range(4)])
    table[list(NAMES)] = FACTORS
    table[["codes_3", "shape", "codes_0", "codes_2", "hue", "codes_1"]].to_parquet(path)


def as_csv(path):
    table = pd.DataFrame(CODES, columns=[f"codes_{i}" for i in range(4)])
    table[list(NAMES)] = FACTORS
    table.to_csv(path, index=False)


def as_lists(path):
    table = pd.DataFrame({"codes": list(CODES)})
    table[list(NAMES)] = FACTORS
    table.to_parquet(path)


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        ("npz", as_npz),
        ("h5", as_hdf5),
        ("parquet", as_columns),
        ("parquet", as_lists),
        ("csv", as_csv),
    ],
)
def test_every_format_gives_the_same(ending, write, tmp_path):
    write(tmp_path / f"own.{ending}")
    own = read_codes(tmp_path / f"own.{ending}")
    np.testing.assert_array_equal(own.codes.astype(np.float32), CODES)
    np.testing.assert_array_equal(own.factors, FACTORS)
    assert own.factors.dtype == np.int64 and own.factor_names == NAMES


def test_names_may_be_missing(tmp_path):
    np.savez(tmp_path / "own.npz", codes=CODES, factors=FACTORS)
    assert read_codes(tmp_path / "own.npz").factor_names is None


ANGLES = np.random.default_rng(2).uniform(0, 360, size=30)
MIXED = np.column_stack([FACTORS[:, 0], ANGLES, FACTORS[:, 1] / 2])


@pytest.mark.parametrize("ending", ["npz", "h5", "parquet"])
def test_real_numbers_are_continuous_factors(ending, tmp_path):
    path, names = tmp_path / f"own.{ending}", ("shape", "angle", "size")
    if ending == "npz":
        np.savez(path, codes=CODES, factors=MIXED, factor_names=names)
    elif ending == "h5":
        with h5py.File(path, "w") as file:
            file["codes"], file["factors"], file.attrs["factor_names"] = CODES, MIXED, names
    else:
        columns = {"shape": FACTORS[:, 0], "angle": ANGLES, "size": FACTORS[:, 1] / 2}
        pd.DataFrame({"codes": list(CODES), **columns}).to_parquet(path)
    own = read_codes(path, bins=4)
    assert (own.continuous, own.guessed, own.name(1)) == ((1,), True, "angle")
    np.testing.assert_array_equal(own.targets, MIXED)
    np.testing.assert_array_equal(own.factors[:, [0, 2]], FACTORS)
    width = np.ptp(ANGLES) / 4
    expected = np.minimum((ANGLES - ANGLES.min()) // width, 3)
    np.testing.assert_array_equal(own.factors[:, 1], expected)


@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_the_file_says_which_factors_are_continuous(ending, tmp_path):
    path, kinds = tmp_path / f"own.{ending}", ("continuous", "discrete")
    if ending == "npz":
        np.savez(path, codes=CODES, factors=FACTORS, factor_kinds=kinds)
    else:
        with h5py.File(path, "w") as file:
            file["codes"], file["factors"], file.attrs["factor_kinds"] = CODES, FACTORS, kinds
    own = read_codes(path)
    assert (own.continuous, own.guessed) == ((0,), False)
    np.testing.assert_array_equal(own.targets, FACTORS)
    np.testing.assert_array_equal(own.factors[:, 0], np.array([0, 5, 9])[FACTORS[:, 0]])


@pytest.mark.parametrize("kind", [float, str, bytes, bool])
@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_whole_numbers_words_and_truth_values_are_classes(ending, kind, tmp_path):
    factors, path = FACTORS.astype(kind), tmp_path / f"own.{ending}"
    if ending == "npz":
        np.savez(path, codes=CODES, factors=factors)
    else:
        with h5py.File(path, "w") as file:
            file["codes"] = CODES
            file["factors"] = factors.astype(bytes) if kind is str else factors
    own = read_codes(path)
    np.testing.assert_array_equal(own.factors, FACTORS > 0 if kind is bool else FACTORS)
    assert own.factors.dtype == np.int64 and own.continuous == ()


@pytest.mark.parametrize("kind", [int, str, float])
def test_an_array_without_columns_is_one_factor(kind, tmp_path):
    np.savez(tmp_path / "own.npz", codes=CODES, factors=FACTORS[:, 0].astype(kind))
    np.testing.assert_array_equal(read_codes(tmp_path / "own.npz").factors, FACTORS[:, :1])


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def wrong(**changes):
    arrays = {"codes": CODES, "factors": FACTORS, **changes}
    return {name: array for name, array in arrays.items() if array is not None}


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (wrong(codes=None), ["no codes", "with codes and factors"]),
        (wrong(factors=None), ["no factors"]),
        (wrong(factors=FACTORS[:-1]), ["29 rows of factors", "30, as codes has"]),
        (
            {"z": CODES, "y": FACTORS},
            ["no codes in own.npz (it holds z, y); accepted: an .npz", "with codes and factors"],
        ),
        (wrong(factors=FACTORS.astype("M8[s]")), ["factors", "datetime64[s]", "real numbers"]),
        (wrong(factors=FACTORS[:, :, None]), ["factors", "shape (30, 2, 1)"]),
        (wrong(codes=CODES.T), ["30 rows of fac", "codes of shape (4, 30) may be transposed"]),
        (wrong(factors=FACTORS.T), ["2 rows of fac", "shape (2, 30) may be transposed"]),
        (wrong(factor_names=["a", "a"]), ["factor_names", "a, a", "each name once"]),
        (wrong(factors=np.where(FACTORS == 1, np.nan, FACTORS)), ["factors", "nan in row"]),
        (wrong(factor_kinds=["continuous"]), ["1 name", "2, one for each"]),
        (wrong(factor_kinds=["real", "discrete"]), ["factor_kinds", "'real'", "continuous or"]),
        (
            wrong(codes=np.where(CODES[7, 2] == CODES, np.nan, CODES)),
            ["nan in row 7, column 2"],
        ),
        (wrong(codes=CODES[:, 0]), ["codes", "shape (30,)"]),
        (wrong(factor_names=["a"]), ["1 name", "2, one for each"]),
    ],
)
def test_what_is_wrong_is_named_on_one_line(arrays, words, tmp_path):
    np.savez(tmp_path / "own.npz", **arrays)
    with pytest.raises(WrongInput) as error:
        read_codes(tmp_path / "own.npz")
    assert all(word in str(error.value) for word in ["own.npz", *words]), str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "FILE: found no codes in own.npz; accepted: an .npz, .h5 or .hdf5 file with codes"),
        ({"codes": CODES}, r"own.npz, codes: found shape \(30, 4\); accepted: \(models, rows, lat"),
        ({"codes": MODELS[:1]}, "own.npz, codes: found 1 model; accepted: 2 or more"),
        ({"codes": MODELS[:, :1]}, "own.npz, codes: found 1 row; accepted: 2 or more points"),
        ({"codes": MODELS, "kl": [["a"]]}, "own.npz, kl: found '<U1'; accepted: real numbers"),
        ({"codes": MODELS, "names": ["a"]}, "own.npz, names: found 1 name; accepted: 2, one for"),
        ({"codes": MODELS, "names": ["a", "a"]}, "own.npz, names: found a, a; accepted: each name"),
    ],
)
def test_what_is_wrong_with_models_is_named_too(arrays, message, tmp_path):
    np.savez(tmp_path / "own.npz", **arrays)
    with pytest.raises(WrongInput, match=message):
        read_models(tmp_path / "own.npz")


def test_no_code_in_a_file_is_run(tmp_path):
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    np.savez(tmp_path / "own.npz", codes=trap, factors=FACTORS)
    with pytest.raises(WrongInput, match=r"own\.npz"):
        read_codes(tmp_path / "own.npz")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["own.npz", "own.h5", "own.parquet"])
def test_damaged_and_missing_files_are_named(name, tmp_path):
    with pytest.raises(WrongInput, match=f"FILE.*: there is no {name} in {tmp_path}; accepted"):
        read_codes(tmp_path / name)
    (tmp_path / name).write_bytes(b"neither one nor the other")
    with pytest.raises(WrongInput, match=name):
        read_codes(tmp_path / name)


def test_what_is_no_file_is_named_and_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "link.npz").symlink_to("gone.npz")
    for name, what in (
        ("pipe.npz", "a pipe"),
        ("folder.npz", "a folder"),
        ("link.npz", "a link to gone.npz, where nothing is"),
    ):
        for read in (read_codes, read_models):
            with pytest.raises(WrongInput, match=f"{name}, which is no file but {what}; accepted"):
                read(tmp_path / name)


@pytest.mark.parametrize("ending", ["npz", "h5", "parquet", "csv"])
def test_a_file_larger_than_memory_is_refused_before_it_is_read(ending, tmp_path, monkeypatch):
    path = tmp_path / f"own.{ending}"
    {"npz": as_npz, "h5": as_hdf5, "parquet": as_columns, "csv": as_csv}[ending](path)
    monkeypatch.setattr(own_arrays, "free_memory_bytes", lambda: 300.0)
    for reader in ("own_arrays.read", "own_columns.read"):
        monkeypatch.setattr(f"tasks.{reader}", lambda *_: pytest.fail("it was read"))
    with pytest.raises(
        WrongInput, match=r"arrays take \d+ k?B; accepted: .* room 2 times in the 300 B of memory"
    ):
        read_codes(path)


def test_arrays_need_room_twice(tmp_path, monkeypatch):
    as_npz(tmp_path / "own.npz")
    with np.load(tmp_path / "own.npz") as arrays:
        size = sum(array.nbytes for array in arrays.values())
    monkeypatch.setattr(own_arrays, "free_memory_bytes", lambda: 2 * size - 1)
    with pytest.raises(WrongInput, match="room 2 times"):
        read_codes(tmp_path / "own.npz")
    monkeypatch.setattr(own_arrays, "free_memory_bytes", lambda: 2 * size)
    assert len(read_codes(tmp_path / "own.npz").codes) == len(CODES)


def test_memory_that_runs_out_while_a_file_is_read_is_one_line(tmp_path, monkeypatch):
    def no_room(self):
        raise MemoryError("Unable to allocate output buffer.")

    as_npz(tmp_path / "own.npz")
    np.savez(tmp_path / "models.npz", codes=MODELS)
    monkeypatch.setattr("data.base.npy.StoredArray.whole", no_room)
    for read, name, size in ((read_codes, "own.npz", "1 kB"), (read_models, "models.npz", "960 B")):
        with pytest.raises(WrongInput, match=f"{name}, whose arrays take {size}; accepted: ") as e:
            read(tmp_path / name)
        assert "\n" not in str(e.value)


FURTHER = {
    "validation_codes": CODES[:7] + 1,
    "validation_factors": FACTORS[:7],
    "zero_shot_codes": CODES[:5] - 1,
    "zero_shot_factors": FACTORS[:5],
}


@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_further_rows_are_read(ending, tmp_path):
    path = tmp_path / f"own.{ending}"
    arrays = {"codes": CODES, "factors": FACTORS} | FURTHER
    if ending == "npz":
        np.savez(path, **arrays)
    else:
        with h5py.File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array
    own = read_codes(path)
    np.testing.assert_array_equal(own.codes, CODES)
    for rows, name in ((own.validation, "validation"), (own.zero_shot, "zero_shot")):
        np.testing.assert_array_equal(rows[0], FURTHER[f"{name}_codes"])
        np.testing.assert_array_equal(rows[1], FURTHER[f"{name}_factors"])
    np.savez(tmp_path / "one.npz", codes=CODES, factors=FACTORS[:, 0], **one_factor("validation"))
    own = read_codes(tmp_path / "one.npz")
    assert own.validation[1].shape == (7, 1) and own.zero_shot is None


def one_factor(split):
    return {f"{split}_codes": CODES[:7], f"{split}_factors": FACTORS[:7, 0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"validation_factors": None},
            "own.npz, validation_factors: found only validation_codes; accepted: both or neither",
        ),
        ({"zero_shot_codes": None}, "zero_shot_codes: found only zero_shot_factors"),
        ({"zero_shot_codes": CODES[:5, :3]}, r"own.npz, zero_shot_codes: found 3 columns; .*: 4"),
        ({"validation_factors": FACTORS[:6]}, "validation_factors: found 6 rows; accepted: 7"),
        ({"validation_factors": FACTORS[:7, :1]}, "validation_factors: found 1 columns"),
        ({"validation_factors": FACTORS[:7].astype(str)}, "found '<U21'; accepted: real numbers"),
        (
            {"factors": FACTORS.astype(str)},
            "own.npz, factors: found columns of words; accepted: numbers, if",
        ),
    ],
)
def test_what_is_wrong_with_further_rows_is_named(change, message, tmp_path):
    arrays = {"codes": CODES, "factors": FACTORS} | FURTHER | change
    path = tmp_path / "own.npz"
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(WrongInput, match=message) as caught:
        read_codes(path)
    assert "\n" not in str(caught.value)
