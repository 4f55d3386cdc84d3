"""Which columns of a Parquet or CSV file are codes, which are factors, and which neither."""

import datetime

import numpy as np
import pandas as pd
import pytest

from infra.errors import WrongInput
from tasks.own import read_codes
from tasks.own_columns import INDEX, NOT_NAMED_SO, UPPER_CASE

ROWS = 24
CODES = np.random.default_rng(0).normal(size=(ROWS, 3))
SHAPE, HUE = np.arange(ROWS) % 3, np.arange(ROWS) // 3 % 4
WORDS = np.array(["cube", "ball", "cone"])[SHAPE]
DAYS = [datetime.date(2026, 1, 1 + row % 5) for row in range(ROWS)]


def latents(name):
    return {name.format(place): column for place, column in enumerate(CODES.T)}


def read(path, **columns):
    frame = pd.DataFrame(columns)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return read_codes(path)


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv"])
@pytest.mark.parametrize("name", ["codes_{}", "code_{}", "latent_{}", "latents_{}", "z_{}", "z{}"])
def test_columns_with_a_prefix_are_codes_and_factors(name, ending, tmp_path):
    rows = {"row_id": range(ROWS), "split": SHAPE}
    own = read(
        tmp_path / f"own.{ending}", **rows, factor_shape=SHAPE, **latents(name), factor_hue=HUE
    )
    np.testing.assert_allclose(own.codes, CODES, rtol=1e-12)
    np.testing.assert_array_equal(own.factors, np.column_stack([SHAPE, HUE]))
    assert own.factor_names == ("shape", "hue")
    assert own.left_out == {"row_id": INDEX, "split": NOT_NAMED_SO} and own.gap == ""


def test_spaces_and_the_mark_of_savetxt_belong_to_no_name(tmp_path):
    rows = np.column_stack([CODES, SHAPE, HUE])
    header = "codes_0, codes_1 ,codes_2, factor_shape, factor_hue"
    np.savetxt(tmp_path / "own.csv", rows, delimiter=",", header=header)
    own = read_codes(tmp_path / "own.csv")
    np.testing.assert_allclose(own.codes, CODES, rtol=1e-12)
    assert own.factor_names == ("shape", "hue") and own.left_out == {}


def test_other_columns_change_no_factor(tmp_path):
    sizes = np.array([10, 20, 40, 1000])[HUE]
    own, other = (
        read(tmp_path / f"{place}.csv", **latents("z{}"), factor_size=sizes, factor_shape=shape)
        for place, shape in enumerate((SHAPE, WORDS))
    )
    for each in (own, other):
        np.testing.assert_array_equal(each.factors[:, 0], HUE)
        np.testing.assert_array_equal(each.targets[:, 0], sizes)


def test_latents_are_in_the_order_of_their_numbers(tmp_path):
    columns = {f"z{place}": np.full(ROWS, float(place)) for place in (10, 2, 1, 0)}
    own = read(tmp_path / "own.parquet", **columns, factor_hue=HUE)
    assert own.codes[0].tolist() == [0, 1, 2, 10]


def test_lists_of_codes_and_factors(tmp_path):
    factors = list(np.column_stack([SHAPE, HUE]))
    own = read(tmp_path / "own.parquet", codes=list(CODES), factors=factors, row_id=SHAPE)
    np.testing.assert_array_equal(own.codes, CODES)
    np.testing.assert_array_equal(own.factors, factors)
    assert (own.factor_names, own.left_out) == (None, {"row_id": NOT_NAMED_SO})


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_without_a_prefix_no_column_that_numbers_the_rows_is_a_factor(ending, tmp_path):
    others = {"row_id": range(ROWS), "file": [f"{row}.png" for row in range(ROWS)], "day": DAYS}
    angle = np.random.default_rng(1).uniform(size=ROWS)
    own = read(tmp_path / f"own.{ending}", **others, **latents("z{}"), shape=WORDS, angle=angle)
    assert list(own.left_out) == ["row_id", "file", "day"]
    assert (own.left_out["row_id"], own.left_out["file"]) == (INDEX, "another value in each row")
    assert own.left_out["day"].startswith("neither numbers nor words but ")
    assert own.factor_names == ("shape", "angle") and own.continuous == (1,)
    np.testing.assert_array_equal(own.factors[:, 0], np.array([2, 0, 1])[SHAPE])
    np.testing.assert_array_equal(own.targets[:, 1], angle)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("column", "factor"), [(SHAPE + 1.0, SHAPE), (WORDS, [2, 0, 1] * 8), (SHAPE > 0, SHAPE > 0)]
)
def test_whole_numbers_words_and_truth_values_are_classes(column, factor, ending, tmp_path):
    own = read(tmp_path / f"own.{ending}", **latents("codes_{}"), factor_x=column)
    np.testing.assert_array_equal(own.factors[:, 0] - own.factors.min(), factor)


def test_numbers_that_are_missing_and_names_in_upper_case(tmp_path):
    columns = {f"codes_{place}": CODES[:, 0] for place in (*range(3), *range(4, 10))}
    own = read(tmp_path / "own.parquet", **columns, Codes_3=CODES[:, 1], hue=HUE, Z9=SHAPE)
    assert own.gap == "no codes_3 between codes_0 and codes_9"
    assert own.codes.shape == (ROWS, 9)
    assert own.left_out == {"Codes_3": UPPER_CASE} and own.factor_names == ("hue", "Z9")
    own = read(tmp_path / "a.csv", z_2=HUE, z_50=HUE, factor_hue=HUE, Factor_shape=SHAPE)
    assert own.gap == "no z_3, z_4, z_5, z_6, z_7, ... between z_2 and z_50"
    assert own.left_out == {"Factor_shape": UPPER_CASE} and own.factor_names == ("hue",)


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
@pytest.mark.parametrize("factor", ["hue", "factor_hue"])
def test_a_column_without_a_name_is_an_index(name, factor, tmp_path):
    columns = {name: [*range(12)] * 2, **latents("z{}"), factor: HUE}
    own = read(tmp_path / "own.csv", **columns)
    assert own.left_out == {name: INDEX} and own.factor_names == ("hue",)


def test_a_name_that_two_columns_have_is_refused(tmp_path):
    (tmp_path / "own.csv").write_text("z0,factor_a,factor_a\n" + "1,2,3\n" * 9)
    with pytest.raises(
        WrongInput, match=r"own\.csv, columns: found factor_a twice; accepted: each"
    ):
        read_codes(tmp_path / "own.csv")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x1": HUE, "y": HUE}, r"no codes in own\.parquet \(it holds x1, y\); accepted: an \.npz"),
        ({"z0": HUE, "row_id": range(ROWS)}, r"no factors in own\.parquet \(it holds z0, row_id"),
        ({"codes": HUE}, r"own\.parquet, codes: found a column of int64; accepted: a list of numb"),
        (
            {"codes": [[1.0]] * 23 + [[1.0, 2.0]], "hue": HUE},
            r"codes: found lists of 1, 2 numbers; accepted: a list of the same length in every row",
        ),
        (
            {"z0": HUE, "factor_day": DAYS},
            r"own\.parquet, factors: found datetime64.* in column day; acc",
        ),
        ({"z0": HUE, "shape": ["a", None] * 12}, "factors: found nothing in column shape, row 1"),
        ({"z0": HUE, "factor_x": [0.5] * 23 + [np.inf]}, "x: found inf in row 23; accepted: fini"),
    ],
)
def test_what_is_wrong_is_named(columns, message, tmp_path):
    with pytest.raises(WrongInput, match=message):
        read(tmp_path / "own.parquet", **columns)
