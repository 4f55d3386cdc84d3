import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import KFold

from metrics.compiled.logistic import GRID, Logistic, learn


def reference(codes, values, folds=5):
    """scikit-learn's, as the released code calls it; the other arguments are its defaults."""
    regression = LogisticRegressionCV(
        Cs=10, cv=KFold(folds), scoring="accuracy", l1_ratios=(0,), use_legacy_attributes=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return regression.fit(codes, values)


def problem(seed, rows, latents, classes, scale=1.0, told=0.3):
    """Values that the codes tell in part, numbered with gaps and below 0 too."""
    rng = np.random.default_rng(seed)
    values = rng.integers(classes, size=rows) * 3 - 2
    codes = told * values[:, None] * rng.normal(size=latents) + rng.normal(size=(rows, latents))
    return codes * scale, values


def assert_same(found: Logistic, expected, tolerance):
    np.testing.assert_array_equal(found.classes, expected.classes_)
    np.testing.assert_array_equal(found.accuracies, expected.scores_[:, 0, :])
    assert found.C == expected.C_
    size = max(1.0, np.abs(expected.coef_).max())
    np.testing.assert_allclose(found.coef, expected.coef_, atol=tolerance * size)
    np.testing.assert_allclose(found.intercept, expected.intercept_, atol=tolerance * size)


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
@pytest.mark.parametrize(
    ("rows", "latents", "classes"),
    [
        *[(30, 3, 2), (203, 5, 2), (1000, 4, 2)],
        *[(30, 1, 3), (41, 2, 3), (200, 3, 3), (203, 1, 4), (700, 3, 3), (1000, 2, 4)],
    ],
)
def test_agrees_with_scikit_learn_where_that_converges(rows, latents, classes, scale):
    codes, values = problem(rows + latents + classes, rows, latents, classes, scale)
    expected = reference(codes, values)
    assert expected.n_iter_.max() < 100
    found = learn(codes, values)
    assert_same(found, expected, 1e-6)
    test_codes, _ = problem(1, 500, latents, classes, scale)
    np.testing.assert_array_equal(found.predict(test_codes), expected.predict(test_codes))


@pytest.mark.slow
def test_differs_from_scikit_learn_as_that_from_itself_where_it_stops_early():
    """Rounding grows in 100 iterations, so that even the order of latents changes predictions."""
    ours, with_itself, better = [], [], []
    for seed in range(10):
        codes, values = problem(seed, 1200, 6, 12, told=1.0)
        train, test = slice(0, 600), slice(600, None)
        expected = reference(codes[train], values[train])
        turned = reference(codes[train, ::-1], values[train])
        found = learn(codes[train], values[train])
        assert (expected.n_iter_[:, 0, 1:] == 100).all()
        accuracies = expected.scores_[:, 0, :]
        ours.append(np.abs(found.accuracies - accuracies))
        with_itself.append(np.abs(turned.scores_[:, 0, :] - accuracies))
        told, wanted = found.predict(codes[test]), expected.predict(codes[test])
        better.append(np.mean(told == values[test]) - np.mean(wanted == values[test]))
    assert 0.02 < np.mean(with_itself) < 0.06
    assert np.mean(ours) == pytest.approx(np.mean(with_itself), rel=0.25)
    assert abs(np.mean(better)) < 0.03


@pytest.mark.parametrize("classes", [3, 4])
@pytest.mark.parametrize("lacking", [1, 2])
def test_classes_that_a_fold_holds_all_rows_of_are_as_in_scikit_learn(classes, lacking):
    codes, values = problem(classes, 60, 2, classes)
    order = np.argsort(np.isin(values, np.unique(values)[-lacking:]), kind="stable")
    few = order[: 60 - 4 * lacking] if lacking == 2 else order
    alone = np.flatnonzero(np.isin(values[few], np.unique(values)[-lacking:]))
    keep = np.concatenate([few[: alone[0]], few[alone][:5]])  # at the end, in the last fold
    expected = reference(codes[keep], values[keep])
    found = learn(codes[keep], values[keep])
    last = np.array_split(np.arange(len(keep)), 5)[-1]
    assert set(values[np.delete(keep, last)]) < set(values[keep])
    assert found.accuracies == pytest.approx(expected.scores_[:, 0, :], abs=1 / len(last))
    if expected.n_iter_.max() < 100:
        assert_same(found, expected, 1e-5)
    assert found.C == expected.C_


def test_a_fold_whose_other_rows_are_of_one_class_is_as_in_scikit_learn():
    codes = np.random.default_rng(0).normal(size=(25, 2))
    values = np.array([0] * 20 + [1] * 5)
    found, expected = learn(codes, values), reference(codes, values)
    np.testing.assert_array_equal(found.accuracies[-1], np.zeros(10))
    assert_same(found, expected, 1e-6)


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_with_fewer_rows_than_folds_every_row_is_a_fold(rows):
    codes = np.array([[0.3, 1.0], [-0.5, 0.2], [1.5, -0.7], [0.9, 0.1]])[:rows]
    values = np.array([5, 9, 9, 5])[:rows]
    assert_same(learn(codes, values), reference(codes, values, folds=rows), 1e-6)


def test_rows_fall_into_folds_as_in_scikit_learn():
    for rows in (5, 6, 9, 14, 23):
        codes, values = problem(rows, rows, 2, 2)
        values[0] = values.max() if values[1] == values.min() else values.min()
        assert_same(learn(codes, values), reference(codes, values), 1e-6)


@pytest.mark.parametrize("rows", [1, 7])
def test_one_class_is_what_is_predicted(rows):
    found = learn(np.random.default_rng(0).normal(size=(rows, 3)), np.full(rows, -4))
    np.testing.assert_array_equal(found.predict(np.ones((5, 3))), np.full(5, -4))
    assert np.isnan(found.C) and found.coef.shape == (0, 3)


def test_among_equally_good_penalties_the_strongest_is_taken():
    values = np.tile([0, 1, 2], 20)
    found = learn(values[:, None] * 100.0, values)
    best = found.accuracies.sum(axis=0)
    equal = np.flatnonzero(best == best.max())
    assert len(equal) > 3
    assert GRID[equal[0]] == found.C


def test_constant_latents_tell_the_most_frequent_class():
    values = np.array([1, 1, 2, 2, 2, 3, 1, 2, 3, 2] * 3)
    found = learn(np.full((30, 2), 0.1), values)
    assert set(found.predict(np.full((4, 2), 0.1)).tolist()) == {2}
    assert_same(found, reference(np.full((30, 2), 0.1), values), 1e-6)


def test_a_constant_latent_changes_no_prediction():
    codes, values = problem(0, 200, 2, 3)
    test_codes, _ = problem(1, 200, 2, 3)
    alone, beside = learn(codes, values), learn(np.insert(codes, 1, 0.0, axis=1), values)
    assert beside.coef[:, 1] == pytest.approx(0)
    told = beside.predict(np.insert(test_codes, 1, 8.0, axis=1))
    np.testing.assert_array_equal(told, alone.predict(test_codes))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1e3, 1e6, 1e9, 1e149])
def test_codes_of_any_scale_give_numbers(scale, classes):
    codes, values = problem(0, 40, 2, classes)
    codes = codes / np.abs(codes).max(axis=0) * scale
    found = learn(codes, values)
    assert np.isfinite(found.coef).all() and np.isfinite(found.intercept).all()
    assert set(found.predict(codes)) <= set(values)
    assert set(found.predict(np.full((1, 2), -1e149))) <= set(values)
    if scale >= 1e6:  # divided down
        same = learn(codes / (scale / 1e6), values)
        np.testing.assert_array_equal(found.accuracies, same.accuracies)
        np.testing.assert_array_equal(found.predict(codes), same.predict(codes / (scale / 1e6)))


def test_the_first_of_equal_scores_is_predicted():
    equal = Logistic(np.array([3, 5, 8]), np.zeros((3, 1)), np.array([0.0, 1, 1]), 1.0, np.eye(1))
    assert equal.predict(np.ones((1, 1))).tolist() == [5]
    two = Logistic(np.array([3, 5]), np.ones((1, 1)), np.zeros(1), 1.0, np.eye(1))
    assert two.predict(np.array([[0.0], [1e-9], [-1.0]])).tolist() == [3, 5, 3]
