from itertools import pairwise

import numpy as np
import pytest

from data.look_alikes import shapes3d
from data.look_alikes.shapes3d import HUES, SKY

FLOOR, WALL, OBJECT, AIR = range(4)
CUBE, CYLINDER, SPHERE, CAPSULE = range(4)


@pytest.fixture(scope="module")
def weights():
    return shapes3d.weights()


@pytest.fixture(scope="module")
def grid(weights):
    """(scale, shape, orientation, material, row, column)"""
    return weights.reshape(8, 4, 15, 4, 64, 64).astype(np.int64)


def test_no_pixel_holds_more_than_everything(weights):
    assert weights.shape == (480, 4, 4096)
    assert weights.dtype == np.uint8
    total = weights.sum(axis=1, dtype=np.int64)
    assert total.max() == 255
    assert total.min() > 80  # shading and shadow leave something everywhere


def test_sky_is_above_walls_and_walls_are_above_the_floor(grid):
    side = grid[0, CUBE, 7, :, :, 60]  # a column beside the object
    places = [np.flatnonzero(side[material]) for material in (AIR, WALL, FLOOR)]
    assert places[0][0] == 0
    assert places[2][-1] == 63
    for above, below in pairwise(places):
        assert 0 <= below[0] - above[-1] <= 1
    assert 255 in side[AIR]


def test_scale_makes_the_object_grow(grid):
    areas = (grid[:, :, :, OBJECT] > 0).sum((-1, -2))
    assert np.all(np.diff(areas, axis=0) > 0)
    assert np.all(areas[-1] / areas[0] > 2)


def test_the_shapes_have_their_outlines(grid):
    covered = grid[3, :, 7, OBJECT] > 0
    heights = covered.any(-1).sum(-1)
    widths = covered.any(-2).sum(-1)
    assert heights[CAPSULE] > 1.5 * heights[SPHERE]
    assert abs(heights[SPHERE] - widths[SPHERE]) <= 2
    box = heights * widths
    fill = covered.sum((-1, -2)) / box
    assert fill[CUBE] > 0.93
    assert fill[SPHERE] == pytest.approx(np.pi / 4, abs=0.05)


def test_orientation_moves_the_room_and_its_ends_are_no_mirror_images(grid):
    walls = grid[0, SPHERE, :, WALL]
    steps = np.abs(np.diff(walls, axis=0)).sum((1, 2))
    assert np.all(steps > 500)
    assert np.abs(walls[0] - walls[-1]).sum() > 2 * steps.max()
    assert np.abs(walls[0] - walls[-1, :, ::-1]).sum() > 5000


def test_the_shadow_lies_to_the_right(grid):
    floor = grid[4, SPHERE, 7, FLOOR, 45:56]
    assert floor[:, 10:18].min() > 250
    assert floor[:, 46:54].min() < 230


def test_order_of_the_views(grid):
    """A cube turns with the orientation, a sphere stays; both stay where they are."""
    cube, sphere = grid[2, CUBE, :, OBJECT] > 0, grid[2, SPHERE, :, OBJECT] > 0
    assert np.all(cube[0].any(0).sum() > cube[7].any(0).sum() + 2)
    assert np.abs(np.diff(sphere.astype(int), axis=0)).sum() <= 30


def test_a_hue_changes_only_its_own_pixels(weights):
    for material in (FLOOR, WALL, OBJECT):
        palette = HUES[[[1, 4, 7], [1, 4, 7]]]
        palette[1, material] = HUES[9]
        first, second = shapes3d.compose(weights, np.array([200, 200]), palette)
        changed = np.any(first != second, axis=0).ravel()
        assert np.array_equal(changed, weights[200, material] > 0)


def test_compose_agrees_with_a_slow_sum(weights):
    stream = np.random.default_rng(0)
    places = stream.integers(480, size=9)
    palette = HUES[stream.integers(10, size=(9, 3))]
    pictures = shapes3d.compose(weights, places, palette)
    assert pictures.dtype == np.float32
    assert pictures.flags.c_contiguous
    for picture, place, colours in zip(pictures, places, palette, strict=True):
        slow = weights[place].T / 255 @ np.vstack([colours, SKY]).astype(np.float64)
        assert np.allclose(picture, slow.T.reshape(3, 64, 64), atol=1e-6)


def test_white_stays_in_range(weights):
    pictures = shapes3d.compose(weights, np.arange(480), np.ones((480, 3, 3), np.float32))
    assert pictures.min() >= 0
    assert pictures.max() == 1


def test_hues_have_their_colours():
    assert HUES[0].tolist() == [1, 0, 0]
    assert HUES[5].tolist() == [0, 1, 1]
    assert len(np.unique(HUES, axis=0)) == 10
    assert np.all(HUES.max(1) == 1)
    assert np.all(HUES.min(1) == 0)
