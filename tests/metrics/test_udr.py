import numpy as np
import pytest
from sklearn.linear_model import Lasso

from metrics import udr
from metrics.lasso import lasso
from metrics.udr import aggregate, pairwise, relative_strength, standardise


def scikit_learn(regressors, target):
    model = Lasso(alpha=0.1, tol=1e-10, max_iter=100_000)
    return model.fit(regressors, target).coef_


def latents(kind, rng):
    """Codes of one model, six latents."""
    independent = rng.normal(size=(400, 6))
    if kind == "correlated":
        return 3 * independent[:, :1] + independent
    if kind == "duplicated":
        return independent[:, [0, 1, 0, 2, 1, 0]] * [1, 1, 1, 1, -1, 2]
    if kind == "masked":
        return independent * [1, 0, 1, 0, 0, 1]
    return independent


@pytest.mark.parametrize("kind", ["random", "correlated", "duplicated", "masked"])
@pytest.mark.parametrize("seed", range(5))
def test_coefficients_agree_with_scikit_learn(kind, seed):
    rng = np.random.default_rng(seed)
    codes = standardise(latents(kind, rng)[None])[0]
    target = codes @ rng.normal(size=6) + 0.5 * rng.normal(size=400)
    target = (target - target.mean()) / target.std()
    found = lasso(codes.T @ codes / 400, codes.T @ target / 400, 0.1)
    assert np.abs(found).max() > 0.05
    np.testing.assert_allclose(found, scikit_learn(codes, target), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("similarity", "mean", "eq2"),
    [
        # one entry per row and column: each max² / sum is the entry itself
        ([[0.9, 0], [0, 0.5]], 0.7, 0.7),
        # columns: 1/1.5 and 0.25/0.5; rows: 1/1 and 0.25/1; (7/12 + 5/8) / 2 by either formula
        ([[1, 0], [0.5, 0.5]], (7 / 12 + 5 / 8) / 2, (7 / 12 + 5 / 8) / 2),
        # columns: 1, 4/2, 0/0; rows: 4/3, 0/0. Mean (3/3 + 4/6) / 2, Eq. 2 (3 + 4/3) / 5
        ([[1, 2, 0], [0, 0, 0]], (1 + 2 / 3) / 2, (3 + 4 / 3) / 5),
        # one row, two columns: columns 1 and 3; row 9/4
        ([[1, 3]], (2 + 9 / 4) / 2, (4 + 9 / 4) / 3),
        ([[0, 0], [0, 0]], 0, 0),
        (np.zeros((0, 3)), 0, 0),
        (np.zeros((2, 0)), 0, 0),
    ],
)
def test_relative_strength_by_hand(similarity, mean, eq2):
    assert relative_strength(np.array(similarity, dtype=float)) == pytest.approx((mean, eq2))


def by_definition(codes, kl):
    """Both scores of all pairs, with scikit-learn and loops."""
    models = len(codes)
    scores = np.full((2, models, models), np.nan)
    standard = np.array([standardise(model[None])[0] for model in codes])
    for i in range(models):
        for j in range(models):
            if i == j:
                continue
            kept = standard[i] * (kl[i] > 0.01), standard[j] * (kl[j] > 0.01)
            coefficients = np.array([scikit_learn(kept[0], target) for target in kept[1].T])
            matrix = np.abs(coefficients.T)[kl[i] > 0.01][:, kl[j] > 0.01]
            columns = [max(c) ** 2 / sum(c) if sum(c) else 0.0 for c in matrix.T]
            rows = [max(r) ** 2 / sum(r) if sum(r) else 0.0 for r in matrix]
            if not rows or not columns:
                scores[:, i, j] = 0
                continue
            scores[0, i, j] = (np.mean(columns) + np.mean(rows)) / 2
            scores[1, i, j] = (sum(columns) + sum(rows)) / (len(columns) + len(rows))
    return scores


def zoo(rng, models=7):
    """Models of the same points: good and bad ones, constant and quiet latents, one collapsed."""
    factors = rng.normal(size=(300, 5))
    codes = np.array([factors @ (np.eye(5) + 0.5 * rng.normal(size=(5, 5))) for _ in range(models)])
    codes[0] = factors
    codes += [1, 0, -5, 0, 100]
    codes[1, :, 3] = 0.1  # constant
    kl = np.full((models, 5), 2.0)
    kl[1, 3] = 0.001
    kl[2, 2] = 0.011
    kl[3, [0, 2]] = 0.01  # not above the threshold
    kl[4] = 0.0
    return codes, kl


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_agree_with_the_definition(dtype):
    codes, kl = zoo(np.random.default_rng(0))
    codes = codes.astype(dtype)
    codes[2, :, 4] = -codes[2, :, 1]
    expected, expected_eq2 = by_definition(codes, kl)
    pairs = pairwise(codes, kl)
    np.testing.assert_allclose(pairs.udr, expected, atol=1e-6)
    np.testing.assert_allclose(pairs.udr_eq2, expected_eq2, atol=1e-6)
    assert pairs.informative.tolist() == [5, 4, 5, 3, 0, 5, 5]
    different = ~np.isclose(expected, expected_eq2, equal_nan=True)
    assert different[0, 3], "the example must tell the formulas apart"
    assert abs(expected[0, 1] - expected[1, 0]) > 1e-3, "and the directions"


def test_blocks_of_models_change_nothing(monkeypatch):
    codes, kl = zoo(np.random.default_rng(0))
    whole = pairwise(codes, kl)
    for models in (1, 2, 3):
        monkeypatch.setattr(udr, "BLOCK_BYTES", models * 8 * 300 * 5)
        parts = pairwise(codes, kl)
        np.testing.assert_allclose(parts.udr, whole.udr, atol=1e-12)
        np.testing.assert_allclose(parts.udr_eq2, whole.udr_eq2, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_order_sign_and_scale_of_latents_change_nothing(seed):
    rng = np.random.default_rng(seed)
    codes, kl = zoo(rng)
    changed, changed_kl = codes.copy(), kl.copy()
    for model in range(len(codes)):
        order = rng.permutation(5)
        changed[model] = codes[model][:, order] * rng.choice([-3, -1, 0.1, 1], size=5) + 7
        changed_kl[model] = kl[model, order]
    before, after = pairwise(codes, kl), pairwise(changed, changed_kl)
    np.testing.assert_allclose(after.udr, before.udr, atol=1e-8)
    np.testing.assert_allclose(after.udr_eq2, before.udr_eq2, atol=1e-8)
    assert (after.informative == before.informative).all()


def independent_latents(points=500, count=4):
    """Exactly uncorrelated latents."""
    noise = np.random.default_rng(0).normal(size=(points, count))
    return np.linalg.qr(noise - noise.mean(axis=0))[0]


def test_equal_models_score_one_less_alpha():
    codes = independent_latents()
    pairs = pairwise(np.array([codes, -codes[:, ::-1]]))
    np.testing.assert_allclose(pairs.udr, [[np.nan, 0.9], [0.9, np.nan]], atol=1e-9)
    np.testing.assert_allclose(pairs.udr_eq2, [[np.nan, 0.9], [0.9, np.nan]], atol=1e-9)


def test_a_subset_of_latents_scores_as_high_by_columns_only():
    codes = independent_latents()
    kl = np.array([[1, 1, 1, 1], [1, 1, 0, 0.0]])
    pairs = pairwise(np.array([codes, codes]), kl)
    # Columns (targets) 0.9, 0.9; rows (regressors) 0.9, 0.9, 0, 0; and the reverse.
    assert pairs.udr[0, 1] == pytest.approx((0.9 + 0.45) / 2)
    assert pairs.udr_eq2[0, 1] == pytest.approx((1.8 + 1.8) / 6)
    assert pairs.udr[1, 0] == pytest.approx((0.45 + 0.9) / 2)


def test_a_rotated_model_scores_low():
    codes = independent_latents()
    rotation = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    pairs = pairwise(np.array([codes, codes, codes @ rotation]))
    assert pairs.udr[0, 1] == pytest.approx(0.9)
    # All sixteen coefficients are 0.5 - 0.1; max² / sum is 0.4 / 4.
    assert pairs.udr[[0, 2], [2, 0]] == pytest.approx([0.1, 0.1])


@pytest.mark.parametrize("with_kl", [False, True])
def test_a_collapsed_model_scores_zero_and_disturbs_nobody(with_kl):
    codes, _ = zoo(np.random.default_rng(1))
    dead = codes[:1] if with_kl else np.full((1, 300, 5), 0.1)
    with_dead = np.concatenate([codes[:3], dead, codes[3:]])
    others = [0, 1, 2, 4, 5, 6, 7]
    kl = np.where(np.arange(8) == 3, 0.0, 1.0)[:, None] * np.ones((8, 5)) if with_kl else None
    rng = np.random.default_rng(0)
    pairs = pairwise(with_dead, kl)
    alone = pairwise(codes, np.ones((7, 5)) if with_kl else None)
    assert pairs.informative[3] == 0
    np.testing.assert_array_equal(np.delete(pairs.udr[3], 3), 0)
    np.testing.assert_array_equal(np.delete(pairs.udr[:, 3], 3), 0)
    np.testing.assert_allclose(pairs.udr[np.ix_(others, others)], alone.udr, atol=1e-12)
    scores, comparisons = aggregate(pairs.udr, pairs.informative == 0, None, rng)
    expected, _ = aggregate(alone.udr, alone.informative == 0, None, rng)
    np.testing.assert_allclose(scores[others], expected, atol=1e-12)
    assert (scores[3], comparisons[3]) == (0, 0)
    assert comparisons[others].tolist() == [6] * 7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_latents_become_zero_exactly_and_others_standard(dtype):
    codes = np.random.default_rng(0).normal(3, 2, size=(2, 1000, 3)).astype(dtype)
    codes[0, :, 1] = 0.1  # whose mean, in floating point, is another number
    standard = standardise(codes)
    assert standard.dtype == np.float64
    assert (standard[0, :, 1] == 0).all()
    moving = [[1, 0, 1], [1, 1, 1]]
    np.testing.assert_allclose(standard.mean(axis=1), np.zeros((2, 3)), atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=1), moving, atol=1e-12)


def test_latents_too_small_to_square_become_zero():
    assert (standardise(np.array([[[1e-170], [-1e-170]]])) == 0).all()


def test_without_kl_latents_that_move_are_informative():
    codes = np.random.default_rng(0).normal(size=(2, 50, 3))
    codes[1, :, [0, 2]] = 0.1
    assert pairwise(codes).informative.tolist() == [3, 1]
    kl = np.array([[0.5, 0.2, 0.1], [0.5, 0.2, 0.1]])
    assert pairwise(codes, kl, threshold=0.2).informative.tolist() == [1, 1]


def test_one_model_alone_has_no_pairs():
    pairs = pairwise(np.random.default_rng(0).normal(size=(1, 50, 3)))
    assert np.isnan(pairs.udr).all()
    scores, comparisons = aggregate(
        pairs.udr, pairs.informative == 0, None, np.random.default_rng()
    )
    assert np.isnan(scores[0])
    assert comparisons.tolist() == [0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"codes": np.zeros((3, 4))}, r"codes: found shape \(3, 4\); \(models, rows, latents\)"),
        ({"codes": np.full((2, 3, 1), np.inf)}, "codes: model 0, row 0, latent 0 holds inf"),
        ({"kl": np.zeros((2, 3))}, r"kl: found shape \(2, 3\); \(2, 4\) is accepted"),
        ({"kl": np.full((2, 4), np.nan)}, "kl: model 0, latent 0 holds nan"),
        ({"similarity": "spearmann"}, "similarity: found 'spearmann'; lasso"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    good = {"codes": np.random.default_rng(0).normal(size=(2, 10, 4))}
    with pytest.raises(ValueError, match=message):
        pairwise(**{**good, **arguments})


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
    scores, comparisons = aggregate(PAIR_SCORES, alive, None, np.random.default_rng(0))
    assert scores.tolist() == pytest.approx([0.325, 0.45, 0.675, 0.325, 0.625])
    assert comparisons.tolist() == [4] * 5
    same, _ = aggregate(PAIR_SCORES, alive, 9, np.random.default_rng(0))
    assert same.tolist() == scores.tolist()


def test_collapsed_models_and_pairs_not_compared_enter_no_median():
    collapsed = np.array([False, True, False, False, False])
    with_hole = PAIR_SCORES.copy()
    with_hole[4, 0] = np.nan
    scores, comparisons = aggregate(with_hole, collapsed, None, np.random.default_rng(0))
    assert scores.tolist() == pytest.approx([0.35, 0, 0.75, 0.30, 0.45])
    assert comparisons.tolist() == [2, 0, 3, 3, 3]


def test_p_others_are_drawn_without_replacement_and_equally_often():
    rng = np.random.default_rng(0)
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
    draws = [aggregate(PAIR_SCORES, alive, 1, np.random.default_rng(s))[0] for s in (4, 4, 5)]
    assert draws[0].tolist() == draws[1].tolist() != draws[2].tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pair_scores": np.zeros((5, 4))}, r"pair_scores: found shape \(5, 4\); \(5, 5\)"),
        ({"collapsed": np.zeros(5)}, "collapsed: found float64"),
        ({"collapsed": np.bool_(True)}, r"collapsed: found bool of shape \(\)"),
        ({"p": 0}, "p: found 0; 1 or more"),
    ],
)
def test_bad_pools_are_refused(change, message):
    good = {"pair_scores": PAIR_SCORES, "collapsed": np.zeros(5, dtype=bool), "p": None}
    with pytest.raises(ValueError, match=message):
        aggregate(**{**good, **change}, rng=np.random.default_rng(0))
