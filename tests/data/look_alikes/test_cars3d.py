import itertools

import numpy as np
import pytest

from data.look_alikes import cars, cars3d
from data.look_alikes.cars3d import views

FRONT, SIDEWAYS = 0, 6


def at(*factors):
    rows = itertools.product(*(each if hasattr(each, "__iter__") else [each] for each in factors))
    return views(np.array(list(rows))).astype(int)


@pytest.fixture(scope="module")
def fleet():
    """All cars from one side."""
    return at(1, 3, range(183))


def shown(pictures):
    """Where the cars are: all else is pure white."""
    return pictures.min(axis=-3) < 255


def test_draw_is_views_in_grid_order(fleet):
    blocks = list(itertools.islice(cars3d.draw(), 4))
    assert all(block.shape == (183, 3, 64, 64) and block.dtype == np.uint8 for block in blocks)
    first = views(np.array([[0, 0, 0], [0, 0, 182]]))
    assert np.array_equal(first, blocks[0][[0, 182]])
    assert np.array_equal(views(np.array([[0, 3, 7]]))[0], blocks[3][7])
    assert cars3d.AZIMUTHS * len(cars3d.ELEVATIONS) * cars3d.CARS == 17_568
    assert not np.array_equal(fleet, blocks[3])  # another elevation


def test_the_same_again(fleet):
    cars3d._car.cache_clear()
    assert np.array_equal(at(1, 3, [182, 0]), fleet[[182, 0]])


def test_all_cars_are_distinct(fleet):
    flat = fleet.reshape(183, -1)
    for number in range(182):
        differences = np.abs(flat[number + 1 :] - flat[number])
        assert np.all(np.sum(differences > 8, axis=1) > 150)


def test_their_outlines_differ_too(fleet):
    outlines = shown(fleet).reshape(183, -1)
    assert len(np.unique(outlines, axis=0)) > 175


def test_cars_fill_the_middle_and_touch_no_border(fleet):
    for pictures in (fleet, at(3, SIDEWAYS, range(183)), at(3, 21, range(0, 183, 3))):
        covered = shown(pictures)
        assert not covered[:, [0, -1]].any()
        assert not covered[:, :, [0, -1]].any()
        assert np.all(covered.sum((1, 2)) > 300)


def test_a_car_is_as_long_as_the_real_ones_and_narrow_from_the_front():
    long = shown(at(0, SIDEWAYS, range(0, 183, 5))).any(1).sum(1)
    wide = shown(at(0, FRONT, range(0, 183, 5))).any(1).sum(1)
    assert np.all((long >= 55) & (long <= 60))
    assert np.all((wide >= 17) & (wide <= 32))


def test_a_car_turns_once_around():
    turn = at(2, range(24), 40)
    steps = np.abs(turn - np.roll(turn, 1, axis=0)).mean((1, 2, 3))
    assert steps.min() > 1
    assert steps[0] < 2 * steps.mean()
    across = shown(turn).any(1).sum(1)
    assert across[FRONT] == across.min()
    assert abs(across.argmax() % 12 - SIDEWAYS) <= 1
    # left and right side are mirror images but for the light
    mirrored = shown(turn)[18, :, ::-1]
    assert np.mean(mirrored != shown(turn)[6]) < 0.01


def test_front_and_rear_have_their_lights():
    front, rear = at(0, [0, 12], 183 // 2)
    red = rear[0] - np.maximum(rear[1], rear[2])
    bright = (front.min(0) > 150) & shown(front)
    assert np.any(red > 60)
    assert bright[:, :32].any()
    assert bright[:, 32:].any()


def test_from_above_more_of_the_roof_is_seen():
    heights = shown(at(range(4), FRONT, 40)).any(2).sum(1)
    assert np.all(np.diff(heights) > 0)


@pytest.mark.parametrize("kind", cars.KINDS)
def test_all_shapes_are_possible(kind):
    stream = np.random.default_rng(0)
    for _ in range(50):
        form = cars.varied(cars.KINDS[kind], stream)
        assert form.clearance < form.nose <= form.belt < form.height
        assert form.bonnet < form.roof < form.roof_end < form.boot < 1
        assert form.front_axle < form.rear_axle < 1 - form.wheel
    assert form != cars.KINDS[kind]
