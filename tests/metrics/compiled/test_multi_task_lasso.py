import warnings

import numpy as np
import pytest
from sklearn.linear_model import MultiTaskLassoCV

from metrics.compiled.multi_task_lasso import cross_validated
from metrics.udr.moments import consecutive

RNG = np.random.default_rng


def by_moments(x, y, tolerance, sweeps=1000, folds=5):
    """As a model's standardised latents come: sums over folds divided by the number of points."""
    parts = consecutive(len(x), folds)
    sums = [
        (x[p].T @ x[p], x[p].T @ y[p], x[p].sum(0), y[p].sum(0), (y[p] ** 2).sum(0)) for p in parts
    ]
    shares = np.array([p.stop - p.start for p in parts]) / len(x)
    arrays = (np.array(each) / len(x) for each in zip(*sums, strict=True))
    return cross_validated(*arrays, shares, tolerance, sweeps)


def scikit_learn(x, y, tolerance, sweeps=1000):
    with warnings.catch_warnings():  # some do not converge, by either way
        warnings.simplefilter("ignore")
        return MultiTaskLassoCV(cv=5, tol=tolerance, max_iter=sweeps).fit(x, y)


def tables(kind, seed):
    rng = RNG(seed)
    points, regressors, targets = (int(rng.integers(*ends)) for ends in ((20, 300), (1, 9), (1, 9)))
    factors = rng.normal(size=(points, 8))
    x = factors[:, :regressors] + 0.3 * rng.normal(size=(points, regressors))
    y = factors[:, :targets] + rng.choice([0.1, 1, 5]) * rng.normal(size=(points, targets))
    if kind == "correlated":
        x += 2 * factors[:, :1]
        y = x @ rng.normal(size=(regressors, targets)) + y
    if kind == "duplicated":
        x = x[:, [*range(regressors), 0]] * ([1] * regressors + [-2])
    if kind == "masked":
        x[:, regressors // 2] = 0
        y[:, targets // 2] = 0
    if kind == "noise":
        y = rng.normal(size=y.shape)
    if kind == "ordered":
        x, y = np.sort(x, axis=0), np.sort(y, axis=0)  # folds have means of their own
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    return (z / np.where(z.std(axis=0) > 0, z.std(axis=0), 1) for z in (x, y))


KINDS = ["random", "correlated", "duplicated", "masked", "noise", "ordered"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("tolerance", "sweeps"), [(1e-4, 1000), (1e-10, 2000)])
def test_penalty_and_coefficients_agree_with_scikit_learn(kind, tolerance, sweeps):
    for seed in range(4):
        x, y = tables(kind, seed)
        expected = scikit_learn(x, y, tolerance, sweeps)
        coefficients, alpha = by_moments(x, y, tolerance, sweeps)
        assert alpha == pytest.approx(expected.alpha_, rel=1e-9)
        np.testing.assert_allclose(coefficients.T, expected.coef_, atol=1e-6, rtol=0)


def test_the_examples_choose_different_penalties_and_leave_regressors_out():
    shares, left_out = [], 0
    for kind in KINDS:
        for seed in range(4):
            x, y = tables(kind, seed)
            coefficients, alpha = by_moments(x, y, 1e-4)
            largest = np.linalg.norm(x.T @ y / len(x), axis=1).max()
            shares.append(alpha / largest if largest else 1)
            left_out += (coefficients[x.any(axis=0)] == 0).all(axis=1).sum()
    assert min(shares) < 0.02 and max(shares) == pytest.approx(1)
    assert len(np.unique(np.round(shares, 6))) > 8
    assert left_out > 4


def test_by_hand():
    # Half of the target is the regressor, on all points and in each fold; what is left never
    # meets it. The smallest penalty is best: W = 0.5 (1 - 0.001), as the largest is 0.5.
    x = np.tile([1.0, -1, 1, -1], 10)[:, None]
    z = np.tile([1.0, 1, -1, -1], 10)[:, None]
    coefficients, alpha = by_moments(x, 0.5 * x + np.sqrt(0.75) * z, 1e-12)
    assert alpha == pytest.approx(0.5e-3)
    assert coefficients[0, 0] == pytest.approx(0.4995)
    # Two targets share the penalty in the ratio of their moments, whose length is 0.5.
    coefficients, alpha = by_moments(x, np.hstack([0.3 * x, -0.4 * x]), 1e-12)
    assert alpha == pytest.approx(0.5e-3)
    assert coefficients[0] == pytest.approx([0.3 * 0.999, -0.4 * 0.999])


def test_a_target_that_is_no_more_changes_nothing():
    x, y = tables("random", 0)
    before, alpha = by_moments(x, y, 1e-10)
    after, same = by_moments(x, np.column_stack([y, np.zeros(len(y))]), 1e-10)
    assert same == pytest.approx(alpha)
    np.testing.assert_allclose(after, np.column_stack([before, np.zeros(len(before))]), atol=1e-7)


def test_nothing_to_learn_from_or_nothing_to_learn_is_zero():
    x = RNG(0).normal(size=(30, 3))
    for regressors, targets in ((np.zeros((30, 2)), x), (x, np.zeros((30, 2))), (x[:, :0], x)):
        coefficients, alpha = by_moments(regressors, targets, 1e-4)
        assert coefficients.shape == (regressors.shape[1], targets.shape[1])
        assert (coefficients == 0).all() and alpha == 0


def test_a_latent_that_moves_in_one_fold_only_is_not_used_without_it():
    x, y = RNG(0).normal(size=(2, 50, 2))
    x[:40, 0] = 0.7
    x = x - x.mean(axis=0)
    coefficients, alpha = by_moments(x, y, 1e-4)
    assert np.isfinite(coefficients).all() and np.abs(coefficients).max() < 10
    assert alpha == pytest.approx(scikit_learn(x, y, 1e-4).alpha_)
