"""Drawing from a table: as frequent as there, and only pictures that have what was asked for."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from data.base import table as of_table
from data.base.table import CombinationNumbers, PlacesByNumber, Table, column_runs
from infra.errors import WrongInput

STREAM = np.random.default_rng


def table(factors: np.ndarray, sizes: tuple[int, ...] | None = None) -> Table:
    """Row r's picture is r // 256 in its first pixel and r % 256 in its second."""
    factors = np.asarray(factors, np.int64)
    rows = np.arange(len(factors))
    pixels = np.zeros((len(rows), 1, 64, 64), np.uint8)
    pixels[:, 0, 0, 0], pixels[:, 0, 0, 1] = rows // 256, rows % 256
    if sizes is None:
        sizes = tuple(1 + int(column.max()) for column in factors.T)
    names = tuple(f"factor_{place}" for place in range(factors.shape[1]))
    return Table("mine", "user", 1, names, sizes, pixels=pixels, factors=factors)


def rows_of(images: np.ndarray) -> np.ndarray:
    seen = np.rint(images[:, 0, 0, :2] * 255).astype(int)
    return seen[:, 0] * 256 + seen[:, 1]


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    possible = expected > 0
    assert not counts[~possible].any()
    return float(((counts - expected)[possible] ** 2 / expected[possible]).sum())


@pytest.fixture(scope="module")
def uneven():
    """120 rows of 3 x 4 values; of the 12 combinations (2, 3) is missing, some come up often."""
    stream = STREAM(5)
    factors = np.stack([stream.choice(3, 120, p=[0.6, 0.3, 0.1]), stream.integers(4, size=120)], 1)
    factors[(factors == [2, 3]).all(axis=1)] = [0, 3]
    return table(factors, (3, 4))


def test_samples_are_as_frequent_as_in_the_table(uneven):
    drawn = uneven.sample(60_000, STREAM(0))
    assert drawn.shape == (60_000, 2)
    assert drawn.dtype == np.int64
    numbers, frequent = drawn @ [4, 1], np.bincount(uneven.factors @ [4, 1], minlength=12)
    counts = np.bincount(numbers, minlength=12)
    assert 1 < chi_square(counts, frequent * 500) < 35  # 9 degrees of freedom


def test_groups_share_the_value_of_their_factor(uneven):
    points, fixed = uneven.sample_groups(500, 7, STREAM(0))
    assert points.shape == (500, 7, 2)
    assert fixed.shape == (500,)
    for group, factor in zip(points, fixed, strict=True):
        assert len(set(group[:, factor])) == 1
    assert {len({*group[:, 1 - factor]}) for group, factor in zip(points, fixed, strict=True)} > {1}


def test_groups_are_drawn_as_the_metrics_draw_them(uneven):
    """The factor is uniform, its value as frequent as in the table, the rest any such row."""
    points, fixed = uneven.sample_groups(40_000, 2, STREAM(1))
    assert abs((fixed == 0).mean() - 0.5) < 0.01
    for factor, size in enumerate((3, 4)):
        mine = points[fixed == factor]
        rows = np.bincount(uneven.factors[:, factor], minlength=size)
        counts = np.bincount(mine[:, 0, factor], minlength=size)
        assert chi_square(counts, len(mine) * rows / 120) < 20  # 2 or 3 degrees of freedom
        for value in range(size):
            others = uneven.factors[uneven.factors[:, factor] == value, 1 - factor]
            some = mine[mine[:, 0, factor] == value]
            frequent = np.bincount(others, minlength=4)
            counts = np.bincount(some[:, 1, 1 - factor], minlength=4)
            assert chi_square(counts, len(some) * frequent / len(others)) < 22
            # and the members of a group do not depend on each other
            both = (some[:, 0, 1 - factor] == some[:, 1, 1 - factor]).mean()
            alike = ((frequent / len(others)) ** 2).sum()
            assert abs(both - alike) < 5 * math.sqrt(alike / len(some)) + 1e-9


def test_pictures_have_exactly_the_factors_asked_for(uneven):
    asked = uneven.sample(3000, STREAM(0))
    images = uneven.images(asked, STREAM(1))
    assert images.shape == (3000, 1, 64, 64)
    assert images.dtype == np.float32
    assert np.array_equal(uneven.factors[rows_of(images)], asked)


def test_any_of_the_equal_rows_is_as_likely(uneven):
    combination, rows = [0, 1], np.flatnonzero((uneven.factors == [0, 1]).all(axis=1))
    assert len(rows) > 3
    images = uneven.images(np.tile(combination, (4000, 1)), STREAM(2))
    counts = np.bincount(rows_of(images), minlength=120)[rows]
    assert counts.sum() == 4000
    assert 0.5 < chi_square(counts, np.full(len(rows), 4000 / len(rows))) < 60


def test_the_stream_decides_and_nothing_else(uneven):
    asked = uneven.sample(50, STREAM(3))
    one, same, other = (rows_of(uneven.images(asked, STREAM(seed))) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    one, same = (uneven.sample_groups(9, 4, STREAM(1))[0] for _ in range(2))
    assert np.array_equal(one, same)


@pytest.mark.parametrize("combination", [[2, 3], [3, 0], [-1, 2], [0, 4], [0, -1], [1, 2**61]])
def test_a_combination_that_no_picture_has_is_named(uneven, combination):
    first, second = combination
    with pytest.raises(WrongInput, match=f"found factor_0 {first}, factor_1 {second};"):
        uneven.images(np.array([[0, 1], combination]), STREAM(0))


def test_a_factor_with_one_value():
    loaded = table([[0, 0], [0, 1], [0, 1]])
    _, fixed = loaded.sample_groups(200, 3, STREAM(0))
    assert set(fixed) == {0, 1}
    assert set(rows_of(loaded.images(np.array([[0, 1]] * 50), STREAM(0)))) == {1, 2}


def test_of_a_factor_with_one_value_and_empty_bins_any_row_is_drawn():
    varied = table(np.array([[0, 4], [1, 4], [2, 4]]), (3, 10))
    groups, factors = varied.sample_variations(30, 2, np.random.default_rng(0))
    assert set(factors) == {0, 1} and (groups[..., 1] == 4).all()


def test_pictures_without_factors_can_be_drawn():
    loaded = table(np.empty((40, 0)))
    drawn = loaded.sample(4000, STREAM(0))
    assert drawn.shape == (4000, 0)
    counts = np.bincount(rows_of(loaded.images(drawn, STREAM(0))), minlength=40)
    assert 10 < chi_square(counts, np.full(40, 100)) < 85  # 39 degrees of freedom
    with pytest.raises(WrongInput, match=r"data\.factors: found 'none'"):
        loaded.sample_groups(2, 3, STREAM(0))


tables = st.integers(1, 5).flatmap(
    lambda columns: arrays.arrays(
        np.int64, st.tuples(st.integers(1, 30), st.just(columns)), elements=st.integers(0, 3)
    )
)


@settings(deadline=None, max_examples=150)
@given(tables, tables, st.sampled_from([4, 2**12, 2**40]))
def test_rows_are_found_as_by_looking_at_each(factors, others, size):
    """This holds also where the combinations of all values do not fit into one number."""
    sizes = (size,) * factors.shape[1]
    numbers = CombinationNumbers(factors, sizes)
    rows = PlacesByNumber(numbers.of(factors))
    asked = others[:, [0] * factors.shape[1]] if others.shape[1] < factors.shape[1] else others
    for point in np.concatenate([factors, asked[:, : factors.shape[1]]]):
        expected = set(np.flatnonzero((factors == point).all(axis=1)))
        drawn = set(rows.draw(numbers.of(point[None]), 200, STREAM(0))[0])
        if expected:
            assert drawn <= expected
            assert len(expected) > 8 or drawn == expected  # missed once in 10**10 draws
        else:
            assert not (factors[list(drawn)] == point).all(axis=1).any()


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(50, 5000))
def test_runs_cover_all_columns_and_stay_small(sizes, most):
    runs = list(column_runs(tuple(sizes), most))
    assert [column for run in runs for column in range(len(sizes))[run]] == [*range(len(sizes))]
    assert all(math.prod(sizes[run]) <= most for run in runs)


def test_only_the_first_batch_sorts_the_table(monkeypatch):
    stream = STREAM(0)
    loaded = table(stream.integers(0, [3, 6, 10, 10, 2], (5000, 5)))
    asked = loaded.sample(64, stream)
    loaded.images(asked, stream)
    for name in ("CombinationNumbers", "PlacesByNumber"):
        monkeypatch.setattr(of_table, name, lambda *_: pytest.fail("the table is sorted again"))
    assert np.array_equal(loaded.factors[rows_of(loaded.images(asked, stream))], asked)
