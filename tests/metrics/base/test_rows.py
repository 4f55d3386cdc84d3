import numpy as np
import pytest

from metrics.base.rows import table_groups, table_interventions, table_pairs, table_variations

CODES = np.arange(12.0).reshape(6, 2)
FACTORS = np.arange(6).reshape(6, 1)


def table(rows=400):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [2, 7, 30], size=(rows, 3)) * 5 - 3
    return np.arange(rows * 2.0).reshape(rows, 2), factors


def rows_of(groups):
    """The table's rows that groups hold, as table() numbers its codes by row."""
    assert (groups.codes[..., 0] + 1 == groups.codes[..., 1]).all()
    return (groups.codes[..., 0] / 2).astype(int)


def test_groups_are_rows_that_share_the_factor_named():
    codes, factors = table()
    groups = table_groups(codes, factors, 300, 16, np.random.default_rng(1))
    assert groups.codes.shape == (300, 16, 2)
    drawn = factors[rows_of(groups)]  # (groups, size, factors)
    shared = (drawn == drawn[:, :1]).all(axis=1)
    assert shared[np.arange(300), groups.factor].all()
    assert shared.mean() < 0.5  # the other factors vary


def test_factors_values_and_rows_are_drawn_as_often_as_they_should():
    codes, factors = table(60)
    factors[:, 0] = np.arange(60) < 6  # a value of one row in ten
    groups = table_groups(codes, factors, 6000, 8, np.random.default_rng(1))
    np.testing.assert_allclose(np.bincount(groups.factor) / 6000, 1 / 3, atol=0.03)
    first = rows_of(groups)[groups.factor == 0]
    assert (first[:, 0] < 6).mean() == pytest.approx(0.1, abs=0.03)
    # within a value, all of its rows, equally often and independently of each other
    rare = first[first[:, 0] < 6]
    np.testing.assert_allclose(np.bincount(rare.ravel()) / rare.size, 1 / 6, atol=0.04)
    assert (rare[:, 0] == rare[:, 1]).mean() == pytest.approx(1 / 6, abs=0.08)


def test_a_value_of_one_row_gives_equal_points():
    groups = table_groups(CODES, FACTORS, 20, 4, np.random.default_rng(0))
    assert (groups.codes == groups.codes[:, :1]).all()
    assert len(np.unique(groups.codes[:, 0, 0])) > 1


def test_groups_depend_on_the_stream_alone():
    codes, factors = table()
    draws = [table_groups(codes, factors, 50, 4, np.random.default_rng(s)) for s in (1, 1, 2)]
    np.testing.assert_array_equal(draws[0].codes, draws[1].codes)
    np.testing.assert_array_equal(draws[0].factor, draws[1].factor)
    assert (draws[0].codes != draws[2].codes).any()


def row_numbers(factors: np.ndarray) -> np.ndarray:
    """Codes that tell which row was drawn."""
    return np.arange(len(factors), dtype=float)[:, None]


def test_pairs_share_the_value_that_their_set_fixes_and_no_other_more_than_by_chance():
    factors = np.random.default_rng(0).integers(0, (2, 3, 5), size=(300, 3))
    codes = row_numbers(factors)
    pairs = table_pairs(codes, factors, 400, 7, np.random.default_rng(1))
    first, second = (factors[side[..., 0].astype(int)] for side in (pairs.first, pairs.second))
    assert first.shape == (400, 7, 3)
    same = (first == second).mean(axis=1)
    for factor, size in enumerate((2, 3, 5)):
        assert (same[pairs.factor == factor, factor] == 1).all()
        assert same[pairs.factor != factor, factor].mean() == pytest.approx(1 / size, abs=0.05)
    assert np.bincount(pairs.factor).min() > 100
    assert len(np.unique(first[0], axis=0)) > 1, "the value differs from pair to pair"


def test_in_variations_only_one_factor_varies():
    factors = np.stack(np.meshgrid([0, 1], [0, 1, 2], range(5)), axis=-1).reshape(-1, 3)
    factors = np.concatenate([factors, [[9, 9, 9]]])  # shares its values with nobody: not drawn
    codes = row_numbers(factors)
    groups = table_variations(codes, factors, 500, 6, np.random.default_rng(1))
    rows = factors[groups.codes[..., 0].astype(int)]
    for fixed in range(3):
        others = rows[groups.factor != fixed][:, :, fixed]
        assert (others == others[:, :1]).all()
        varied = rows[groups.factor == fixed][:, :, fixed]
        values = np.unique(varied, return_counts=True)[1]
        assert len(values) == (2, 3, 5)[fixed] and values.min() > 0.7 * values.mean()
    assert rows.max() < 9


def test_a_factor_that_never_varies_alone_is_named():
    factors = np.array([[0, 0, 5], [1, 1, 5], [2, 1, 5]])
    with pytest.raises(ValueError, match="no two rows differ in factor 1 alone"):
        table_variations(row_numbers(factors), factors, 50, 3, np.random.default_rng(0))
    constant = table_variations(
        row_numbers(factors), factors[:, [0, 2]], 50, 3, np.random.default_rng(0)
    )
    equal = (constant.codes == constant.codes[:, :1]).all(axis=(1, 2))
    assert equal[constant.factor == 1].all(), "there is nothing to vary in a factor of one value"


def rows_under_each_value(factors, points=300, seed=1):
    """For every factor, which rows were drawn: (values, points)."""
    drawn = table_interventions(row_numbers(factors), factors, points, np.random.default_rng(seed))
    assert len(drawn) == factors.shape[1]
    return [codes[..., 0].astype(int) for codes in drawn]


def test_interventions_set_one_factor_to_each_value_of_the_same_points():
    grid = np.stack(np.meshgrid([8, -1], [0, 1, 2], range(5)), axis=-1).reshape(-1, 3)
    factors = np.random.default_rng(0).permutation(np.repeat(grid, 3, axis=0))
    for column, rows in enumerate(rows_under_each_value(factors, 900)):
        shown = factors[rows]  # (values, points, factors)
        values = np.unique(factors[:, column])
        assert shown.shape == (len(values), 900, 3)
        assert (shown[..., column] == values[:, None]).all()
        kept = np.delete(shown, column, axis=2)
        assert (kept == kept[:1]).all()
        # every point as often as any other, and every row that shows it
        assert np.bincount(rows.ravel(), minlength=90).min() > 0
        points = np.unique(kept[0], axis=0, return_counts=True)[1]
        assert len(points) == 30 // len(values) and points.min() > 0.6 * points.mean()


def test_points_are_as_frequent_as_their_rows():
    factors = np.repeat([[0, 0], [1, 0], [0, 1], [1, 1]], [7, 1, 1, 1], axis=0)
    rows = rows_under_each_value(factors, 4000)[0]
    assert (factors[rows[0], 1] == 0).mean() == pytest.approx(0.8, abs=0.03)


def test_points_are_drawn_where_every_value_can_be_had():
    # Factor 0 has three values with 5 beside them, two with 6, one with 7.
    factors = np.array([[0, 5], [1, 5], [2, 5], [0, 6], [1, 6], [1, 7], [2, 8]])
    with pytest.raises(ValueError, match="each of the 4 values of factor 1, one that differs in"):
        rows_under_each_value(factors)
    factors = np.concatenate([factors, [[2, 6], [2, 7]]])
    rows = rows_under_each_value(factors)
    assert set(factors[rows[0], 1].ravel()) == {5, 6}
    assert set(factors[rows[1], 0].ravel()) == {2}
    assert factors[rows[0][:, 0], 0].tolist() == [0, 1, 2]


def test_a_factor_with_one_value_and_a_single_factor_can_be_set():
    one_value = rows_under_each_value(np.array([[3, 0], [3, 1]]))
    assert one_value[0].shape == (1, 300) and set(one_value[0].ravel()) == {0, 1}
    (alone,) = rows_under_each_value(np.array([[4], [2], [4]]), 50)
    assert set(alone[0]) == {1} and set(alone[1]) == {0, 2}
    same, other = (rows_under_each_value(np.array([[4], [2], [4]]), 50, seed) for seed in (1, 2))
    assert (same[0] == alone).all() and (other[0] != alone).any()
