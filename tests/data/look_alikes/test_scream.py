import numpy as np
import pytest

from data.look_alikes.scream import HEIGHT, WIDTH, texture


@pytest.fixture(scope="module")
def painting():
    return texture()


def test_size_and_repetition(painting):
    assert painting.shape == (HEIGHT, WIDTH, 3) == (274, 215, 3)
    assert painting.dtype == np.uint8
    assert painting.flags.c_contiguous
    assert np.array_equal(painting, texture())


def test_mean_and_contrast_are_those_of_the_scan(painting):
    """The expected numbers are those of the real painting, shrunk in the same way."""
    assert np.allclose(painting.mean((0, 1)), (113, 84, 54), atol=14)
    assert np.allclose(painting.std((0, 1)), (69, 37, 28), atol=8)


def test_the_sky_is_fiery_and_what_is_below_is_dark(painting):
    sky, below = painting[:60].mean((0, 1)), painting[130:].mean((0, 1))
    assert sky[0] > 1.7 * sky[2]
    assert sky[0] > 1.5 * below[0]
    fjord = painting[110:180, 150:200].reshape(-1, 3).astype(int)
    assert np.mean(fjord[:, 2] > fjord[:, 0]) > 0.3  # bluish


def test_every_patch_has_contrast(painting):
    for top in range(0, HEIGHT - 64, 30):
        for left in range(0, WIDTH - 64, 30):
            patch = painting[top : top + 64, left : left + 64]
            assert patch.mean(2).std() > 10
            assert 5 < np.abs(np.diff(patch.astype(int), axis=0)).mean() < 25
