"""Groups, pairs and variations: what is shared is shared, and the rest is as in single draws."""

import numpy as np
import pytest

from data.own.table import Table
from data.protocol import Grid
from infra.errors import WrongInput

SIZES = (2, 3, 5)
NAMES = ("a", "b", "c")
COUNT, SIZE = 4000, 4


def grid() -> Grid:
    return Grid("grid", "redrawn", 1, NAMES, SIZES)


def table() -> Table:
    """Every combination of a grid, as rows: it must be drawn from as the grid is."""
    rows = np.stack(np.unravel_index(np.arange(30), SIZES), axis=1)
    pixels = np.zeros((60, 1, 64, 64), np.uint8)
    return Table("table", "user", 1, NAMES, SIZES, pixels=pixels, factors=np.tile(rows, (2, 1)))


@pytest.fixture(params=[grid, table])
def data_set(request):
    return request.param()


@pytest.fixture
def draws():
    return np.random.default_rng(0)


def assert_frequent(values, size, of) -> None:
    """Each value as often as the others, within five standard errors."""
    expected = of / size
    assert np.abs(np.bincount(values, minlength=size) - expected).max() < 5 * np.sqrt(expected)


def test_groups_share_the_factor_they_name_and_no_other(data_set, draws):
    groups, fixed = data_set.sample_groups(COUNT, SIZE, draws)
    assert groups.shape == (COUNT, SIZE, 3)
    assert_frequent(fixed, 3, COUNT)
    for factor, size in enumerate(SIZES):
        mine = groups[fixed == factor][:, :, factor]
        assert (mine == mine[:, :1]).all()
        assert_frequent(mine[:, 0], size, len(mine))
        others = groups[fixed != factor][:, :, factor]
        shared = (others == others[:, :1]).all(axis=1).mean()
        chance = size ** -(SIZE - 1.0)
        assert abs(shared - chance) < 5 * np.sqrt(chance / len(others))


def test_pairs_share_the_factor_of_their_set_and_its_value_changes(data_set, draws):
    first, second, fixed = data_set.sample_pairs(COUNT, SIZE, draws)
    assert first.shape == second.shape == (COUNT, SIZE, 3)
    assert_frequent(fixed, 3, COUNT)
    same = first == second
    for factor, size in enumerate(SIZES):
        assert same[fixed == factor][:, :, factor].all()
        mine = first[fixed == factor][:, :, factor]
        assert_frequent(mine.ravel(), size, mine.size)
        assert (mine != mine[:, :1]).any(axis=1).mean() > 0.5
        free = same[fixed != factor][:, :, factor]
        assert abs(free.mean() - 1 / size) < 5 / np.sqrt(free.size)


def test_in_variations_one_factor_varies(data_set, draws):
    groups, varied = data_set.sample_variations(COUNT, SIZE, draws)
    assert groups.shape == (COUNT, SIZE, 3)
    assert_frequent(varied, 3, COUNT)
    for factor, size in enumerate(SIZES):
        kept = groups[varied != factor][:, :, factor]
        assert (kept == kept[:, :1]).all()
        assert_frequent(kept[:, 0], size, len(kept))
        free = groups[varied == factor][:, :, factor]
        assert_frequent(free.ravel(), size, free.size)


def test_only_rows_that_can_vary_are_drawn(draws):
    rows = np.array([[0, 0], [1, 0], [2, 1]])
    pixels = np.zeros((3, 1, 64, 64), np.uint8)
    first = Table("first", "user", 1, ("a", "b"), (3, 2), pixels=pixels, factors=rows)
    with pytest.raises(WrongInput, match="no two rows that differ in b alone"):
        first.sample_variations(500, 3, draws)
    constant = rows * [1, 0]
    second = Table("second", "user", 1, ("a", "b"), (3, 1), pixels=pixels, factors=constant)
    groups, varied = second.sample_variations(500, 3, draws)
    assert set(groups[varied == 0][:, :, 0].ravel()) == {0, 1, 2}
    lonely = np.concatenate([constant, [[3, 1]]])
    third = Table("third", "user", 1, ("a", "b"), (4, 2), pixels=pixels, factors=lonely)
    with pytest.raises(WrongInput, match="b alone"):
        third.sample_variations(500, 3, draws)
