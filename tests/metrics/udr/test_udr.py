import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.linear_model import Lasso, MultiTaskLassoCV

from metrics import udr
from metrics.base.arrays import BadArray
from metrics.udr import (
    SIMILARITIES,
    aggregate,
    compare,
    compare_both,
    lasso_cv,
    pairwise,
    prepare,
    similarity_matrix,
)
from metrics.udr.moments import kind, own_pairs

RNG = np.random.default_rng
EVERY = pytest.mark.parametrize("similarity", SIMILARITIES)
# The others are in test_centrality.py and test_whole_codes.py.
BY_MOMENTS = pytest.mark.parametrize("similarity", [s for s in SIMILARITIES if not own_pairs(s)])


@pytest.fixture
def exact(monkeypatch):
    """Without the slack that the paper's tolerance leaves."""
    monkeypatch.setattr(lasso_cv, "TOLERANCE", 1e-9)
    monkeypatch.setattr(lasso_cv, "SWEEPS", 20_000)


def standard(codes):
    deviation = codes.std(axis=0)
    return (codes - codes.mean(axis=0)) / np.where((codes == codes[0]).all(axis=0), 1, deviation)


def by_lasso(regressors, targets):
    model = Lasso(alpha=0.1, tol=1e-10, max_iter=100_000)
    return np.abs(model.fit(regressors, targets).coef_.T.reshape(regressors.shape[1], -1))


def by_lasso_cv(regressors, targets):
    with np.errstate(invalid="ignore"):
        return np.abs(MultiTaskLassoCV(cv=5).fit(regressors, targets).coef_.T)


def by_spearman(regressors, targets):
    return np.array(
        [
            [abs(spearmanr(x, y).statistic) if x.std() * y.std() else 0 for y in targets.T]
            for x in regressors.T
        ]
    )


REFERENCES = {"lasso": by_lasso, "lasso_cv": by_lasso_cv, "spearman": by_spearman}


def by_definition(codes, kl, similarity):
    """Both scores of all pairs, with scikit-learn, scipy and loops.

    As in the released code, latents that are not informative are set to 0, then left out.
    """
    models = len(codes)
    scores = np.full((2, models, models), np.nan)
    kept = [standard(one.astype(float)) * (own > 0.01) for one, own in zip(codes, kl, strict=True)]
    for i in range(models):
        for j in range(models):
            if i == j:
                continue
            matrix = REFERENCES[similarity](kept[i], kept[j])[kl[i] > 0.01][:, kl[j] > 0.01]
            columns = [max(c) ** 2 / sum(c) if sum(c) else 0.0 for c in matrix.T]
            rows = [max(r) ** 2 / sum(r) if sum(r) else 0.0 for r in matrix]
            if not rows or not columns:
                scores[:, i, j] = 0
                continue
            scores[0, i, j] = (np.mean(columns) + np.mean(rows)) / 2
            scores[1, i, j] = (sum(columns) + sum(rows)) / (len(columns) + len(rows))
    return scores


def zoo(rng, models=7, points=300, mixed=0.5):
    """Models of the same points: good and bad ones, constant and quiet latents, one collapsed."""
    factors = rng.normal(size=(points, 5))
    mixing = np.eye(5) + mixed * rng.normal(size=(models, 5, 5))
    codes = factors @ mixing
    codes[0] = factors
    codes += [1, 0, -5, 0, 100]
    codes[1, :, 3] = 0.1  # constant
    kl = np.full((models, 5), 2.0)
    kl[1, 3] = 0.001
    kl[2, 2] = 0.011
    kl[3, [0, 2]] = 0.01  # not above the threshold
    kl[4] = 0.0
    return codes, kl


@BY_MOMENTS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_agree_with_the_definition(similarity, dtype):
    codes, kl = zoo(RNG(0), points=303)  # folds of 61 and 60
    codes = codes.astype(dtype)
    codes[2, :, 4] = -codes[2, :, 1]
    kl[1, 3] = 1.0  # constant, and informative all the same
    expected, expected_eq2 = by_definition(codes, kl, similarity)
    pairs = pairwise(codes, kl, similarity)
    np.testing.assert_allclose(pairs.udr, expected, atol=3e-6)
    np.testing.assert_allclose(pairs.udr_eq2, expected_eq2, atol=3e-6)
    assert pairs.informative.tolist() == [5, 5, 5, 3, 0, 5, 5]
    different = ~np.isclose(expected, expected_eq2, equal_nan=True)
    assert different[0, 3], "the example must tell the formulas apart"
    if similarity != "spearman":
        assert abs(expected[0, 1] - expected[1, 0]) > 1e-3, "and the directions"


@BY_MOMENTS
def test_a_matrix_of_two_models_agrees_with_scikit_learn_and_scipy(similarity):
    codes, _ = zoo(RNG(1))
    codes[0, :, 1] = 7.0
    found = similarity_matrix(codes[0], codes[1, :, :4], similarity)
    expected = REFERENCES[similarity](standard(codes[0]), standard(codes[1, :, :4]))
    assert found.shape == (5, 4) and (found >= 0).all()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert (found[[1]] == 0).all() and (found[:, 3] == 0).all(), "constant latents"
    assert np.abs(expected).max() > 0.3


@EVERY
def test_blocks_of_any_size_give_the_same(monkeypatch, similarity):
    codes, kl = zoo(RNG(0))
    whole = pairwise(codes, kl, similarity)
    for models, product_bytes in ((1, 1), (2, 10**9), (3, 4 * 25 * 7), (10, 5 * 8 * 25 * 7 * 2)):
        monkeypatch.setattr(udr, "BLOCK_BYTES", models * 4 * 300 * 5)
        monkeypatch.setattr(udr, "PRODUCT_BYTES", product_bytes)
        parts = pairwise(codes, kl, similarity)
        np.testing.assert_allclose(parts.udr, whole.udr, atol=1e-6)
        np.testing.assert_allclose(parts.udr_eq2, whole.udr_eq2, atol=1e-6)


@EVERY
def test_threads_give_the_same(monkeypatch, similarity):
    codes, kl = zoo(RNG(0))
    alone = pairwise(codes, kl, similarity)
    for threads, block_bytes, held in ((2, 10**9, 16), (3, 4 * 300 * 5, 2), (20, 10**9, 16)):
        monkeypatch.setattr(udr, "BLOCK_BYTES", block_bytes)
        monkeypatch.setattr(udr, "HELD", held)
        together = pairwise(codes, kl, similarity, threads=threads)
        np.testing.assert_allclose(together.udr, alone.udr, atol=1e-6)
        np.testing.assert_allclose(together.udr_eq2, alone.udr_eq2, atol=1e-6)


def test_several_threads_compare_at_once(monkeypatch):
    """Each waits until the other has begun, too."""
    codes, kl = zoo(RNG(0))
    both = threading.Barrier(2, timeout=30)
    compare_of_udr = udr.compare

    def compare_together(*arguments):
        both.wait()
        return compare_of_udr(*arguments)

    monkeypatch.setattr(udr, "compare", compare_together)
    pairwise(codes, kl, threads=2)


def test_a_pair_does_not_depend_on_those_beside_it():
    rng = RNG(5)
    codes = rng.normal(size=(40, 200, 5)) + 2 * rng.normal(size=(200, 1))  # slow to converge
    codes[:20] = rng.normal(size=(20, 200, 5))  # and quick
    kl = np.ones((40, 5))
    whole = pairwise(codes, kl)
    for pair in ([3, 30], [30, 31], [0, 39]):
        alone = pairwise(codes[pair], kl[pair])
        np.testing.assert_allclose(alone.udr, whole.udr[np.ix_(pair, pair)], atol=1e-6)


@EVERY
def test_both_directions_at_once_are_each_direction(similarity):
    codes, kl = zoo(RNG(2))
    a, b = prepare(codes[:3], similarity), prepare(codes[3:], similarity)
    informative_a, informative_b = kl[:3] > 0.01, kl[3:] > 0.01
    both = compare_both(a, b, informative_a, informative_b)
    there = compare(a, b, informative_a, informative_b)
    back = compare(b, a, informative_b, informative_a)
    assert [each.shape for each in both] == [(3, 4), (3, 4), (4, 3), (4, 3)]
    for found, expected in zip(both, (*there, *back), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    whole = pairwise(codes, kl, similarity)
    np.testing.assert_allclose(both[0], whole.udr[:3, 3:], atol=1e-6)
    np.testing.assert_allclose(both[2], whole.udr[3:, :3], atol=1e-6)


@BY_MOMENTS
def test_models_of_different_numbers_of_latents_agree_with_the_definition(similarity):
    """Each model against each, as if alone: scikit-learn, scipy and loops know no padding."""
    rng = RNG(4)
    factors = rng.normal(size=(300, 6))
    sides, flags = [], []
    for models, latents in ((3, 2), (2, 6)):
        mixing = np.eye(6)[:, :latents] + 0.4 * rng.normal(size=(models, 6, latents))
        sides.append(factors @ mixing)
        flags.append(np.ones((models, latents), dtype=bool))
    flags[1][0, [1, 4]] = False
    flags[0][2] = False  # collapsed
    a, b = (prepare(side, similarity) for side in sides)
    scores = compare_both(a, b, *flags)
    assert [each.shape for each in scores] == [(3, 2), (3, 2), (2, 3), (2, 3)]
    for i in range(3):
        for j in range(2):
            of_i, of_j = sides[0][i][:, flags[0][i]], sides[1][j][:, flags[1][j]]
            there, back = pair_by_definition(of_i, of_j, similarity)
            assert (scores[0][i, j], scores[1][i, j]) == pytest.approx(there, abs=3e-6)
            assert (scores[2][j, i], scores[3][j, i]) == pytest.approx(back, abs=3e-6)
    different = ~np.isclose(scores[0], scores[1])
    assert different[:2].all(), "the example must tell the formulas apart"


def pair_by_definition(of_i, of_j, similarity):
    """(udr, udr_eq2) where i predicts j, and where j predicts i; codes of informative latents."""
    if not of_i.shape[1] or not of_j.shape[1]:
        return (0, 0), (0, 0)
    scores = []
    for regressors, targets in ((of_i, of_j), (of_j, of_i)):
        matrix = REFERENCES[similarity](standard(regressors), standard(targets))
        columns = [max(c) ** 2 / sum(c) if sum(c) else 0.0 for c in matrix.T]
        rows = [max(r) ** 2 / sum(r) if sum(r) else 0.0 for r in matrix]
        total = sum(columns) + sum(rows)
        mean = (np.mean(columns) + np.mean(rows)) / 2
        scores.append((mean, total / (len(columns) + len(rows))))
    return scores


@EVERY
def test_latents_alike_on_both_sides_need_not_be_the_same_object(similarity):
    codes, kl = zoo(RNG(2))
    prepared, informative = prepare(codes, similarity), kl > 0.01
    for found, expected in zip(
        compare(prepared, prepared, informative, informative),
        compare(prepared, prepare(codes, similarity), informative, informative.copy()),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    fewer = informative & (np.arange(5) > 1)
    expected = compare(prepared, prepare(codes, similarity), fewer, informative)
    np.testing.assert_allclose(compare(prepared, prepared, fewer, informative), expected, atol=1e-6)


def test_the_product_of_float32_is_as_good_as_of_float64(monkeypatch):
    rng = RNG(0)
    codes = rng.normal(size=(6, 20_000, 6)) + rng.normal(size=(20_000, 6))
    codes[3] = codes[2] @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    for similarity in ("lasso", "spearman"):
        prepared, all_of_them = prepare(codes, similarity), np.ones((6, 6), dtype=bool)
        sides = udr._Side(prepared, all_of_them), udr._Side(prepared, all_of_them.copy())
        found, scores = udr._product(*sides), pairwise(codes, similarity=similarity).udr
        monkeypatch.setattr(kind(similarity), "PRODUCT", np.float64)
        expected = udr._product(*sides)
        assert (found.dtype, expected.dtype) == (np.float32, np.float64)
        np.testing.assert_allclose(found, expected, atol=1e-6, rtol=0)
        assert np.abs(expected).max() == pytest.approx(1)
        better = pairwise(codes, similarity=similarity).udr
        assert np.abs(scores - better)[~np.eye(6, dtype=bool)].max() < 1e-6


def test_memory_is_bounded(monkeypatch):
    codes = RNG(0).normal(size=(60, 4_000, 5)).astype(np.float32)
    monkeypatch.setattr(udr, "BLOCK_BYTES", 4 * codes[0].nbytes)
    monkeypatch.setattr(udr, "HELD", 2)
    monkeypatch.setattr(udr, "PRODUCT_BYTES", 20_000)
    pairwise(codes[:2])  # compiles
    tracemalloc.start()
    pairwise(codes)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Two blocks, each as it was prepared and of its informative latents only, and change.
    assert peak < 6 * 4 * codes[0].nbytes < codes.nbytes / 2


def test_memory_of_many_models_of_few_points_is_bounded_too(monkeypatch):
    models = 300
    codes = RNG(0).normal(size=(models, 10, 8)).astype(np.float32)
    pairwise(codes[:2])  # compiles
    peaks = []
    for product_bytes in (100_000, 10**9):
        monkeypatch.setattr(udr, "PRODUCT_BYTES", product_bytes)
        tracemalloc.start()
        pairwise(codes)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < 7 * 8 * models**2  # udr and udr_eq2, of all and of the block, and change
    assert peaks[1] - peaks[0] > 4 * 0.8 * (8 * models) ** 2, (
        "the product must have been held whole"
    )


@EVERY
@pytest.mark.parametrize("seed", [0, 3])
def test_order_sign_scale_and_place_of_latents_change_nothing(exact, similarity, seed):
    rng = RNG(seed)
    codes, kl = zoo(rng, mixed=0.2)  # far from latents that determine each other
    changed, changed_kl = codes.copy(), kl.copy()
    for model in range(len(codes)):
        order, scales = rng.permutation(5), rng.choice([-3, -1, 0.1, 1], size=5)
        if similarity == "cka":  # in which the scales of latents count
            scales = 0.1 * np.sign(scales)
        changed[model] = codes[model][:, order] * scales + 7
        changed_kl[model] = kl[model, order]
    before, after = pairwise(codes, kl, similarity), pairwise(changed, changed_kl, similarity)
    np.testing.assert_allclose(after.udr, before.udr, atol=1e-5)
    np.testing.assert_allclose(after.udr_eq2, before.udr_eq2, atol=1e-5)
    assert (after.informative == before.informative).all()


@EVERY
@pytest.mark.parametrize("size", [1e-300, 1e-140, 1e-20, 1e30, 9e149])
@pytest.mark.filterwarnings("error")
def test_no_scale_is_too_small_or_large(similarity, size):
    codes = RNG(0).normal(size=(3, 60, 4))
    codes /= np.abs(codes).max()
    before, after = pairwise(codes, None, similarity), pairwise(size * codes, None, similarity)
    np.testing.assert_allclose(after.udr, before.udr, atol=1e-6)


def uncorrelated(count=4):
    """Latents whose values and ranks are exactly uncorrelated, in every fold as well."""
    grid = np.stack(np.meshgrid(*[[-1.0, 1.0]] * count, indexing="ij"), axis=-1)
    return np.tile(grid.reshape(-1, count), (10, 1))


# Identical models have one entry per row and column. Lasso: 1 - 0.1. Spearman: 1. The chosen
# multi-task penalty is the smallest, a thousandth of the largest, which is 1.
IDENTICAL = {"lasso": 0.9, "lasso_cv": 0.999, "spearman": 1.0}


@BY_MOMENTS
def test_equal_models_score_one_up_to_the_shrinkage(exact, similarity):
    codes = uncorrelated()
    pairs = pairwise(np.array([codes, -codes[:, ::-1]]), similarity=similarity)
    expected = IDENTICAL[similarity]
    for found in (pairs.udr, pairs.udr_eq2):
        np.testing.assert_allclose(found, [[np.nan, expected], [expected, np.nan]], atol=1e-6)


def test_the_paper_s_tolerance_stops_at_a_hundredth_of_the_largest_penalty():
    # Coefficients of penalty a, here 1 - a, are good enough for all smaller ones once the duality
    # gap a²/2 + ... is below 1e-4 of the targets' squares, so that their errors are equal.
    codes = uncorrelated()
    pairs = pairwise(np.array([codes, codes]), similarity="lasso_cv")
    expected = MultiTaskLassoCV(cv=5).fit(codes, codes).coef_[0, 0]
    assert pairs.udr[0, 1] == pytest.approx(expected, abs=1e-6)
    assert 0.98 < expected < 0.995


@BY_MOMENTS
def test_a_subset_of_latents_scores_as_high_by_columns_only(exact, similarity):
    codes, top = uncorrelated(), IDENTICAL[similarity]
    kl = np.array([[1, 1, 1, 1], [1, 1, 0, 0.0]])
    pairs = pairwise(np.array([codes, codes]), kl, similarity)
    # Columns (targets) 1, 1; rows (regressors) 1, 1, 0, 0; and the reverse; each times `top`.
    assert pairs.udr[0, 1] == pytest.approx(top * (1 + 0.5) / 2)
    assert pairs.udr[1, 0] == pytest.approx(top * (0.5 + 1) / 2)
    assert pairs.udr_eq2[0, 1] == pytest.approx(top * 4 / 6)


ROTATION = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2


@BY_MOMENTS
def test_a_rotated_model_scores_low(similarity):
    codes = uncorrelated()
    pairs = pairwise(np.array([codes, codes, codes @ ROTATION]), similarity=similarity)
    straight, rotated = pairs.udr[0, 1], pairs.udr[[0, 2], [2, 0]]
    if similarity == "lasso":  # all sixteen coefficients are 0.5 - 0.1; max² / sum is 0.4 / 4
        assert rotated == pytest.approx([0.1, 0.1])
    assert (rotated < 0.15).all() and straight > 0.85


@EVERY
@pytest.mark.parametrize("with_kl", [False, True])
def test_a_collapsed_model_scores_zero_and_disturbs_nobody(similarity, with_kl):
    codes, _ = zoo(RNG(1))
    dead = codes[:1] if with_kl else np.full((1, 300, 5), 0.1)
    with_dead = np.concatenate([codes[:3], dead, codes[3:]])
    others = [0, 1, 2, 4, 5, 6, 7]
    kl = np.where(np.arange(8) == 3, 0.0, 1.0)[:, None] * np.ones((8, 5)) if with_kl else None
    pairs = pairwise(with_dead, kl, similarity)
    alone = pairwise(codes, np.ones((7, 5)) if with_kl else None, similarity)
    assert pairs.informative[3] == 0
    np.testing.assert_array_equal(np.delete(pairs.udr[3], 3), 0)
    if not own_pairs(similarity):
        np.testing.assert_array_equal(np.delete(pairs.udr_eq2[:, 3], 3), 0)
    np.testing.assert_allclose(pairs.udr[np.ix_(others, others)], alone.udr, atol=1e-6)
    scores, comparisons = aggregate(pairs.udr, pairs.informative == 0, None, RNG(0))
    expected, _ = aggregate(alone.udr, alone.informative == 0, None, RNG(0))
    np.testing.assert_allclose(scores[others], expected, atol=1e-6)
    assert (scores[3], comparisons[3]) == (0, 0)
    assert comparisons[others].tolist() == [6] * 7


@BY_MOMENTS
def test_constant_latents_that_count_as_informative_score_nothing(similarity):
    codes = np.repeat(uncorrelated()[None], 3, axis=0)
    codes[1] = 0.1
    codes[2, :, 1:] = 0.1
    pairs = pairwise(codes, np.ones((3, 4)), similarity)
    assert pairs.udr[0, 1] == pairs.udr[1, 2] == pairs.udr[2, 1] == 0
    # One entry in one of four rows and columns.
    assert pairs.udr[0, 2] == pytest.approx(IDENTICAL[similarity] / 4, abs=2e-3)
    assert pairs.udr_eq2[2, 0] == pytest.approx(IDENTICAL[similarity] / 4, abs=2e-3)


@BY_MOMENTS
@pytest.mark.filterwarnings("error")
def test_one_latent_few_points_and_latents_that_move_in_one_fold_only(similarity):
    one = RNG(0).normal(size=(2, 30, 1))
    matrix = similarity_matrix(one[0], one[1], similarity)
    assert pairwise(one, None, similarity).udr[0, 1] == pytest.approx(matrix[0, 0], abs=1e-6)
    few = RNG(0).normal(size=(3, 5, 4))
    few[1, :4, 2] = 3.0
    assert np.isfinite(pairwise(few, None, similarity).udr[~np.eye(3, dtype=bool)]).all()
    moving = RNG(0).normal(size=(2, 50, 3))
    moving[0, :40, 0] = 1.0  # constant wherever the last fold is held out
    pairs = pairwise(moving, None, similarity).udr
    assert ((pairs >= 0) & (pairs <= 1.1))[~np.eye(2, dtype=bool)].all()


def test_duplicated_latents_end_in_time_with_the_first_sweeps_choice():
    rng = RNG(0)
    factors = rng.normal(size=(5_000, 5))
    twice = factors[:, [0, 1, 0, 2, 1]] * [1, 3, -0.7, 1, 1 / 3]
    found = similarity_matrix(twice, factors)
    assert found[:, 0] == pytest.approx([0.9, 0, 0, 0, 0], abs=0.03)
    expected = by_lasso(standard(twice), standard(factors))
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_without_kl_latents_that_move_are_informative():
    codes = RNG(0).normal(size=(2, 50, 3))
    codes[1, :, [0, 2]] = 0.1
    assert pairwise(codes).informative.tolist() == [3, 1]
    kl = np.array([[0.5, 0.2, 0.1], [0.5, 0.2, 0.1]])
    assert pairwise(codes, kl, threshold=0.2).informative.tolist() == [1, 1]


def test_one_model_alone_has_no_pairs():
    pairs = pairwise(RNG(0).normal(size=(1, 50, 3)))
    assert np.isnan(pairs.udr).all()
    scores, comparisons = aggregate(pairs.udr, pairs.informative == 0, None, RNG())
    assert np.isnan(scores[0])
    assert comparisons.tolist() == [0]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    similarity=st.sampled_from([name for name in SIMILARITIES if name != "lasso_cv"]),
)
def test_any_table_has_scores(seed, similarity):
    rng = RNG(seed)
    codes = np.round(rng.normal(size=(4, rng.integers(1, 40), rng.integers(1, 6))), 1)
    kl = rng.choice([0.0, 1.0], size=(len(codes), codes.shape[2]))
    scores = pairwise(codes, kl, similarity).udr[~np.eye(4, dtype=bool)]
    assert (scores >= 0).all() and np.isfinite(scores).all()
    if similarity != "lasso":
        assert (scores <= 1 + 1e-6).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"codes": np.zeros((3, 4))},
            r"codes: found shape \(3, 4\); accepted: \(models, rows, latents\)",
        ),
        ({"codes": np.full((2, 3, 1), np.inf)}, "codes: found inf in model 0, row 0, latent 0"),
        ({"codes": np.full((2, 3, 1), np.nan)}, "codes: found nan in model 0, row 0, latent 0"),
        ({"kl": np.zeros((2, 3))}, r"kl: found shape \(2, 3\); accepted: \(2, 4\)"),
        ({"kl": np.full((2, 4), np.nan)}, "kl: found nan in model 0, latent 0"),
        ({"similarity": "spearmann"}, "similarity: found 'spearmann'; accepted: lasso, lasso_cv"),
        (
            {"codes": np.zeros((2, 4, 3)), "similarity": "lasso_cv"},
            "codes: found 4 rows; accepted: at least 5, one for each fold",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    good = {"codes": RNG(0).normal(size=(2, 10, 4))}
    with pytest.raises(ValueError, match=message):
        pairwise(**{**good, **arguments})


@pytest.mark.parametrize("threads", [1, 3])
def test_a_bad_number_is_named_by_its_place_among_all(threads):
    codes = RNG(0).normal(size=(6, 30, 2))
    codes[4, 7, 1] = np.nan
    with pytest.raises(BadArray, match="codes: found nan in model 4, row 7, latent 1"):
        pairwise(codes, threads=threads)


def test_comparisons_that_do_not_fit_are_refused():
    codes = RNG(0).normal(size=(2, 10, 4))
    a, b, flags = prepare(codes, "lasso"), prepare(codes, "spearman"), np.ones((2, 4), dtype=bool)
    with pytest.raises(ValueError, match=r"targets: found latents .* spearman; accepted: .* lasso"):
        compare(a, b, flags, flags)
    fewer = prepare(codes[:, :9], "lasso")
    with pytest.raises(
        ValueError, match="targets: found 9 points; accepted: 10, as the regressors"
    ):
        compare_both(a, fewer, flags, flags)
    with pytest.raises(
        ValueError, match=r"informative: found bool of shape \(2, 3\); accepted: booleans"
    ):
        compare(a, a, flags, flags[:, :3])
    with pytest.raises(ValueError, match="informative: found float64"):
        compare(a, a, flags.astype(float), flags)
    with pytest.raises(ValueError, match="codes_j: found 9 rows; accepted: 10, as codes_i"):
        similarity_matrix(codes[0], codes[1, :9])


PAIR_SCORES = np.array(
    [
        [np.nan, 0.10, 0.20, 0.30, 0.40],
        [0.50, np.nan, 0.60, 0.70, 0.80],
        [0.15, 0.25, np.nan, 0.35, 0.45],
        [0.55, 0.65, 0.75, np.nan, 0.85],
        [0.05, 0.95, 0.90, 0.00, np.nan],
    ]
)


def test_a_score_is_the_median_of_the_column():
    alive = np.zeros(5, dtype=bool)
    scores, comparisons = aggregate(PAIR_SCORES, alive, None, RNG(0))
    assert scores.tolist() == pytest.approx([0.325, 0.45, 0.675, 0.325, 0.625])
    assert comparisons.tolist() == [4] * 5
    same, _ = aggregate(PAIR_SCORES, alive, 9, RNG(0))
    assert same.tolist() == scores.tolist()


def test_collapsed_models_and_pairs_not_compared_enter_no_median():
    collapsed = np.array([False, True, False, False, False])
    with_hole = PAIR_SCORES.copy()
    with_hole[4, 0] = np.nan
    scores, comparisons = aggregate(with_hole, collapsed, None, RNG(0))
    assert scores.tolist() == pytest.approx([0.35, 0, 0.75, 0.30, 0.45])
    assert comparisons.tolist() == [2, 0, 3, 3, 3]


def test_p_others_are_drawn_without_replacement_and_equally_often():
    rng = RNG(0)
    alive = np.zeros(5, dtype=bool)
    column = PAIR_SCORES[:, 0]
    drawn = []
    for _ in range(2000):
        scores, comparisons = aggregate(PAIR_SCORES, alive, 2, rng)
        assert comparisons.tolist() == [2] * 5
        drawn.append(scores[0])
    means = {(column[a] + column[b]) / 2 for a in range(1, 5) for b in range(a + 1, 5)}
    found, counts = np.unique(np.round(drawn, 9), return_counts=True)
    assert found.tolist() == pytest.approx(sorted(means))
    np.testing.assert_allclose(counts / 2000, 1 / 6, atol=0.04)


def test_draws_depend_on_the_stream_alone():
    alive = np.zeros(5, dtype=bool)
    draws = [aggregate(PAIR_SCORES, alive, 1, RNG(s))[0] for s in (4, 4, 5)]
    assert draws[0].tolist() == draws[1].tolist() != draws[2].tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"pair_scores": np.zeros((5, 4))},
            r"pair_scores: found shape \(5, 4\); accepted: \(5, 5\)",
        ),
        ({"collapsed": np.zeros(5)}, "collapsed: found float64"),
        ({"collapsed": np.bool_(True)}, r"collapsed: found bool of shape \(\)"),
        ({"p": 0}, "p: found 0; accepted: 1 or more"),
    ],
)
def test_bad_pools_are_refused(change, message):
    good = {"pair_scores": PAIR_SCORES, "collapsed": np.zeros(5, dtype=bool), "p": None}
    with pytest.raises(ValueError, match=message):
        aggregate(**{**good, **change}, rng=RNG(0))
