"""What the caster sees is compared with plain numpy and with closed forms."""

import numpy as np
import pytest

from data.look_alikes import scenes
from data.look_alikes.caster import NOTHING, cast, no_hits, project

SIDE = 160
SOLIDS = {
    "ball": scenes.ball((0.1, -0.2, 0.3), (0.8, 0.5, 0.3), pitch=35),
    "rod": scenes.rod((-0.4, 0.1, -0.3), (0.5, 0.3, 0.4), 0.5),
    "cone": scenes.rod((0, 0, -0.5), (0.2, 0.1, 0.7), 0.6, 0.05),
    "block": scenes.block((0.1, 0, -0.4), (-0.2, 0.1, 0.5), (0.9, 0.7), (0.3, 1.0)),
    "lying block": scenes.block((-0.6, 0, 0), (0.5, 0.2, 0.1), (0.5, 0.7), (0.8, 0.2), axis=0),
    "capsule": scenes.capsule((-0.3, 0.2, -0.2), (0.4, -0.1, 0.5), 0.35),
}


def seen(solids, azimuth=30.0, elevation=40.0, distance=4.0, side=SIDE):
    hits = no_hits(side)
    eye = scenes.camera((0, 0, 0), distance, azimuth, elevation, 1.3)
    cast(scenes.scene(solids), eye, hits)
    return hits, eye


def rays(eye, side):
    at = (2 * np.arange(side) + 1) / side - 1
    return eye[3] + at[None, :, None] * eye[1] - at[:, None, None] * eye[2]


def holds(solid, points):
    """Which points (..., 3) lie in a solid, by the definitions in `scenes`."""
    own = (points - solid.frame[:, 3]) @ np.linalg.inv(solid.frame[:, :3]).T
    x, y, z = np.moveaxis(own, -1, 0)
    grown = [1 + (end - 1) * (z + 1) / 2 for end in solid.shape]
    if solid.kind == scenes.BALL:
        return x**2 + y**2 + z**2 <= 1
    if solid.kind == scenes.ROD:
        return (abs(z) <= 1) & (x**2 + y**2 <= grown[0] ** 2)
    if solid.kind == scenes.BLOCK:
        return (abs(z) <= 1) & (abs(x) <= grown[0]) & (abs(y) <= grown[1])
    return x**2 + y**2 + np.maximum(abs(z) - solid.shape[0], 0) ** 2 <= 1


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("view", [(30, 40), (200, 5), (110, 89)])
def test_depths_agree_with_small_steps_along_each_ray(name, view):
    side, step = 40, 0.004
    hits, eye = seen([SOLIDS[name]], *view, side=side)
    assert 80 < np.isfinite(hits.depths).sum() < side**2 / 2
    depth = np.full((side, side), np.inf)
    for t in np.arange(5.2, 2.8, -step):  # from far to near: the nearest inside stays
        depth[holds(SOLIDS[name], eye[0] + t * rays(eye, side))] = t
    both = np.isfinite(depth) & np.isfinite(hits.depths)
    assert np.mean(np.isfinite(depth) != np.isfinite(hits.depths)) < 0.003  # grazed corners
    assert np.all(np.abs(depth[both] - hits.depths[both]) <= step * 1.01)


@pytest.mark.parametrize("name", SOLIDS)
def test_normals_stand_on_the_surface(name):
    """Next to a hit, across the normal, the surface is still where it was."""
    hits, eye = seen([SOLIDS[name]])
    hit = hits.solids != NOTHING
    points = eye[0] + hits.depths[hit][:, None] * rays(eye, SIDE)[hit]
    normals = hits.normals[hit].astype(np.float64)
    assert np.allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-6)
    for direction in np.eye(3):
        beside = points + 1e-3 * np.cross(normals, direction)
        assert holds(SOLIDS[name], beside + 2e-5 * normals).mean() < 0.01  # but near edges
        assert holds(SOLIDS[name], beside - 2e-5 * normals).mean() > 0.98


def test_area_of_a_ball():
    """A ball of radius r at distance d covers a disc of radius d r / sqrt(d² - r²)."""
    hits, _ = seen([scenes.ball((0, 0, 0), 0.7)])
    radius = 4 * 0.7 / np.sqrt(4**2 - 0.7**2) / 1.3 * SIDE / 2
    assert np.sum(hits.solids != NOTHING) == pytest.approx(np.pi * radius**2, rel=0.005)


def test_area_of_a_cube_seen_from_far_away():
    """A unit cube in a direction n casts a shadow of area |nx| + |ny| + |nz|."""
    cube = scenes.block((0, 0, -0.5), (0, 0, 0.5), (1, 1))
    hits, eye = seen([cube], distance=4000.0)
    pixel = (2 * 1.3 / SIDE) ** 2
    area = np.sum(hits.solids != NOTHING) * pixel
    assert area == pytest.approx(np.abs(eye[3]).sum(), rel=0.01)


@pytest.mark.parametrize("order", [1, -1])
def test_the_nearest_solid_wins(order):
    near, far = scenes.ball((1, 0, 0), 0.3), scenes.ball((-1, 0, 0), 0.6)
    hits, _ = seen([near, far][::order], azimuth=0, elevation=0)
    middle = SIDE // 2
    assert hits.solids[middle, middle] == (0 if order == 1 else 1)
    assert hits.depths[middle, middle] == pytest.approx(4 - 1.3, abs=1e-3)
    assert np.sum(hits.solids == (1 if order == 1 else 0)) > 500  # the far one stands out


def test_a_ball_faces_its_lamp_as_lambert_says():
    hits, _ = seen([scenes.ball((0, 0, 0), 1)], azimuth=0, elevation=0, distance=4000.0)
    lamp = np.array([1, 2, 2]) / 3
    row, column = 50, 100
    y, z = (2 * column + 1 - SIDE) / SIDE * 1.3, (SIDE - 2 * row - 1) / SIDE * 1.3
    facing = lamp @ [np.sqrt(1 - y * y - z * z), y, z]
    assert hits.normals[row, column] @ lamp == pytest.approx(facing, abs=1e-3)


def test_turning_the_scene_is_turning_the_camera():
    solids = list(SOLIDS.values())
    quarter = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    turned = [solid._replace(frame=quarter @ solid.frame) for solid in solids]
    still, _ = seen(solids, azimuth=20)
    moved, _ = seen(turned, azimuth=110)
    assert np.mean(still.solids != moved.solids) < 1e-3
    same = (still.solids == moved.solids) & (still.solids != NOTHING)
    assert np.allclose(still.normals[same] @ quarter.T, moved.normals[same], atol=1e-5)


def test_points_come_back_to_their_pixels():
    hits, eye = seen([SOLIDS["rod"]])
    row, column = np.argwhere(hits.solids != NOTHING)[77]
    point = eye[0] + hits.depths[row, column] * rays(eye, SIDE)[row, column]
    x, y, depth = project(eye, *point)
    assert (x, y) == pytest.approx(((2 * column + 1) / SIDE - 1, 1 - (2 * row + 1) / SIDE))
    assert depth == pytest.approx(hits.depths[row, column])


def test_hits_of_an_earlier_picture_are_gone():
    hits, eye = seen([SOLIDS["ball"]])
    fresh = no_hits(SIDE)
    small = scenes.scene([scenes.ball((0, 0, 0), 0.1)])
    cast(small, eye, hits)
    cast(small, eye, fresh)
    assert np.array_equal(hits.solids, fresh.solids)
    assert np.array_equal(hits.depths, fresh.depths)
