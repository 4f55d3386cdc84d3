import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import rankdata
from sklearn.model_selection import KFold

import metrics
from metrics.udr.moments import consecutive, kind, own_pairs, prepare, standardise
from metrics.udr.spearman import ranks

RNG = np.random.default_rng
BY_MOMENTS = [name for name in metrics.SIMILARITIES if own_pairs(name) is None]


@pytest.mark.parametrize("similarity", BY_MOMENTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_constant_latents_become_zero_exactly_and_others_standard(similarity, dtype):
    codes = RNG(0).normal(3, 20, size=(2, 1003, 3)).astype(dtype)
    codes[0, :, 1] = 0.1 if dtype != np.int64 else 7  # 0.1's mean is, rounded, another number
    prepared = prepare(codes, similarity)
    assert (prepared.latents.dtype, prepared.latents.shape) == (np.float32, (2, 3, 1003))
    assert (prepared.latents[0, 1] == 0).all()
    latents = prepared.latents.astype(float)
    moving = [[1, 0, 1], [1, 1, 1]]
    np.testing.assert_allclose(latents.mean(axis=2), np.zeros((2, 3)), atol=1e-7)
    np.testing.assert_allclose(latents.std(axis=2), moving, atol=1e-6)


@pytest.mark.parametrize("similarity", BY_MOMENTS)
def test_moments_of_each_fold(similarity):
    prepared = prepare(RNG(0).normal(size=(3, 53, 4)), similarity)
    folds = kind(similarity).FOLDS
    assert folds == (5 if similarity == "lasso_cv" else 1)
    assert prepared.grams.shape == (3, folds, 4, 4)
    for fold, part in enumerate(np.array_split(np.arange(53), folds)):
        latents = prepared.latents[:, :, part].astype(float)
        gram = np.einsum("map,mbp->mab", latents, latents) / 53
        np.testing.assert_allclose(prepared.grams[:, fold], gram, atol=1e-12)
        np.testing.assert_allclose(prepared.means[:, fold], latents.sum(axis=2) / 53, atol=1e-12)


@given(points=st.integers(5, 60))
def test_folds_are_scikit_learn_s(points):
    expected = [test.tolist() for _, test in KFold(5).split(np.zeros(points))]
    assert [list(range(points))[part] for part in consecutive(points, 5)] == expected


def standardised(codes):
    standard = np.full(codes.T.shape, np.nan)
    standardise(codes, standard)
    return standard


@pytest.mark.filterwarnings("error")
def test_no_latent_is_too_large_or_small():
    codes = RNG(0).normal(size=(50, 3))
    codes /= np.abs(codes).max()
    expected = standardised(codes)
    for moved, tolerance in (
        (codes * [9e149, 1e-300, 1e-5], 1e-9),
        (codes + np.array([1e3, -1e6, 0]), 1e-8),
    ):
        np.testing.assert_allclose(standardised(moved), expected, atol=tolerance)
    assert (standardised(np.full((3, 1), 1e149)) == 0).all()


@given(
    latents=arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, max_side=8),
        elements=st.sampled_from([-1e300, -2.5, 0.0, 5e-324, 1.0, 1.0 + 2**-52, 3.0]),
    )
)
def test_ranks_are_scipy_s(latents):
    np.testing.assert_array_equal(ranks(latents) + 1, rankdata(latents, axis=1))


def test_a_list_of_similarities_does_not_wait_for_numba():
    script = (
        "import sys; from metrics.udr import SIMILARITIES, kind; [kind(s) for s in SIMILARITIES];"
        "print({'numba', 'scipy', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
