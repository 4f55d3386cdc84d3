"""The redrawn pictures are the official ones, in the official order."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from data import dsprites
from data.base.protocol import sample_factors

REAL = Path(__file__).parents[3] / "shared/data/dsprites/real-subgrid-3x6x10x16x16.npz"
PICTURES_SHA256 = "b92114b8cc0b0ea1a7bad7dfa88d83764749cfd4b6aa26ede0e8fa35da0295ec"

SIZES = dsprites.DESCRIPTION.factor_sizes
ORIENTATION, POSITION_X, POSITION_Y = 2, 3, 4


def test_redraws_the_official_images(packed):
    if not REAL.exists():
        pytest.skip("needs the sample of official images, which is not part of the repository")
    with np.load(REAL, allow_pickle=False) as sample:
        real, places = sample["imgs"], sample["original_dataset_indices"]
    assert len(real) == 46_080
    wrong = (np.unpackbits(packed[places], axis=1) != real.reshape(len(real), -1)).sum(axis=1)
    print(f"{wrong.sum()} wrong pixels on {np.count_nonzero(wrong)} of {len(real)} images")
    assert wrong.sum() <= 3, "the docstring of data/dsprites.py promises three"


def test_draws_the_same_bytes_everywhere(packed):
    """Reaches the 690,000 pictures of which there is no official one here to compare with."""
    assert hashlib.sha256(packed).hexdigest() == PICTURES_SHA256


def test_images_follow_the_grid_and_its_bits(cache, packed):
    stream = np.random.default_rng(5)
    factors = sample_factors(SIZES, 50, stream)
    images = dsprites.load(cache).images(factors, stream)
    assert images.shape == (50, 1, 64, 64)
    assert images.dtype == np.float32
    assert images.flags.c_contiguous
    for (shape, scale, orientation, x, y), image in zip(factors.tolist(), images, strict=True):
        place = (((shape * 6 + scale) * 40 + orientation) * 32 + x) * 32 + y
        bits = [byte >> (7 - bit) & 1 for byte in packed[place].tolist() for bit in range(8)]
        assert image.ravel().tolist() == bits


def test_a_picture_is_black_outside_of_its_box(packed):
    places = np.random.default_rng(6).integers(0, len(packed), 200)
    data_set = dsprites.DSprites(**vars(dsprites.DESCRIPTION), packed=packed)
    for image, box in zip(data_set.show(places), data_set.boxes(places).tolist(), strict=True):
        rows, columns = (np.flatnonzero(image[0].any(axis=axis)) for axis in (1, 0))
        assert box == [rows[0], rows[-1] + 1, columns[0], columns[-1] + 1]
    black = dsprites.DSprites(**vars(dsprites.DESCRIPTION), packed=np.zeros_like(packed[:1]))
    assert black.boxes(np.array([0])).tolist() == [[0, 64, 0, 64]]


def test_a_full_turn_is_no_turn(packed):
    grid = packed.reshape(*SIZES, -1)
    assert np.array_equal(grid[:, :, 0], grid[:, :, 39])
    assert not np.array_equal(grid[:, :, 0], grid[:, :, 38])


def test_factors_mean_what_they_are_called(cache):
    """Area tells shape and scale, the centre of mass tells position, the axis tells orientation."""
    data_set = dsprites.load(cache)

    def image(*factors):
        return data_set.images(np.array([factors]), np.random.default_rng(0))[0, 0]

    ellipse = np.pi * 9.6**2
    for shape, area in enumerate((19.2**2, ellipse)):
        for scale, size in enumerate((0.5, 0.6, 0.7, 0.8, 0.9, 1.0)):
            assert image(shape, scale, 7, 3, 9).sum() == pytest.approx(area * size**2, rel=0.05)
    for x, y in ((0, 0), (31, 0), (0, 31), (12, 25)):
        rows, columns = np.nonzero(image(1, 5, 11, x, y))
        assert columns.mean() + 0.5 == pytest.approx(16 + 32 * x / 31, abs=0.2)
        assert rows.mean() + 0.5 == pytest.approx(16 + 32 * y / 31, abs=0.2)
    for orientation in (0, 5, 14):
        rows, columns = np.nonzero(image(1, 5, orientation, 16, 16))
        spread = np.cov(columns, rows)
        axis = 0.5 * math.atan2(2 * spread[0, 1], spread[0, 0] - spread[1, 1])
        turned = -2 * np.pi * orientation / 39
        assert math.cos(2 * (axis - turned)) > 0.99


def test_refuses_factors_off_the_grid(cache):
    with pytest.raises(ValueError, match="invalid entry"):
        dsprites.load(cache).images(np.array([[0, 0, 40, 0, 0]]), np.random.default_rng(0))


def test_progress_rises_to_one_and_nothing_is_printed(empty_cache, capsys):
    progress = []
    dsprites.load(empty_cache, progress=progress.append)
    assert progress == sorted(progress)
    assert progress[-1] == 1
    assert len(progress) > 20
    assert capsys.readouterr() == ("", "")
