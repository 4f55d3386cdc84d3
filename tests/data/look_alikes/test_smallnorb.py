import itertools

import numpy as np
import pytest

from data.look_alikes import smallnorb
from data.look_alikes.smallnorb import SIZES, views


def at(*factors):
    """The pictures of one row, or of all rows that a range in its place stands for."""
    rows = itertools.product(*(each if hasattr(each, "__iter__") else [each] for each in factors))
    return views(np.array(list(rows))).astype(int)[:, 0]


def toy_pixels(picture):
    """A mask of what is clearly not the ground, which is light and smooth."""
    return np.abs(picture - np.median(picture)) > 40


def test_draw_is_views_in_grid_order():
    block = next(smallnorb.draw())
    assert block.shape == (972, 1, 64, 64)
    assert block.dtype == np.uint8
    places = [0, 5, 6, 107, 108, 500, 971]
    rows = np.stack(np.unravel_index(places, SIZES), axis=1)
    assert np.array_equal(views(rows), block[places])
    assert len(np.unique(block.reshape(972, -1), axis=0)) == 972


def test_the_same_again():
    rows = np.array([[1, 4, 3, 7, 2], [4, 9, 8, 17, 5]])
    assert np.array_equal(views(rows), views(rows))
    assert np.array_equal(views(rows[::-1]), views(rows)[::-1])


@pytest.mark.parametrize("view", [(0, 4), (8, 0)])
def test_all_toys_are_distinct(view):
    toys = at(range(5), range(10), view[0], view[1], 0)
    for first, second in itertools.combinations(toys, 2):
        assert np.sum(np.abs(first - second) > 25) > 60


def test_toys_keep_away_from_the_border_and_are_no_dots():
    """In the light from the front, whose shadow is short, all that is dark is the toy."""
    for azimuth, elevation in ((0, 0), (4, 3), (11, 8)):
        for picture in at(range(5), range(10), elevation, azimuth, 2):
            dark = toy_pixels(picture)
            assert 80 < dark.sum() < 2200
            frame = np.concatenate([dark[:2].ravel(), dark[-2:].ravel(), dark[:, :2].ravel(),
                                    dark[:, -2:].ravel()])  # fmt: skip
            assert not frame.any()


def test_neighbouring_pictures_are_more_alike_than_others():
    turns = at(3, 0, 4, range(18), 2)
    near = np.abs(turns - np.roll(turns, 1, axis=0)).mean((1, 2))
    far = np.abs(turns - np.roll(turns, 5, axis=0)).mean((1, 2))
    assert near.min() > 1
    assert near.mean() < 0.8 * far.mean()
    assert near[0] < 2 * near.mean()  # the last azimuth comes before the first
    rises = at(3, 0, range(9), 4, 2)
    steps = [np.abs(rises[0] - rise).mean() for rise in rises]
    assert steps[1] < steps[4] < steps[8]


def test_from_above_a_person_is_shorter_and_a_glider_larger():
    low, high = (toy_pixels(at(1, 0, elevation, 0, 2)[0]) for elevation in (0, 8))
    assert low.any(1).sum() > 1.3 * high.any(1).sum()
    low, high = (toy_pixels(at(2, 5, elevation, 4, 5)[0]) for elevation in (0, 8))
    assert high.any(1).sum() > 1.2 * low.any(1).sum()


def test_lighting_changes_the_ground_and_the_toy():
    lit = at(4, 2, 3, 4, range(6))
    corners = lit[:, :3, :3].mean((1, 2))
    assert corners.max() - corners.min() > 40
    for first, second in itertools.combinations(lit, 2):
        assert np.abs(first - second).mean() > 3


def test_shadows_fall_away_from_the_lamp():
    """Lamps on the left and on the right of the camera: the ground is dark on the other side."""
    left, right = at(1, 0, 2, 0, [0, 1])
    below = slice(34, 56)
    assert left[below, 44:58].min() < left[below, 4:18].min() - 15
    assert right[below, 4:18].min() < right[below, 44:58].min() - 15
