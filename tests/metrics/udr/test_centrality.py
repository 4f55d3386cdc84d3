"""ModelCentrality against loops, the FactorVAE score, and answers that are known."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.base.inputs import Groups
from metrics.factor_vae import factor_vae
from metrics.udr import aggregate, compare, compare_both, pairwise, prepare, similarity_matrix
from metrics.udr.centrality import Grouped

RNG = np.random.default_rng


def by_loops(voters, factors):
    """A_ij of codes (points, latents of i) and (points, latents of j), without constant latents."""
    points, count = len(factors), max(2, len(factors) // 100)
    ballots = {}
    for factor in range(factors.shape[1]):
        values = factors[:, factor]
        members = {}
        for point in range(points):
            lower, equal = (values < values[point]).sum(), (values == values[point]).sum()
            rank = lower + Fraction(int(equal) - 1, 2)
            members.setdefault(int((rank + Fraction(1, 2)) * count / points), []).append(point)
        for group in members.values():
            if len(group) > 1:
                relative = [
                    voters[group, a].var() / voters[:, a].var() for a in range(voters.shape[1])
                ]
                ballot = relative.index(min(relative)), factor
                ballots[ballot] = ballots.get(ballot, 0) + 1
    right = 0
    for latent in range(voters.shape[1]):
        right += max(ballots.get((latent, factor), 0) for factor in range(factors.shape[1]))
    return right / sum(ballots.values())


def centrality(codes, kl=None):
    """The score of each model, compared with all others."""
    pairs = pairwise(codes, kl, "centrality")
    return aggregate(pairs.udr, pairs.informative == 0, None, RNG(0), symmetric=True)[0]


def mixtures(rng, models=5, points=450, latents=4, noise=0.3):
    factors = rng.normal(size=(points, latents))
    mixing = np.eye(latents) + 0.7 * rng.normal(size=(models, latents, latents))
    return factors @ mixing + noise * rng.normal(size=(models, points, latents))


@pytest.mark.parametrize("points", [90, 450, 1000, 1049])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_agree_with_loops(points, dtype):
    codes = mixtures(RNG(points), points=points).astype(dtype)
    codes[1] = 5 * codes[1] - 3
    pairs = pairwise(codes, None, "centrality")
    found = []
    for i in range(5):
        for j in range(5):
            if i != j:
                found.append(pairs.udr[i, j])
                assert found[-1] == pytest.approx(by_loops(codes[i], codes[j]), abs=1e-12)
    assert np.isnan(np.diag(pairs.udr)).all() and np.isnan(pairs.udr_eq2).all()
    assert len(set(found)) > 3, "the example must tell pairs apart"
    assert np.abs(pairs.udr - pairs.udr.T)[~np.eye(5, dtype=bool)].max() > 0, "and directions"


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_equal_values_share_a_group(seed):
    """Whole numbers: most points are tied with others, and some groups have one point."""
    rng = RNG(seed)
    codes = rng.normal(size=(2, rng.integers(4, 320), 3))
    codes[1] = np.round(codes[1] * rng.choice([0.7, 2.0, 30.0]))
    codes[1, :2] = [[-500.0] * 3, [500.0] * 3]
    found = pairwise(codes, None, "centrality").udr[0, 1]
    assert found == pytest.approx(by_loops(codes[0], codes[1]), abs=1e-12)


def test_it_is_the_factor_vae_score_of_these_groups():
    """Groups of equal size, all of which train and test."""
    voters, factors = mixtures(RNG(3), models=2, points=2_000, noise=0.5)
    order = factors.argsort(axis=0)
    places = np.concatenate([order[:, k].reshape(20, 100) for k in range(4)])
    groups = Groups(codes=voters[places], factor=np.repeat(np.arange(4), 20))
    (score, *_) = factor_vae(voters, groups, groups)
    found = pairwise(np.stack([voters, factors]), None, "centrality").udr[0, 1]
    assert found == score.value
    assert 0.4 < found < 0.95


def test_ten_thousand_points_make_the_groups_of_the_released_code():
    prepared = prepare(RNG(0).normal(size=(1, 10_000, 10)), "centrality")
    assert isinstance(prepared, Grouped)
    assert (prepared.ends[0] == np.arange(100, 10_001, 100)).all()
    assert prepared.ends.shape == (1, 10, 100)


def far_rotation(rng, latents):
    """One in which no latent is mostly one factor: votes do not see a small rotation."""
    while True:
        rotation = np.linalg.qr(rng.normal(size=(latents, latents)))[0]
        if np.abs(rotation).max() < 0.75:
            return rotation


def planted(rng, good=4, rotated=3, points=2_000, latents=5, noise=0.1):
    """Good models: the factors in another order, with other signs and scales; and rotated ones."""
    factors = rng.uniform(-1, 1, size=(points, latents))
    models = []
    for _ in range(good):
        scale = rng.choice([-2.0, -1.0, 1.0, 3.0], size=latents)
        models.append(factors[:, rng.permutation(latents)] * scale)
    for _ in range(rotated):
        models.append(factors @ far_rotation(rng, latents))
    codes = np.array(models)
    return codes + noise * codes.std() * rng.normal(size=codes.shape)


def test_equal_models_score_one_whatever_the_order_and_the_signs():
    codes = planted(RNG(0), good=3, rotated=0, noise=0)
    pairs = pairwise(codes, None, "centrality")
    assert (pairs.udr[~np.eye(3, dtype=bool)] == 1).all()
    assert centrality(codes).tolist() == [1, 1, 1]


def test_a_rotated_model_scores_lower():
    codes = planted(RNG(1), good=2, rotated=0, latents=4, noise=0.02)
    equally = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    straight = codes[0] / codes[0].std(axis=0)
    pairs = pairwise(np.array([*codes, straight @ equally]), None, "centrality").udr
    assert min(pairs[0, 1], pairs[1, 0]) > 0.99
    assert max(pairs[[0, 1, 2, 2], [2, 2, 0, 1]]) < 0.6


def test_models_that_have_nothing_in_common_score_as_by_guessing():
    codes = RNG(2).normal(size=(2, 10_000, 5))
    pairs = pairwise(codes, None, "centrality").udr
    assert 0.2 <= pairs[0, 1] < 0.3 and 0.2 <= pairs[1, 0] < 0.3


@pytest.mark.parametrize("seed", range(8))
def test_a_good_model_is_the_most_central(seed):
    scores = centrality(planted(RNG(seed), good=5, rotated=4))
    assert scores[:5].min() > scores[5:].max()


def test_the_models_order_changes_nothing():
    codes = planted(RNG(3), noise=0.6)
    kl = np.where(RNG(4).random((7, 5)) < 0.2, 0.0, 1.0)
    order = RNG(5).permutation(7)
    before, after = centrality(codes, kl), centrality(codes[order], kl[order])
    np.testing.assert_allclose(after, before[order], rtol=1e-12)
    assert len(set(before.round(6))) == 7


def test_neither_the_points_order_nor_signs_and_scales_of_latents_matter():
    codes = mixtures(RNG(6), points=1_000)
    before = pairwise(codes, None, "centrality").udr
    points = RNG(7).permutation(1_000)
    np.testing.assert_array_equal(pairwise(codes[:, points], None, "centrality").udr, before)
    latents = RNG(8).permutation(4)
    turned = codes[:, :, latents] * [-1, 30, -0.2, 1] + [0, 9, -4, 0]
    np.testing.assert_array_equal(pairwise(turned, None, "centrality").udr, before)


def test_a_score_is_the_mean_over_both_directions():
    pairs = RNG(9).random((4, 4))
    alive = np.zeros(4, dtype=bool)
    scores, comparisons = aggregate(pairs, alive, None, RNG(0), symmetric=True)
    for model in range(4):
        others = [other for other in range(4) if other != model]
        both = [(pairs[model, other] + pairs[other, model]) / 2 for other in others]
        assert scores[model] == pytest.approx(sum(both) / 3)
    assert comparisons.tolist() == [3] * 4
    other_way, _ = aggregate(pairs.T, alive, None, RNG(0), symmetric=True)
    np.testing.assert_allclose(other_way, scores, rtol=1e-12)
    some, comparisons = aggregate(pairs, alive, 1, RNG(0), symmetric=True)
    both = (pairs + pairs.T) / 2
    assert comparisons.tolist() == [1] * 4
    assert all(some[m] in both[m] and some[m] != both[m, m] for m in range(4))


def test_a_collapsed_model_scores_zero_and_disturbs_nobody():
    codes = planted(RNG(10), noise=0.5)
    kl = np.ones((7, 5))
    kl[2] = 0.0
    others = [0, 1, 3, 4, 5, 6]
    scores = centrality(codes, kl)
    assert scores[2] == 0
    np.testing.assert_array_equal(scores[others], centrality(codes[others], kl[others]))
    pairs = pairwise(codes, kl, "centrality").udr
    assert (np.delete(pairs[2], 2) == 0).all() and (np.delete(pairs[:, 2], 2) == 0).all()


def test_latents_that_are_not_informative_or_constant_take_no_part():
    codes = mixtures(RNG(11), models=3, points=500)
    kl = np.ones((3, 4))
    kl[0, 1] = kl[1, [0, 3]] = 0.01
    codes[2, :, 2] = 0.1  # constant, and informative all the same
    pairs = pairwise(codes, kl, "centrality").udr
    left = [codes[0][:, [0, 2, 3]], codes[1][:, [1, 2]], codes[2][:, [0, 1, 3]]]
    for i in range(3):
        for j in range(3):
            if i != j:
                assert pairs[i, j] == pytest.approx(by_loops(left[i], left[j]), abs=1e-12)


def test_different_numbers_of_latents():
    rng = RNG(12)
    narrow, wide = mixtures(rng, latents=2, models=2), mixtures(rng, latents=6, models=3)
    a, b = prepare(narrow, "centrality"), prepare(wide, "centrality")
    flags_a, flags_b = np.ones((2, 2), dtype=bool), np.ones((3, 6), dtype=bool)
    flags_b[1, 4] = False
    there, none, back, none_back = compare_both(a, b, flags_a, flags_b)
    assert np.isnan(none).all() and np.isnan(none_back).all()
    assert (there.shape, back.shape) == ((2, 3), (3, 2))
    for i in range(2):
        for j in range(3):
            of_j = wide[j][:, flags_b[j]]
            assert there[i, j] == pytest.approx(by_loops(narrow[i], of_j), abs=1e-12)
            assert back[j, i] == pytest.approx(by_loops(of_j, narrow[i]), abs=1e-12)
    np.testing.assert_array_equal(compare(b, a, flags_b, flags_a)[0], back)


def test_a_matrix_has_the_share_of_each_latent():
    codes = planted(RNG(13), good=2, rotated=0, noise=0)
    constant = codes[1].copy()
    constant[:, 3] = 7.0
    matrix = similarity_matrix(codes[0], constant, "centrality")
    expected = np.abs(np.corrcoef(codes[0].T, codes[1].T)[:5, 5:]) > 0.9
    expected[:, 3] = False
    np.testing.assert_array_equal(matrix, expected)
    mixed = mixtures(RNG(14), models=2)
    matrix = similarity_matrix(mixed[0], mixed[1], "centrality")
    np.testing.assert_allclose(matrix.sum(axis=0), 1)
    share = matrix.max(axis=1).sum() / 4  # all factors have as many groups
    assert share == pytest.approx(by_loops(mixed[0], mixed[1]))


@pytest.mark.parametrize("points", [1, 2, 3])
def test_few_points_have_a_score(points):
    codes = RNG(15).normal(size=(2, points, 3))
    pairs = pairwise(codes, None, "centrality").udr
    assert np.isfinite(pairs[[0, 1], [1, 0]]).all()
