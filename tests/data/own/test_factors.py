"""Factor tables: any discrete values in any format, and a clear line for what is no factor."""

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.own import OwnFiles, columns
from data.own.factors import read as read_factors
from infra.errors import WrongInput
from tests.data.own import samples


@pytest.fixture
def images(tmp_path):
    return samples.write(tmp_path / "images.npy", samples.pictures())


def read(images, factors, count=12):
    return read_factors(OwnFiles(images, str(factors)), count)


def of_columns(tmp_path, **columns):
    """The table of a Parquet file with these columns, which stands beside no images."""
    pq.write_table(pa.table(columns), tmp_path / "factors.parquet")
    rows = len(next(iter(columns.values())))
    return read("unread.npy", tmp_path / "factors.parquet", rows)


@pytest.mark.parametrize("ending", ["npz", "npy", "h5", "parquet", "csv"])
def test_every_format_gives_the_same_table(tmp_path, images, ending):
    samples.write_table(tmp_path / f"factors.{ending}", samples.factors())
    table = read(images, tmp_path / f"factors.{ending}")
    named = [f"factor_{place}" for place in range(2)] if ending == "npy" else list(samples.NAMES)
    assert table.names == named
    assert table.values == [[0, 10, 20], [0, 1]]
    assert table.codes.dtype == np.int64
    assert np.array_equal(table.codes, samples.factors() // [10, 1])


def test_a_table_that_is_given_comes_before_one_beside_the_images(tmp_path):
    beside = samples.write(tmp_path / "own.npz", samples.pictures(), samples.factors())
    np.save(tmp_path / "factors.npy", np.arange(12) % 4)
    table = read(beside, tmp_path / "factors.npy")
    assert table.names == ["factor_0"]
    assert table.values == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("column", "values", "codes"),
    [
        ([3, -1, 3], [-1, 3], [1, 0, 1]),
        ([True, False, True], [0, 1], [1, 0, 1]),
        (["b", "a", "c"], ["a", "b", "c"], [1, 0, 2]),
        (np.array([0.6, 0.5, 0.6]), [0.5, 0.6], [1, 0, 1]),
        (np.array([0.6, 0.5, 0.6], np.float32), [0.5, 0.6], [1, 0, 1]),
        (np.array([2.0, 1.0, 2.0]), [1, 2], [1, 0, 1]),
        ([5, 5, 5], [5], [0, 0, 0]),
        (pa.array(["b", "a", "b"]).dictionary_encode(), ["a", "b"], [1, 0, 1]),
        ([2**60 + 1, 2**60, 2**60 + 1], [2**60, 2**60 + 1], [1, 0, 1]),
    ],
)
def test_values_become_positions_in_sorted_order(tmp_path, column, values, codes):
    table = of_columns(tmp_path, x=column)
    assert table.values == [values]
    assert [type(value) for value in table.values[0]] == [type(value) for value in values]
    assert table.codes[:, 0].tolist() == codes


@pytest.mark.parametrize("words", [["b", "ä", "b"], [b"b", "ä".encode(), b"b"]])
def test_words_in_arrays(tmp_path, words):
    np.save(tmp_path / "factors.npy", np.array(words))
    assert read("unread.npy", tmp_path / "factors.npy", 3).values == [["b", "ä"]]
    with h5py.File(tmp_path / "factors.h5", "w") as file:
        file["factors"] = words
    assert read("unread.npy", tmp_path / "factors.h5", 3).values == [["b", "ä"]]


def test_columns_stored_as_a_transposed_array(tmp_path, images):
    np.savez(tmp_path / "factors.npz", factors=np.asfortranarray(samples.factors()))
    assert np.array_equal(
        read(images, tmp_path / "factors.npz").codes, samples.factors() // [10, 1]
    )


def test_row_labels_of_pandas_are_no_factor(tmp_path, images):
    frame = pd.DataFrame(samples.factors(), columns=samples.NAMES, index=list("abcdefghijkl"))
    frame.to_parquet(tmp_path / "factors.parquet")
    assert read(images, tmp_path / "factors.parquet").names == list(samples.NAMES)
    frame.to_csv(tmp_path / "factors.csv")
    with pytest.raises(WrongInput, match=r"column 0 without a name; .*index=False"):
        read(images, tmp_path / "factors.csv")


@pytest.mark.parametrize("where", ["file attribute", "attribute", "dataset"])
def test_names_in_hdf5(tmp_path, images, where):
    with h5py.File(tmp_path / "factors.h5", "w") as file:
        file["factors"] = samples.factors()
        if where == "dataset":
            file["factor_names"] = ["a", "b"]
        else:
            (file if where == "file attribute" else file["factors"]).attrs["factor_names"] = [
                "a",
                "b",
            ]
    assert read(images, tmp_path / "factors.h5").names == ["a", "b"]


@pytest.mark.parametrize("ending", ["npz", "npy", "h5", "parquet", "csv"])
@pytest.mark.parametrize("rows", [11, 13])
def test_as_many_rows_as_pictures(tmp_path, images, ending, rows):
    samples.write_table(tmp_path / f"factors.{ending}", samples.factors(rows))
    with pytest.raises(WrongInput, match=rf"found (shape \({rows}, 2\)|{rows} rows); .*12"):
        read(images, tmp_path / f"factors.{ending}")


@pytest.mark.parametrize("ending", ["npz", "npy", "h5", "parquet", "csv"])
def test_damaged_tables_are_refused(tmp_path, images, ending):
    file = tmp_path / f"factors.{ending}"
    samples.write_table(file, samples.factors())
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2 + 2])
    with pytest.raises(WrongInput, match=r"data\.factors: found ") as error:
        read(images, file)
    assert "\n" not in str(error.value)


def test_no_table_where_one_is_promised(tmp_path, images):
    with pytest.raises(WrongInput, match=r"data\.factors: found 'f\.txt'; accepted: .*\.csv"):
        read(images, tmp_path / "f.txt")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["labels"] = [1]
    with pytest.raises(WrongInput, match=r"no factors in f\.h5"):
        read(images, tmp_path / "f.h5")
    np.savez(tmp_path / "f.npz", a=[1], b=[2])
    with pytest.raises(WrongInput, match=r"no factors in f\.npz"):
        read(images, tmp_path / "f.npz")


@pytest.mark.parametrize("shape", [(12, 0), (12, 2, 2), (12, 1001), ()])
def test_other_shapes(tmp_path, images, shape):
    np.save(tmp_path / "factors.npy", np.zeros(shape, np.int64))
    with pytest.raises(WrongInput, match=r"found shape \(.*accepted: \(12, factors\)"):
        read(images, tmp_path / "factors.npy")


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], ["a", "a"], ["a", ""]])
def test_names_that_do_not_fit(tmp_path, images, names):
    np.savez(tmp_path / "f.npz", factors=samples.factors(), factor_names=np.array(names))
    with pytest.raises(
        WrongInput, match=r"data\.factors: .*(one name for each|unique names|a name for each)"
    ):
        read(images, tmp_path / "f.npz")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.array([1.5, 2, np.nan, np.nan]), "nan in column x, row 2"),
        (np.array([1, -np.inf, 2, 3]), "-inf in column x, row 1"),
        ([1, None, 3, 4], "nan in column x, row 1"),
        (["a", "b", "c", None], "nothing in column x, row 3"),
        ([True, None, False, True], "nothing in column x, row 1"),
    ],
)
def test_a_missing_value_is_named(tmp_path, column, message):
    with pytest.raises(WrongInput, match=rf"data\.factors: found {message}"):
        of_columns(tmp_path, first=[1, 2, 3, 4], x=column)


def test_a_missing_value_in_text(tmp_path):
    for cells, row in (("1,a\n2,\n", 1), (",a\n2,b\n", 0)):
        (tmp_path / "factors.csv").write_text("x,y\n" + cells)
        with pytest.raises(WrongInput, match=rf"in column ., row {row}"):
            read("unread.npy", tmp_path / "factors.csv", 2)


@pytest.mark.parametrize(
    ("column", "continuous"),
    [
        (np.random.default_rng(0).random(300), True),
        (np.random.default_rng(0).random(300).astype(np.float32), True),
        (np.random.default_rng(0).random(300).round(2), False),  # most values occur twice
        (np.arange(300.0), False),  # numbered frames
        (np.arange(20) + 0.5, False),
        (np.arange(21) + 0.5, True),
    ],
)
def test_a_column_is_guessed_to_be_continuous(tmp_path, column, continuous):
    table = of_columns(tmp_path, first=np.zeros(len(column), int), x=column)
    assert table.continuous == ([1] if continuous else [])
    if continuous:
        np.testing.assert_allclose(table.real()[:, 0], column, rtol=1e-7)


@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_the_file_says_which_factors_are_continuous(tmp_path, ending):
    values = np.column_stack([np.arange(12) % 3, np.random.default_rng(0).random(12)])
    file = tmp_path / f"factors.{ending}"

    def write(*kinds):
        if ending == "npz":
            np.savez(file, factors=values, factor_kinds=np.array(kinds))
        else:
            with h5py.File(file, "w") as opened:
                opened["factors"], opened["factor_kinds"] = values, list(kinds)

    write("continuous", "discrete")
    assert read("unread.npy", file).continuous == [0]
    write("discrete", "continuous")
    np.testing.assert_array_equal(read("unread.npy", file).real()[:, 0], values[:, 1])
    for kinds, message in (
        (("discrete",), "found 1 kinds for 2 factors; accepted: one kind for each factor"),
        (("discrete", "real"), "found 'real'; accepted: continuous or discrete"),
    ):
        write(*kinds)
        with pytest.raises(WrongInput, match=f"factor_kinds: {message}"):
            read("unread.npy", file)


def test_words_are_not_continuous(tmp_path):
    np.savez(tmp_path / "f.npz", factors=np.array(["a", "b"] * 6), factor_kinds=["continuous"])
    with pytest.raises(WrongInput, match="factor_kinds: found continuous for a column of <U1"):
        read("unread.npy", tmp_path / "f.npz")


def test_a_column_of_file_names_is_refused(tmp_path):
    with pytest.raises(WrongInput, match=r"300 different words in column path"):
        of_columns(tmp_path, path=[f"{row}.png" for row in range(300)])


@pytest.mark.parametrize(
    "column", [[[1], [2]], [{"a": 1}, {"a": 2}], np.array([1, 2], "M8[s]"), [b"\xff", b"a"]]
)
def test_other_types(tmp_path, column):
    with pytest.raises(WrongInput, match=r"data\.factors: found ") as error:
        of_columns(tmp_path, x=column)
    assert "\n" not in str(error.value)


def test_records_and_complex_numbers(tmp_path):
    for dtype in ("i4,i4", "complex64"):
        np.save(tmp_path / "factors.npy", np.zeros(3, dtype))
        with pytest.raises(WrongInput, match="in column factor_0; accepted: whole numbers"):
            read("unread.npy", tmp_path / "factors.npy", 3)


def test_a_table_is_read_only_when_its_shape_is_right(tmp_path, monkeypatch, images):
    monkeypatch.setattr(columns.npy.StoredArray, "whole", lambda self: pytest.fail("was read"))
    np.save(tmp_path / "factors.npy", np.zeros((13, 2)))
    with pytest.raises(WrongInput, match="shape"):
        read(images, tmp_path / "factors.npy")


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_the_first_line_shows_what_separates_the_cells(tmp_path, separator):
    rows = ["shape,x", '"a,b;c",0.5', "ü,1.5"]
    (tmp_path / "labels.csv").write_text(
        "\ufeff"
        + "\n".join(rows)
        .replace(",x", f"{separator}x")
        .replace(",0", f"{separator}0")
        .replace("ü,", f"ü{separator}")
        + "\n",
        "utf-8",
    )
    table = read("unread.npy", tmp_path / "labels.csv", 2)
    assert table.names == ["shape", "x"]
    assert table.values == [["a,b;c", "ü"], [0.5, 1.5]]


def test_decimal_commas_beside_semicolons(tmp_path):
    (tmp_path / "labels.csv").write_text("shape;x\na;1,5\nb;-,25\nb;\n")
    with pytest.raises(WrongInput, match="column x, row 2"):
        read("unread.npy", tmp_path / "labels.csv", 3)
    (tmp_path / "labels.csv").write_text("shape;x\na;1,5\nb;-,25\nb;2\n")
    assert read("unread.npy", tmp_path / "labels.csv", 3).values == [["a", "b"], [-0.25, 1.5, 2]]


def test_a_decimal_comma_may_come_after_whole_numbers(tmp_path):
    (tmp_path / "labels.csv").write_text("a;word\n0;x\n2,5;2,5\n12,5;3\n-1e-3;x\n")
    table = read("unread.npy", tmp_path / "labels.csv", 4)
    assert table.values == [[-0.001, 0, 2.5, 12.5], ["2,5", "3", "x"]]


def test_between_commas_a_text_with_a_comma_is_no_number(tmp_path):
    (tmp_path / "labels.csv").write_text('shape,x\na,"1,5"\nb,"1,5"\n')
    assert read("unread.npy", tmp_path / "labels.csv", 2).values == [["a", "b"], ["1,5"]]
