import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso

from metrics.compiled.lasso import LANES, lasso

RNG = np.random.default_rng


def scikit_learn(regressors, target, alpha=0.1):
    model = Lasso(alpha=alpha, tol=1e-10, max_iter=100_000)
    return model.fit(regressors, target).coef_


def standard(codes):
    deviation = codes.std(axis=0)
    return (codes - codes.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


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
@pytest.mark.parametrize("seed", range(2))
def test_coefficients_agree_with_scikit_learn(kind, seed):
    rng = RNG(seed)
    codes = standard(latents(kind, rng))
    targets = standard(codes @ rng.normal(size=(6, 7)) + 0.5 * rng.normal(size=(400, 7)))
    found = lasso(codes.T @ codes / 400, codes.T @ targets / 400, np.full(7, 0.1))
    assert np.abs(found).max() > 0.05
    np.testing.assert_allclose(found.T, scikit_learn(codes, targets), atol=1e-6, rtol=0)


def test_by_hand():
    # Uncorrelated regressors of variance 1 and 4: the moments, less alpha, over the variance.
    gram, moments = np.diag([1.0, 4.0]), np.array([[0.5, -0.05, 0.3], [-0.9, 0.0, 0.1]])
    found = lasso(gram, moments, np.array([0.1, 0.1, 0.2]))
    assert found == pytest.approx(np.array([[0.4, 0, 0.1], [-0.2, 0, 0]]))
    # Two copies: the first takes all.
    copies = lasso(np.ones((2, 2)), np.array([[0.7], [0.7]]), np.array([0.1]))
    assert copies[:, 0] == pytest.approx([0.6, 0])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    regressors=st.integers(1, 12),
    targets=st.sampled_from([1, 2, LANES - 1, LANES, LANES + 1, 3 * LANES]),
    alpha=st.floats(1e-3, 1),
)
def test_no_coefficient_can_be_improved(seed, regressors, targets, alpha):
    """The conditions of the minimum, of every target with a penalty of its own."""
    rng = RNG(seed)
    x = rng.normal(size=(50, regressors)) + rng.normal(size=(50, 1))
    y = x @ rng.normal(size=(regressors, targets)) + rng.normal(size=(50, targets))
    alphas = alpha * rng.uniform(0.5, 2, size=targets)
    gram, moments = x.T @ x / 50, x.T @ y / 50
    found = lasso(gram, moments, alphas)
    pull = moments - gram @ found
    assert (np.abs(pull) <= alphas + 1e-8).all()
    moved = found != 0
    np.testing.assert_allclose((pull - alphas * np.sign(found))[moved], 0, atol=1e-8)


def one_target(gram, moments, alpha, tolerance, sweeps):
    """Cyclic coordinate descent as in a textbook: the coefficients, and how many sweeps it took."""
    weights, taken = [0.0] * len(gram), 0
    while taken < sweeps:
        largest = 0.0
        for a in range(len(gram)):
            if gram[a, a] == 0:
                continue
            others = (gram[a, b] * weights[b] for b in range(len(gram)) if b != a)
            pull = moments[a] - sum(others)
            after = np.sign(pull) * max(abs(pull) - alpha, 0) / gram[a, a]
            largest = max(largest, abs(after - weights[a]))
            weights[a] = after
        taken += 1
        if largest <= tolerance:
            break
    return weights, taken


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    regressors=st.integers(1, 12),
    targets=st.sampled_from([1, 3, LANES - 1, LANES, LANES + 1, 2 * LANES + 5]),
)
def test_lanes_are_one_target_after_another(seed, regressors, targets):
    """Dead regressors and targets, fewer targets than lanes, a last lane that is not full."""
    rng = RNG(seed)
    x = rng.normal(size=(40, regressors)) + rng.choice([0, 2]) * rng.normal(size=(40, 1))
    x *= rng.random(regressors) > 0.2
    y = x @ rng.normal(size=(regressors, targets)) + rng.normal(size=(40, targets))
    y *= rng.random(targets) > 0.2
    y[:, rng.random(targets) < 0.3] *= 1e-3  # converges at once
    gram, moments, alphas = x.T @ x / 40, x.T @ y / 40, rng.uniform(0.05, 0.2, size=targets)
    found = lasso(gram, moments, alphas, 1e-9, 300)
    for target in range(targets):
        expected, _ = one_target(gram, moments[:, target], alphas[target], 1e-9, 300)
        np.testing.assert_allclose(found[:, target], expected, atol=1e-8, rtol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_do_not_matter(dtype):
    """Those that converge at once and those that take hundreds of sweeps, to the last bit."""
    rng = RNG(0)
    codes = standard(rng.normal(size=(300, 1)) * 4 + rng.normal(size=(300, 5)))
    gram = codes.T @ codes / 300
    moments = np.column_stack([rng.normal(size=(5, 70)) * 0.05, gram @ rng.normal(size=(5, 70))])
    moments = moments[:, rng.permutation(140)].astype(dtype)
    alphas = rng.uniform(0.05, 0.15, size=140)
    together = lasso(gram, moments, alphas, 1e-3)
    assert np.abs(together).max() > 0.3
    sweeps = [one_target(gram, moments[:, t], alphas[t], 1e-3, 10_000)[1] for t in range(LANES)]
    assert min(sweeps) < 5 and max(sweeps) > 50, "one group of lanes must have both"
    alone = [lasso(gram, moments[:, [t]], alphas[[t]], 1e-3)[:, 0] for t in range(140)]
    np.testing.assert_array_equal(together, np.transpose(alone))
    order = rng.permutation(140)
    mixed = lasso(gram, np.ascontiguousarray(moments[:, order]), alphas[order], 1e-3)
    np.testing.assert_array_equal(mixed, together[:, order])
    some = lasso(gram, moments[:, 3:99], alphas[3:99], 1e-3)
    np.testing.assert_array_equal(some, together[:, 3:99])
    longer = lasso(gram, moments, alphas)
    assert np.abs(together - longer).max() > 1e-4, "the tolerance must stop some"


def test_sweeps_are_bounded():
    gram, moments = np.array([[1, 0.999], [0.999, 1]]), np.array([[0.5], [0.6]])
    once = lasso(gram, moments, np.array([0.1]), sweeps=1)[:, 0]
    # The first takes 0.5 - 0.1, the second what is left: 0.6 - 0.999 · 0.4 - 0.1.
    assert once == pytest.approx([0.4, 0.1004])
    more = lasso(gram, moments, np.array([0.1]))[:, 0]
    assert more == pytest.approx([0, 0.5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_in_gives_nothing_out(dtype):
    assert lasso(np.zeros((0, 0)), np.zeros((0, 3), dtype=dtype), np.ones(3)).shape == (0, 3)
    assert lasso(np.eye(2), np.zeros((2, 0), dtype=dtype), np.ones(0)).shape == (2, 0)
    dead = lasso(np.diag([1.0, 0.0]), np.array([[0.5], [0.0]], dtype=dtype), np.array([0.1]))
    assert dead[:, 0] == pytest.approx([0.4, 0])
