"""Scream-dSprites: patches, colours and inversion, from a scan or from a texture of ours."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import data
from data import dsprites
from data.base.protocol import sample_factors
from data.official.painting import SHAPE, THE_SCREAM
from infra.errors import WrongInput

SCAN = Path(__file__).parents[3] / "shared/data/scream/the-scream-377x480.jpg"


@pytest.fixture(scope="module")
def scream(cache):
    return data.load("scream_dsprites", "look-alike", cache)


@pytest.fixture(scope="module")
def factors():
    return sample_factors(dsprites.DESCRIPTION.factor_sizes, 200, np.random.default_rng(1))


def scan(folder: Path, size=(352, 448), seed: int = 0) -> Path:
    noise = np.random.default_rng(seed).integers(0, 256, size=(*size[::-1], 3), dtype=np.uint8)
    path = folder / "my scan.png"
    Image.fromarray(noise).save(path)
    return path


def test_every_image_is_a_patch_mixed_with_a_colour_and_inverted_in_the_sprite(
    scream, factors, cache
):
    """Undoing each step with the known patch and colour leaves nothing over."""
    images = scream.images(factors, np.random.default_rng(3))
    sprites = dsprites.load(cache).images(factors, np.random.default_rng(0))
    assert images.dtype == np.float32 and images.flags.c_contiguous
    draws = np.random.default_rng(3)
    rows = draws.integers(SHAPE[0] - 64, size=len(factors))
    columns = draws.integers(SHAPE[1] - 64, size=len(factors))
    colours = draws.random((len(factors), 3), dtype=np.float32)
    for i in range(len(factors)):
        patch = scream.picture[:, rows[i] : rows[i] + 64, columns[i] : columns[i] + 64]
        mixed = (patch + colours[i][:, None, None]) / 2
        np.testing.assert_allclose(
            images[i], np.where(sprites[i] == 1, 1 - mixed, mixed), atol=1e-6
        )
    assert images.min() >= 0 and images.max() <= 1


def test_patches_and_colours_are_uniform_and_independent(scream):
    draws = np.random.default_rng(5)
    corner = sample_factors((1, 1, 1, 1, 1), 4000, draws)  # an upper left sprite: the rest is free
    images = scream.images(corner, draws)
    free = images[:, :, 40:, 40:].mean(axis=(2, 3))
    patches = scream.picture[:, 40 : SHAPE[0] - 24, 40 : SHAPE[1] - 24].mean(axis=(1, 2))
    assert np.all(np.abs(free.mean(axis=0) - (0.5 + patches) / 2) < 0.03)
    assert np.all(free.std(axis=0) > 0.9 * 0.5 / np.sqrt(12)), "half of a U(0, 1) colour at least"
    between = np.corrcoef(free[1:, 0], free[:-1, 0])[0, 1]
    assert abs(between) < 5 / np.sqrt(len(free))


def test_the_stream_decides_every_pixel_and_every_call_draws_afresh(scream, factors):
    images, again, other = (scream.images(factors, np.random.default_rng(s)) for s in (2, 2, 3))
    assert np.array_equal(images, again)
    assert not any(np.array_equal(a, b) for a, b in zip(images, other, strict=True))
    stream = np.random.default_rng(2)
    assert not np.array_equal(scream.images(factors, stream), scream.images(factors, stream))


def test_a_scan_that_the_user_has_makes_it_redrawn(cache, tmp_path, factors):
    assert not data.is_available("scream_dsprites", "redrawn", tmp_path)
    with pytest.raises(WrongInput, match=r"fetch scream_dsprites.*look-alike"):
        data.load("scream_dsprites", "redrawn", tmp_path)
    THE_SCREAM.take(scan(tmp_path), tmp_path)
    assert data.is_available("scream_dsprites", "redrawn", tmp_path)
    content = data.content("scream_dsprites", "redrawn", tmp_path)
    assert len(content) == 16 and data.content("scream_dsprites", "look-alike", tmp_path) == ""
    (tmp_path / dsprites.FILE).symlink_to(cache / dsprites.FILE)
    loaded = data.load("scream_dsprites", "redrawn", tmp_path)
    assert (loaded.source, loaded.content) == ("redrawn", content)
    with Image.open(tmp_path / "my scan.png") as picture:
        picture.thumbnail((350, 274), Image.Resampling.BICUBIC)
        expected = np.asarray(picture).transpose(2, 0, 1) / np.float32(255)
    assert np.array_equal(loaded.picture, expected)
    other = tmp_path / "other"
    other.mkdir()
    THE_SCREAM.take(scan(other, seed=1), other)
    assert data.content("scream_dsprites", "redrawn", other) != content


@pytest.mark.parametrize("size", [(448, 352), (200, 255), (300, 300), (100, 4000)])
def test_a_picture_of_other_proportions_is_not_the_painting(tmp_path, size):
    with pytest.raises(WrongInput, match="a scan of The Scream") as error:
        THE_SCREAM.take(scan(tmp_path, size), tmp_path / "cache")
    assert f"{size[0]}x{size[1]}" in str(error.value)
    assert not THE_SCREAM.is_ready(tmp_path / "cache")


def test_a_file_that_is_no_picture_is_refused(tmp_path):
    (tmp_path / "The_Scream.jpg").write_bytes(b"<html>not found</html>")
    with pytest.raises(WrongInput, match="an unreadable picture"):
        THE_SCREAM.take(tmp_path, tmp_path / "cache")


def test_the_real_scan_shrinks_to_the_size_of_the_study(tmp_path):
    if not SCAN.exists():
        pytest.skip("needs a scan of the painting, which is not part of the repository")
    THE_SCREAM.take(SCAN, tmp_path)
    pixels = THE_SCREAM.pixels(tmp_path, "scream_dsprites")
    assert pixels.shape == (274, 215, 3)
    red, green, blue = pixels[:60].mean(axis=(0, 1))
    assert red > green > blue, "the sky is orange"
