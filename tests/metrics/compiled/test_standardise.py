import numpy as np
import pytest

from metrics.compiled.standardise import CHUNK, second_moments, standardise

RNG = np.random.default_rng


@pytest.mark.parametrize("points", [2, 3, 1000])
def test_rows_become_standard(points):
    rows = RNG(0).normal(3, 20, size=(4, points)) * np.array([[1e-300], [1e-5], [1], [1e148]])
    rows[2] = 0.1
    low, high = rows.min(axis=1), rows.max(axis=1)
    expected = (rows / high[:, None] - (rows / high[:, None]).mean(axis=1, keepdims=True))[
        [0, 1, 3]
    ]
    expected /= expected.std(axis=1, keepdims=True)
    standard = np.full_like(rows, np.nan)
    standardise(rows, low, high, standard)
    assert (standard[2] == 0).all()
    np.testing.assert_allclose(
        standard[[0, 1, 3]], expected * np.sign(high[[0, 1, 3], None]), atol=1e-9
    )


def test_float32_is_rounded_once():
    rows = RNG(2).normal(30, 2, size=(3, 1000)).astype(np.float32)
    found, expected = np.empty_like(rows), np.empty(rows.shape)
    for latents, standard in ((rows, found), (rows.astype(np.float64), expected)):
        standardise(latents, latents.min(axis=1), latents.max(axis=1), standard)
    np.testing.assert_array_equal(found, expected.astype(np.float32))


def test_the_smallest_numbers_have_a_scale():
    rows = np.array([[0.0, 5e-324, 5e-324, 1e-323], [0.0, 5e-324, 0.0, 0.0]])
    standard = np.empty_like(rows)
    standardise(rows, rows.min(axis=1), rows.max(axis=1), standard)
    assert standard[0] == pytest.approx([-np.sqrt(2), 0, 0, np.sqrt(2)])
    assert np.isfinite(standard).all(), "half of the difference is 0"


@pytest.mark.parametrize(("first", "end"), [(0, 1), (0, CHUNK), (7, 2 * CHUNK + 20), (1499, 1500)])
def test_moments_are_numpy_s(first, end):
    latents = RNG(1).normal(size=(5, 1500)).astype(np.float32)
    gram, sums = second_moments(latents, first, end)
    part = latents[:, first:end].astype(float)
    np.testing.assert_allclose(gram, part @ part.T, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(sums, part.sum(axis=1), atol=1e-10)
    assert (gram == gram.T).all()
