"""Color- and Noisy-dSprites: what is drawn afresh, from which range, on which stream."""

import numpy as np
import pytest

import data
from data import dsprites
from data.base.protocol import sample_factors

NAMES = ("color_dsprites", "noisy_dsprites")


@pytest.fixture(scope="module", params=NAMES)
def noisy(request, cache):
    return data.load(request.param, "redrawn", cache)


@pytest.fixture(scope="module")
def factors():
    return sample_factors(dsprites.DESCRIPTION.factor_sizes, 300, np.random.default_rng(1))


@pytest.fixture(scope="module")
def sprites(cache, factors):
    return dsprites.load(cache).images(factors, np.random.default_rng(0)) == 1


def test_the_stream_decides_every_pixel(noisy, factors):
    images, again, other = (noisy.images(factors, np.random.default_rng(s)) for s in (2, 2, 3))
    assert np.array_equal(images, again)
    assert not any(np.array_equal(a, b) for a, b in zip(images, other, strict=True))


def test_every_call_draws_afresh(noisy, factors):
    stream = np.random.default_rng(2)
    assert not np.array_equal(noisy.images(factors, stream), noisy.images(factors, stream))


def test_colours_are_one_per_channel_and_image(cache, factors, sprites):
    images = data.load("color_dsprites", "redrawn", cache).images(factors, np.random.default_rng(4))
    colours = images.max(axis=(2, 3))
    assert np.array_equal(images, sprites * colours[:, :, None, None])
    assert len(np.unique(colours)) == colours.size
    assert_uniform(colours, 0.5, 1)


def test_noise_is_one_per_pixel_and_channel(cache, factors, sprites):
    images = data.load("noisy_dsprites", "redrawn", cache).images(factors, np.random.default_rng(4))
    on = np.broadcast_to(sprites, images.shape)
    assert np.all(images[on] == 1)
    assert_uniform(images[~on], 0, 1)
    # neighbours, channels and images do not repeat each other
    empty = np.where(on, np.nan, images)
    for a, b in (
        (empty[..., 1:], empty[..., :-1]),
        (empty[:, :, 1:], empty[:, :, :-1]),
        (empty[:, 1:], empty[:, :-1]),
        (empty[1:], empty[:-1]),
    ):
        both = ~np.isnan(a) & ~np.isnan(b)
        assert abs(np.corrcoef(a[both], b[both])[0, 1]) < 5 / np.sqrt(both.sum())


def assert_uniform(values, low, high):
    """Range, mean within five standard errors, and all tenths equally full."""
    assert values.min() >= low
    assert values.max() < high
    unit = (values.ravel().astype(float) - low) / (high - low)
    assert abs(unit.mean() - 0.5) < 5 / np.sqrt(12 * unit.size)
    tenths = np.bincount((10 * unit).astype(int), minlength=10) / unit.size
    assert np.all(abs(tenths - 0.1) < 5 * np.sqrt(0.09 / unit.size))


@pytest.mark.parametrize("name", ["color_dsprites", "noisy_dsprites", "scream_dsprites"])
@pytest.mark.parametrize("count", [7, 8])
def test_parts_are_those_of_all_pictures_and_leave_the_same_stream(name, count, cache):
    data_set = data.load(name, data.sources(name)[-1], cache)
    draws, again = np.random.default_rng(3), np.random.default_rng(3)
    factors = data_set.sample(count, draws)
    data_set.sample(count, again)
    whole = data_set.images(factors, draws)
    draw = data_set.in_parts(factors, again)
    assert draws.bit_generator.state == again.bit_generator.state
    for rows in (slice(4, 6), slice(0, 4), slice(6, None), slice(None)):
        assert np.array_equal(draw(rows), whole[rows])
    assert draws.bit_generator.state == again.bit_generator.state
