from itertools import pairwise

import numpy as np
import pytest

from metrics.compiled.standardise import CHUNK, second_moments, standardise

RNG = np.random.default_rng


def standardised(rows, kind):
    standard = np.full(rows.shape, np.nan, dtype=kind)
    standardise(np.ascontiguousarray(rows.T), standard)
    return standard


@pytest.mark.parametrize("points", [2, 3, 1000])
def test_rows_become_standard(points):
    rows = RNG(0).normal(3, 20, size=(4, points)) * np.array([[1e-300], [1e-5], [1], [1e148]])
    rows[2] = 0.1
    largest = rows[[0, 1, 3]].max(axis=1, keepdims=True)
    expected = rows[[0, 1, 3]] / largest
    expected -= expected.mean(axis=1, keepdims=True)
    expected *= np.sign(largest) / expected.std(axis=1, keepdims=True)
    standard = standardised(rows, np.float64)
    assert (standard[2] == 0).all()
    np.testing.assert_allclose(standard[[0, 1, 3]], expected, atol=1e-9)


def test_float32_is_rounded_once():
    rows = RNG(2).normal(30, 2, size=(3, 1000)).astype(np.float32)
    expected = standardised(rows.astype(np.float64), np.float64)
    np.testing.assert_array_equal(standardised(rows, np.float32), expected.astype(np.float32))


def test_the_smallest_numbers_have_a_scale():
    rows = np.array([[0.0, 5e-324, 5e-324, 1e-323], [0.0, 5e-324, 0.0, 0.0]])
    for kind in (np.float32, np.float64):
        standard = standardised(rows, kind)
        assert standard[0] == pytest.approx([-np.sqrt(2), 0, 0, np.sqrt(2)])
        assert np.isfinite(standard).all(), "half of the difference is 0"


@pytest.mark.parametrize("ends", [(0, 1), (0, CHUNK), (7, 2 * CHUNK + 20, 1499, 1500)])
def test_moments_are_numpy_s(ends):
    latents = RNG(1).normal(size=(5, 1500)).astype(np.float32)
    folds = len(ends) - 1
    grams, sums = np.full((folds, 5, 5), np.nan), np.full((folds, 5), np.nan)
    second_moments(latents, np.array(ends), grams, sums)
    for gram, total, (first, end) in zip(grams, sums, pairwise(ends), strict=True):
        part = latents[:, first:end].astype(float)
        np.testing.assert_allclose(gram, part @ part.T, rtol=1e-12, atol=1e-10)
        np.testing.assert_allclose(total, part.sum(axis=1), atol=1e-10)
        assert (gram == gram.T).all()
