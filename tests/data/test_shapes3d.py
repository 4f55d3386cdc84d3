"""Shapes3D: the published file as it is, and the look-alike on the same grid."""

import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest

from data import shapes3d
from data.base.stored import StoredGrid
from infra.errors import WrongInput

TINY = Path(__file__).parents[3] / "shared" / "data" / "formats" / "3dshapes.h5"


@pytest.mark.skipif(not TINY.is_file(), reason=f"needs the tiny file {TINY}")
def test_a_tiny_file_of_the_true_format():
    (pictures,) = shapes3d.pictures(TINY, 5)
    assert pictures.shape == (5, 3, 64, 64)
    with h5py.File(TINY) as file:
        assert np.array_equal(pictures, file["images"][:].transpose(0, 3, 1, 2))
    with pytest.raises(WrongInput, match=r"3dshapes\.h5: found.*\(5, 64, 64, 3\).*480000"):
        list(shapes3d.pictures(TINY))


def test_official_pictures_stand_in_the_order_of_the_grid():
    pixels = np.zeros((480_000, 3, 1, 1), np.uint8)
    places = np.arange(480_000)
    pixels[:, 0, 0, 0], pixels[:, 1, 0, 0] = places // 2400, places % 240  # not 2**k: no wrap
    data_set = StoredGrid(**vars(shapes3d.DESCRIPTION), pixels=pixels)
    factors = data_set.sample(1000, np.random.default_rng(0))
    floor, wall, object_, scale, shape, orientation = factors.T
    expected = ((((floor * 10 + wall) * 10 + object_) * 8 + scale) * 4 + shape) * 15 + orientation
    images = data_set.images(factors, np.random.default_rng(0))
    markers = np.rint(images[:, :2, 0, 0] * 255)
    assert np.array_equal(markers, np.stack([expected // 2400, expected % 240], axis=1))


def test_without_the_file_the_error_names_what_to_do(tmp_path):
    with pytest.raises(WrongInput, match=r"tolstoy data fetch shapes3d.*look-alike"):
        shapes3d.load(tmp_path)


@pytest.fixture(scope="module")
def look_alike():
    with tempfile.TemporaryDirectory() as folder:
        progress = []
        data_set = shapes3d.load(Path(folder), "look-alike", progress.append)
        assert progress[-1] == 1
        shapes3d.load(Path(folder), "look-alike", lambda _: pytest.fail("it was drawn again"))
        yield data_set


def test_the_look_alike_says_so_and_needs_no_stream(look_alike):
    assert look_alike.source == "look-alike"
    factors = look_alike.sample(50, np.random.default_rng(0))
    images = look_alike.images(factors, np.random.default_rng(0))
    assert images.shape == (50, 3, 64, 64)
    assert images.dtype == np.float32
    assert images.min() >= 0
    assert images.max() <= 1 + 1e-6
    assert np.array_equal(images, look_alike.images(factors, np.random.default_rng(1)))
    with pytest.raises(ValueError, match="invalid"):
        look_alike.images(np.array([[-1, 0, 0, 0, 0, 0]]), np.random.default_rng(0))


def test_each_hue_of_the_look_alike_colours_its_own_part(look_alike):
    """Red is hue 0, green 3, blue 7: floor below, wall above the middle, object in it."""
    (image,) = look_alike.images(np.array([[0, 3, 7, 7, 0, 7]]), np.random.default_rng(0))
    floor, wall, object_ = image[:, 62, 3], image[:, 24, 3], image[:, 36, 32]
    assert floor.argmax() == 0
    assert wall.argmax() == 1
    assert object_.argmax() == 2


def test_every_factor_of_the_look_alike_changes_the_picture(look_alike):
    middle = np.array([5, 5, 5, 4, 2, 7])
    neighbours = np.tile(middle, (7, 1))
    neighbours[np.arange(6), np.arange(6)] += 1
    images = look_alike.images(neighbours, np.random.default_rng(0))
    assert (np.abs(images[:6] - images[6]).max(axis=(1, 2, 3)) > 0.1).all()
