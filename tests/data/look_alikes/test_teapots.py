"""The teapot's surface, and what its pictures owe to each factor."""

import math

import numpy as np
import pytest

from data.look_alikes import teapots
from data.look_alikes.teapot import mesh, patches

TURN = 2 * math.pi


def at(azimuth, elevation, *colours):
    """Pictures of all these azimuths and elevations in each colour: (n, 3, 64, 64)."""
    azimuth, elevation = np.meshgrid(azimuth, elevation, indexing="ij")
    places = np.stack([azimuth.ravel(), elevation.ravel()], axis=1)
    return teapots.views(
        np.concatenate([np.hstack([places, np.tile(c, (len(places), 1))]) for c in colours])
    ).astype(int)


def test_the_control_points_are_those_of_1975():
    control = patches()
    assert control.shape == (32, 4, 4, 3)
    points = {tuple(point) for point in control.reshape(-1, 3).round(9) + 0.0}
    assert len(points) == 290, "of the 306 some are the same"
    # rows of the published list, from every part
    for point in [
        (1.4, -0.784, 2.4), (-0.749, -1.3375, 2.53125), (1.12, 2, 0.45), (-1.5, 0.84, 0.15),
        (-2.3, -0.3, 2.025), (-3, 0.3, 1.35), (-2.65, 0, 0.9375), (-1.9, -0.3, 0.6),
        (1.7, -0.66, 0.6), (3.1, 0.66, 0.825), (3.525, 0.25, 2.49375), (3.45, -0.15, 2.5125),
        (0.8, -0.45, 3.15), (-0.45, 0.8, 3.15), (0, 0, 2.85), (0.112, -0.2, 2.7),
        (-0.728, 1.3, 2.4), (1.425, 0.798, 0), (-0.84, -1.5, 0.075), (0, 0, 0),
    ]:  # fmt: skip
        assert point in points, point
    assert {(x, -y + 0.0, z) for x, y, z in points} == points, "a mirror at y = 0"


def test_the_surface_has_the_known_number_of_triangles_and_points_outwards():
    surface = mesh()
    assert len(surface.triangles) == 6320
    assert len(mesh(4).triangles) == 992, "three.js names the numbers for 1 to 30 subdivisions"
    np.testing.assert_allclose(np.linalg.norm(surface.normals, axis=1), 1)
    x, y, z = surface.points.T
    body = (z > 0.2) & (z < 2.3) & (np.hypot(x, y) > 1.45) & (np.abs(y) > 0.8)
    assert body.sum() > 300
    outwards = np.einsum("px,px->p", surface.normals[body, :2], surface.points[body, :2])
    assert (outwards > 0).all()
    assert (surface.normals[z > 3.14, 2] > 0.5).all() and (surface.normals[z < 0.01, 2] < 0).all()
    assert (surface.normals[x < -2.95, 0] < 0).all(), "the handle's back"
    spout = (x > 2.2) & (z < 2.2) & (np.abs(y) > 0.25)
    assert spout.any() and (surface.normals[spout, 1] * y[spout] > 0).all()


def test_a_patch_is_its_bezier_sum():
    corner, steps = mesh(3).points, np.linspace(0, 1, 4)
    weights = [[math.comb(3, i) * t**i * (1 - t) ** (3 - i) for i in range(4)] for t in steps]
    for patch in patches()[[0, 9, 20, 27, 31]]:
        for u in weights:
            for v in weights:
                point = sum(u[i] * v[j] * patch[i, j] for i in range(4) for j in range(4))
                assert np.abs(corner - point).max(axis=1).min() < 1e-8


def test_nothing_touches_the_border_and_the_teapot_fills_the_picture():
    pictures = at(np.linspace(0, TURN, 24), np.linspace(0, TURN / 4, 7), (0, 0, 0))
    shown = pictures.min(axis=1) < 255
    assert not shown[:, [0, 1, -2, -1]].any() and not shown[:, :, [0, 1, -2, -1]].any()
    assert (shown.sum(axis=(1, 2)) > 450).all()
    assert shown.any(axis=(0, 1)).sum() > 52


def test_the_azimuth_is_a_circle_and_the_teapot_has_a_mirror():
    first, last, left, right = at([0.0, TURN, 1.1, TURN - 1.1], 0.6, (0.5, 0.3, 0.6))
    assert np.abs(first - last).max() <= 1
    # its triangles have no mirror, as they cut all squares along the same diagonal
    assert (np.abs(left - right[..., ::-1]).max(axis=0) <= 3).mean() > 0.995
    assert (np.abs(left - right).max(axis=0) > 20).mean() > 0.05
    assert (np.abs(first - first[..., ::-1]).max(axis=0) <= 3).mean() > 0.995


def test_the_spout_turns_from_the_camera_to_the_right():
    """At a quarter turn the spout is on the right, where it reaches further than the handle."""
    (picture,) = at(TURN / 4, 0.0, (0, 0, 0))
    columns = np.flatnonzero(picture.min(axis=(0, 1)) < 255)
    assert columns[-1] - 31.5 > 31.5 - columns[0]
    (picture,) = at(3 * TURN / 4, 0.0, (0, 0, 0))
    columns = np.flatnonzero(picture.min(axis=(0, 1)) < 255)
    assert columns[-1] - 31.5 < 31.5 - columns[0]


def test_a_colour_multiplies_the_brightness():
    """Light is 0.5 to 1.4, so a share of 0.7 is never cut off, and 1 often is."""
    black, dim, bright, white = at(1.0, 0.5, (0, 0, 0), (0.35,) * 3, (0.7,) * 3, (1, 1, 1))
    np.testing.assert_allclose(dim - black, (bright - black) / 2, atol=1.01)
    assert (np.abs(white - black - (bright - black) / 0.7) > 5).any()
    inside = black.max(axis=0) == 0
    assert inside.sum() > 300
    light = bright[0][inside] / 255 / 0.7
    assert light.min() > 0.49 and 1.3 < light.max() < 1.41
    (red,) = at(1.0, 0.5, (0.7, 0.35, 0.0))
    assert np.array_equal(red, np.stack([bright[0], dim[0], black[0]]))


def test_factors_are_uniform_and_independent_and_follow_no_order():
    largest = (TURN, TURN / 4, 1.0, 1.0, 1.0)
    values = teapots.factors(20_000, largest) / largest
    assert values.min() >= 0 and values.max() <= 1
    ranks = np.sort(values, axis=0) - (np.arange(20_000)[:, None] + 0.5) / 20_000
    assert np.abs(ranks).max() < 1.95 / math.sqrt(20_000)  # Kolmogorov-Smirnov, 0.1%
    correlations = np.corrcoef(values.T)[np.triu_indices(5, 1)]
    assert np.abs(correlations).max() < 4 / math.sqrt(20_000)
    assert abs(np.corrcoef(values[1:, 0], values[:-1, 0])[0, 1]) < 4 / math.sqrt(20_000)


@pytest.mark.parametrize("count", [1, 251])
def test_blocks_hold_all_pictures_in_order(count):
    points = teapots.factors(count, (TURN, TURN / 4, 1, 1, 1))
    drawn = np.concatenate(list(teapots.draw(points)))
    assert np.array_equal(drawn[[0, -1]], teapots.views(points[[0, -1]]))
    assert drawn.shape == (count, 3, 64, 64)
