"""Triangles against rays that are cast through every sample, one triangle at a time."""

import numpy as np
import pytest

from data.look_alikes.rasteriser import NOTHING, paint, rasterise
from data.look_alikes.scenes import camera

SIDE = 31


def seen(eye, points, brightness, triangles, side=SIDE):
    nearness, shades = np.empty((2, side, side))
    rasterise(eye, points, brightness, np.array(triangles, order="C"), nearness, shades)
    return nearness, shades


def by_rays(eye, points, brightness, triangles, side=SIDE):
    """For each sample the nearest triangle whose plane the ray meets inside, by linear equations,
    and how near to an edge it is: there, rounding decides."""
    nearness, shades = np.zeros((side, side)), np.full((side, side), NOTHING)
    to_edge = np.full((side, side), np.inf)
    for row in range(side):
        for column in range(side):
            x, y = (2 * column + 1) / side - 1, 1 - (2 * row + 1) / side
            ray = eye[3] + x * eye[1] + y * eye[2]
            for corners in triangles:
                a, b, c = points[corners]
                t, v, w = np.linalg.solve(np.stack([ray, a - b, a - c], axis=1), a - eye[0])
                to_edge[row, column] = min(to_edge[row, column], np.abs([v, w, 1 - v - w]).min())
                if min(v, w, 1 - v - w) >= 0 and t > 0 and 1 / t > nearness[row, column]:
                    nearness[row, column] = 1 / t
                    # brightness is linear in the picture, so corners weigh by their nearness
                    depths = (points[corners] - eye[0]) @ eye[3]
                    weights = np.array([1 - v - w, v, w]) * depths / t
                    shades[row, column] = weights @ brightness[corners]
    return nearness, shades, to_edge > 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_triangle_is_seen(seed):
    draws = np.random.default_rng(seed)
    eye = camera((0, 0, 0), 3.0, draws.uniform(0, 360), draws.uniform(-90, 90), 1.1)
    points = draws.uniform(-1, 1, (12, 3))
    triangles = draws.permuted(np.tile(np.arange(12), (7, 1)), axis=1)[:, :3]
    brightness = draws.uniform(0.5, 1.4, 12)
    nearness, shades = seen(eye, points, brightness, triangles)
    expected_nearness, expected, is_clear = by_rays(eye, points, brightness, triangles)
    assert is_clear.mean() > 0.99 and 0.1 < (expected >= 0).mean() < 0.99
    np.testing.assert_allclose(nearness[is_clear], expected_nearness[is_clear], rtol=1e-9)
    np.testing.assert_allclose(shades[is_clear], expected[is_clear], rtol=1e-9)


def test_triangles_that_meet_leave_no_gap():
    """A square of four triangles that meet in a random point, seen from the front."""
    draws = np.random.default_rng(0)
    eye = camera((0, 0, 0), 2.0, 0, 0, 1.0)
    corners = [(0, -1.5, -1.5), (0, 1.5, -1.5), (0, 1.5, 1.5), (0, -1.5, 1.5)]
    for _ in range(20):
        points = np.array([*corners, (0, *draws.uniform(-1, 1, 2))])
        around = [(i, (i + 1) % 4, 4) for i in range(4)]
        _, shades = seen(eye, points, np.ones(5), around, side=64)
        np.testing.assert_allclose(shades, 1)


def test_what_is_outside_the_picture_or_an_edge_on_is_left_out():
    eye = camera((0, 0, 0), 2.0, 0, 0, 1.0)
    points = np.array([(0.0, 5, 5), (0, 6, 5), (0, 5, 6), (0, 0, 0), (0.5, 0, 0), (0.2, 0, 0)])
    _, shades = seen(eye, points, np.ones(6), [(0, 1, 2), (3, 4, 5)])
    assert (shades == NOTHING).all()


def test_a_pixel_is_the_mean_of_its_samples_on_white():
    draws = np.random.default_rng(2)
    shades = draws.uniform(0.5, 1.4, (12, 12))
    shades[draws.random((12, 12)) < 0.4] = NOTHING
    colour = np.array([0.9, 0.4, 0.0])
    picture = np.empty((3, 4, 4), np.uint8)
    paint(shades, colour, picture)
    samples = np.where(shades < 0, 1, np.minimum(shades * colour[:, None, None], 1))
    expected = samples.reshape(3, 4, 3, 4, 3).mean(axis=(2, 4))
    assert np.abs(picture - 255 * expected).max() <= 0.5 + 1e-9
