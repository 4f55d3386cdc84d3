"""CKA and CCA against the papers' formulas computed slowly, and answers that are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics import SIMILARITIES
from metrics.udr import (
    aggregate,
    cca,
    compare,
    compare_both,
    pairwise,
    prepare,
    similarity_matrix,
    whole_codes,
)

RNG = np.random.default_rng
BOTH = pytest.mark.parametrize("similarity", ["cka", "cca"])


def by_gram_matrices(x, y):
    """HSIC of the points' Gram matrices: CKA in equations 3 and 4 of Kornblith et al. 2019."""
    points = len(x)
    centring = np.eye(points) - np.ones((points, points)) / points
    k, m = (centring @ codes @ codes.T @ centring for codes in (x, y))
    size = np.sqrt(np.sum(k * k) * np.sum(m * m))
    return np.sum(k * m) / size if size else 0.0


def by_correlations(x, y):
    """The mean square of the canonical correlations: cosines of the angles between two spaces."""
    spaces = []
    for codes in (x, y):
        left, sizes, _ = np.linalg.svd(standard(codes), full_matrices=False)
        spaces.append(left[:, sizes > 1e-6])
    correlations = np.linalg.svd(spaces[0].T @ spaces[1], compute_uv=False)
    return np.mean(correlations**2) if len(correlations) else 0.0


REFERENCES = {"cka": by_gram_matrices, "cca": by_correlations}


def standard(codes):
    deviation = codes.std(axis=0)
    return (codes - codes.mean(axis=0)) / np.where((codes == codes[0]).all(axis=0), 1, deviation)


def zoo(rng, models=6, points=303, latents=4):
    factors = rng.normal(size=(points, latents))
    mixing = np.eye(latents) + 0.8 * rng.normal(size=(models, latents, latents))
    codes = factors @ mixing + 0.5 * rng.normal(size=(models, points, latents))
    return codes * rng.choice([0.1, 1, 3], size=(models, 1, latents)) + 5


def score(x, y, similarity):
    return pairwise(np.stack([x, y]), None, similarity).udr[0, 1]


@BOTH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_agree_with_the_definition(similarity, dtype):
    codes, kl = zoo(RNG(0)).astype(dtype), np.ones((6, 4))
    kl[0, 2] = kl[3, [0, 1, 3]] = 0.01  # not above the threshold
    kl[4] = 0.0
    codes[1, :, 3] = 0.1  # constant, and informative all the same
    codes[2, :, 1] = -codes[2, :, 3]
    pairs = pairwise(codes, kl, similarity)
    for i in range(6):
        for j in range(6):
            if i != j:
                sides = (codes[m][:, kl[m] > 0.01].astype(float) for m in (i, j))
                expected = 0 if 4 in (i, j) else REFERENCES[similarity](*sides)
                assert pairs.udr[i, j] == pytest.approx(expected, abs=3e-6)
    np.testing.assert_allclose(pairs.udr, pairs.udr.T, atol=1e-6)
    assert np.isnan(np.diag(pairs.udr)).all() and np.isnan(pairs.udr_eq2).all()
    assert len(set(pairs.udr[:3, :3].round(3).ravel().tolist())) > 3, "it must tell pairs apart"


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), similarity=st.sampled_from(["cka", "cca"]))
def test_any_pair_agrees_with_the_definition(seed, similarity):
    """Few points, more latents than points, ties and constant latents."""
    rng = RNG(seed)
    codes = np.round(rng.normal(size=(2, rng.integers(1, 30), rng.integers(1, 6))), 1)
    found = score(codes[0], codes[1], similarity)
    assert found == pytest.approx(REFERENCES[similarity](codes[0], codes[1]), abs=1e-5)
    assert 0 <= found <= 1 + 1e-6


@BOTH
def test_equal_models_score_one(similarity):
    x = zoo(RNG(1))[0]
    assert score(x, x, similarity) == pytest.approx(1, abs=1e-6)
    assert score(x, -3 * x[:, ::-1] + 7, similarity) == pytest.approx(1, abs=1e-6)


def test_one_far_point_gives_no_more_than_one():
    codes = np.random.default_rng(0).normal(size=(2, 50, 3))
    codes[:, 7] = 1e100
    assert score(*codes, "cca") <= 1


@BOTH
def test_models_that_have_nothing_in_common_score_near_zero(similarity):
    """Up to chance, which is the number of latents over that of points."""
    codes = RNG(2).normal(size=(2, 10_000, 5))
    assert 0 < score(codes[0], codes[1], similarity) < 5 * 5 / 10_000


@BOTH
def test_uncorrelated_models_score_zero(similarity):
    grid = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    assert score(grid[:, :2], grid[:, 2:], similarity) == pytest.approx(0, abs=1e-12)


@BOTH
def test_a_rotation_changes_nothing(similarity):
    rng = RNG(3)
    x, y = zoo(rng)[:2]
    rotation = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    assert np.abs(rotation).max() < 0.95, "the example must turn"
    before = score(x, y, similarity)
    assert score(x @ rotation, y, similarity) == pytest.approx(before, abs=1e-6)
    assert score(x, 0.2 * y @ rotation - 3, similarity) == pytest.approx(before, abs=1e-6)
    assert score(x @ rotation, x, similarity) == pytest.approx(1, abs=1e-6)
    assert 0.05 < before < 0.95


def test_an_invertible_map_changes_cka_but_not_cca():
    rng = RNG(4)
    x, y = zoo(rng)[:2]
    shear = np.eye(4) + np.triu(rng.normal(size=(4, 4)), 1)
    for changed in (x @ shear, x * [1, 30, 0.2, 1]):
        assert score(changed, y, "cca") == pytest.approx(score(x, y, "cca"), abs=1e-6)
        assert abs(score(changed, y, "cka") - score(x, y, "cka")) > 0.01
        assert score(changed, x, "cka") < 0.99
        assert score(changed, x, "cca") == pytest.approx(1, abs=1e-6)


def test_by_hand():
    """Four uncorrelated columns: two shared of three and two; scales count for CKA only."""
    grid = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    x = np.pad(grid[:, [0, 1, 2]] * [3, 1, 1], ((0, 0), (0, 1)))
    y = np.pad(grid[:, [1, 3]], ((0, 0), (0, 2)))
    # Covariances: 1 of one pair of latents; sizes: the root of 81 + 1 + 1, and that of 1 + 1.
    assert score(x, y, "cka") == pytest.approx(1 / np.sqrt(83 * 2), abs=1e-6)
    assert score(x, y, "cca") == pytest.approx(1 / 2, abs=1e-6)  # correlations 1 and 0
    within = np.pad(grid[:, [2]], ((0, 0), (0, 3)))
    assert score(x, within, "cca") == pytest.approx(1, abs=1e-6), "of the smaller, all is found"


def test_a_direction_that_varies_little_counts_in_cca():
    rng = RNG(5)
    x = rng.normal(size=(2_000, 3))
    nearly = np.column_stack([x[:, 0], x[:, 0] + 1e-3 * x[:, 1]])
    other = np.column_stack([x[:, 1], x[:, 2]])
    expected = by_correlations(nearly, other)
    assert score(nearly, other, "cca") == pytest.approx(expected, abs=1e-5)
    assert expected > 0.4


@BOTH
def test_latents_that_others_determine_and_duplicates_add_nothing_to_cca(similarity):
    x, y = zoo(RNG(6))[:2]
    more = np.column_stack([x[:, :3], x[:, 0] - 2 * x[:, 2]])
    twice = np.column_stack([x[:, :3], 5 * x[:, 1]])
    for changed in (more, twice):
        assert score(changed, y, similarity) == pytest.approx(
            REFERENCES[similarity](changed, y), abs=1e-5
        )
    three = np.column_stack([x[:, :3], np.full(len(x), 0.1)])
    assert score(more, y, "cca") == pytest.approx(score(three, y, "cca"), abs=1e-5)


@BOTH
def test_a_matrix_adds_up_to_the_score(similarity):
    x, y = zoo(RNG(7))[:2]
    x[:, 1] = 7.0
    matrix = similarity_matrix(x, y[:, :3], similarity)
    assert matrix.shape == (4, 3) and (matrix >= 0).all() and matrix[1].max() < 1e-20
    assert matrix.sum() == pytest.approx(REFERENCES[similarity](x, y[:, :3]), abs=1e-6)
    same = similarity_matrix(y, y[:, ::-1], similarity)
    if similarity == "cca":
        np.testing.assert_allclose(same, np.eye(4)[::-1] / 4, atol=1e-6)


@BOTH
def test_different_numbers_of_latents(similarity):
    rng = RNG(8)
    factors = rng.normal(size=(400, 6))
    narrow = factors @ rng.normal(size=(2, 6, 2)) + rng.normal(size=(2, 400, 2))
    wide = factors @ rng.normal(size=(3, 6, 6)) + rng.normal(size=(3, 400, 6))
    flags = np.ones((2, 2), dtype=bool), np.ones((3, 6), dtype=bool)
    flags[1][0, [1, 4]] = False
    flags[1][2] = False  # collapsed
    a, b = prepare(narrow, similarity), prepare(wide, similarity)
    there, none, back, none_back = compare_both(a, b, *flags)
    assert np.isnan(none).all() and np.isnan(none_back).all()
    np.testing.assert_array_equal(back, there.T)
    for i in range(2):
        for j in range(2):
            expected = REFERENCES[similarity](narrow[i], wide[j][:, flags[1][j]])
            assert there[i, j] == pytest.approx(expected, abs=1e-6)
    assert (there[:, 2] == 0).all()
    np.testing.assert_allclose(compare(b, a, *flags[::-1])[0], back, atol=1e-6)


@BOTH
def test_parts_of_any_size_give_the_same(monkeypatch, similarity):
    codes = zoo(RNG(9), models=11)
    whole = pairwise(codes, None, similarity).udr
    for product_bytes in (1, 4 * 4 * 44 * 3):
        monkeypatch.setattr(whole_codes, "PRODUCT_BYTES", product_bytes)
        np.testing.assert_allclose(pairwise(codes, None, similarity).udr, whole, atol=1e-6)


@BOTH
@pytest.mark.parametrize("points", [1, 2, 3])
def test_few_points_have_a_score(similarity, points):
    codes = RNG(10).normal(size=(2, points, 4))
    found = score(codes[0], codes[1], similarity)
    assert found == pytest.approx(REFERENCES[similarity](codes[0], codes[1]), abs=1e-5)
    if similarity == "cca" and points > 1:
        assert found == pytest.approx(1, abs=1e-5), "so few points have no other direction"


@BOTH
def test_models_that_agree_rank_first(similarity):
    """Though turned: by UDR they would not."""
    rng = RNG(11)
    factors = rng.normal(size=(2_000, 4))
    rotations = [np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(5)]
    codes = [factors @ each + 0.2 * rng.normal(size=factors.shape) for each in rotations]
    codes += [rng.normal(size=factors.shape) + 0.3 * factors for _ in range(3)]
    pairs = pairwise(np.array(codes), None, similarity)
    alive = np.zeros(8, dtype=bool)
    scores, _ = aggregate(pairs.udr, alive, None, rng, SIMILARITIES[similarity].symmetric)
    assert SIMILARITIES[similarity].symmetric and scores[:5].min() > scores[5:].max() + 0.1
    expected = [np.mean(np.delete(pairs.udr[:, model], model)) for model in range(8)]
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_as_many_directions_as_are_counted():
    gram = np.diag([1.0, 1e-8, 1e-10])
    assert cca.basis(gram).shape == (2, 3)
    assert cca.basis(np.zeros((2, 2))).shape == (0, 2)
