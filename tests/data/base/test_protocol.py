"""Groups, pairs and the like: what is shared is shared, and the rest is as in single draws."""

import numpy as np
import pytest

from data.base.protocol import Grid
from data.base.table import Table
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
    """Check that each value is as frequent as the others, within five standard errors."""
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
        constant = groups[varied != factor][:, :, factor]
        assert (constant == constant[:, :1]).all()
        assert_frequent(constant[:, 0], size, len(constant))
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


def test_interventions_set_one_factor_to_each_value_of_the_same_points(data_set, draws):
    interventions = data_set.sample_interventions(COUNT, draws)
    assert [points.shape for points in interventions] == [(size, COUNT, 3) for size in SIZES]
    for factor, (size, points) in enumerate(zip(SIZES, interventions, strict=True)):
        assert points.dtype == np.int64
        assert (points[..., factor] == np.arange(size)[:, None]).all()
        other_factors = np.delete(points, factor, axis=2)
        assert (other_factors == other_factors[:1]).all()
        for other, other_size in enumerate(np.delete(SIZES, factor)):
            assert_frequent(other_factors[0, :, other], other_size, COUNT)
    assert not np.array_equal(interventions[0][0][:, 2], interventions[1][0][:, 2]), (
        "each factor has its own"
    )
    again = data_set.sample_interventions(COUNT, np.random.default_rng(0))
    assert all((one == two).all() for one, two in zip(interventions, again, strict=True))


def test_only_rows_that_are_there_with_every_value_are_set(draws):
    rows = np.array([[a, b] for b in range(6) for a in range(3) if a == 2 or b in (1, 5)])
    rows = rows.repeat(np.where(rows[:, 1] == 5, 3, 1), axis=0)
    pixels = np.zeros((len(rows), 1, 64, 64), np.uint8)
    full = Table("full", "user", 1, ("a", "b"), (3, 6), pixels=pixels, factors=rows)
    first, second = full.sample_interventions(COUNT, draws)
    assert (second[..., 0] == 2).all() and (second[..., 1] == np.arange(6)[:, None]).all()
    every = np.concatenate([first.reshape(-1, 2), second.reshape(-1, 2)])
    places = full.places(every, draws)
    assert len(set(places.tolist())) == len(rows), "every picture is shown"
    assert set(first[0, :, 1]) == {1, 5}
    assert (first[0, :, 1] == 5).mean() == pytest.approx(3 / 4, abs=0.05)
    fewer = rows[(rows != [2, 4]).any(axis=1)]
    gap = Table("gap", "user", 1, ("a", "b"), (3, 6), pixels=pixels[1:], factors=fewer)
    with pytest.raises(WrongInput, match="no row that is there with each of the 6 values of b"):
        gap.sample_interventions(COUNT, draws)
    constant = Table("one", "user", 1, ("a", "b"), (3, 1), pixels=pixels, factors=rows * [1, 0])
    assert constant.sample_interventions(COUNT, draws)[1].shape == (1, COUNT, 2)
