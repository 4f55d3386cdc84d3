import warnings

import numpy as np
import pytest
from sklearn.linear_model import LassoCV

from metrics.base.dci_scores import importance_scores
from metrics.base.inputs import Inputs
from metrics.dci_lasso import dci_lasso
from metrics.evaluate import evaluate

RNG = np.random.default_rng


def table(seed, rows, noise=0.5):
    """Factors of 2, 5 and 3 values; of 4 latents the first is one factor, the last is noise."""
    rng = RNG(seed)
    factors = rng.integers(0, [2, 5, 3], size=(rows, 3))
    mixing = np.array([[1.0, 0.5, 0, 0], [0, 1, 0.3, 0], [0, -0.4, 1, 0]])
    return factors @ mixing + noise * rng.normal(size=(rows, 4)), factors


def parts(scores, part, factor=None):
    (value,) = (row.value for row in scores if (row.part, row.factor) == (part, factor))
    return value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_scikit_learn(dtype):
    (codes, factors), (test_codes, test_factors) = table(0, 300), table(1, 200)
    codes, test_codes = (each.astype(dtype).astype(float) for each in (codes, test_codes))
    held_out = RNG(3).permutation(300)[:60]
    kept = np.setdiff1d(np.arange(300), held_out)
    mean, deviation = codes.mean(axis=0), codes.std(axis=0)
    importance, errors = [], []
    for factor in range(3):
        values = factors[:, factor]
        target = (values - values.mean()) / values.std()
        model = LassoCV(cv=[(kept, held_out)], tol=1e-13, max_iter=100_000)
        with warnings.catch_warnings():  # the tolerance is beyond what rounding allows
            warnings.simplefilter("ignore")
            model.fit((codes - mean) / deviation, target)
        importance.append(np.abs(model.coef_))
        width = values.max() - values.min()
        for part, z, v in (("train", codes, values), ("test", test_codes, test_factors[:, factor])):
            predicted = model.predict((z - mean) / deviation) * values.std() + values.mean()
            error = np.mean((predicted - v) ** 2)
            errors.append((f"nrmse_{part}", factor, np.sqrt(error) / values.std()))
            errors.append((f"informativeness_{part}", factor, 1 - 6 * error / width**2))
    scores = dci_lasso(codes.astype(dtype), factors, test_codes, test_factors, RNG(3))
    for row in importance_scores(np.array(importance).T):
        assert parts(scores, row.part, row.factor) == pytest.approx(row.value, abs=1e-6)
    for part, factor, value in errors:
        assert parts(scores, part, factor) == pytest.approx(max(value, 0), abs=1e-6)
    assert 0.1 < scores[0].value < 0.9
    assert np.count_nonzero(importance) < 12, "the penalty must leave something out"


@pytest.mark.parametrize("name", ["dci_lasso", "dci_forest"])
def test_continuous_factors_that_are_latents_are_predicted_without_error(name):
    """With the bins in place of the factors, an error of a bin's width would be left."""
    rng = RNG(0)
    targets = rng.uniform([-1, 0, 5], [1, 30, 5.1], size=(900, 3))
    bins = np.stack(
        [np.digitize(f, np.linspace(f.min(), f.max(), 11)[1:-1]) for f in targets.T], axis=1
    )
    codes = targets[:, [2, 0, 1]] * [10, 1, -1]
    inputs = Inputs(
        codes[:600],
        bins[:600],
        test_codes=codes[600:],
        test_factors=bins[600:],
        targets=targets[:600],
        test_targets=targets[600:],
        continuous=(0, 1, 2),
    )
    scores = evaluate(name, inputs, RNG(0))
    error = 0.002 if name == "dci_lasso" else 0.02  # the smallest penalty; a forest's steps
    for factor in (None, 0, 1, 2):
        assert parts(scores, "nrmse_test", factor) == pytest.approx(0, abs=error)
        assert parts(scores, "informativeness_test", factor) == pytest.approx(1, abs=error)
    assert scores[0].value == pytest.approx(1, abs=0.01)
    binned = evaluate(
        name,
        Inputs(codes[:600], bins[:600], test_codes=codes[600:], test_factors=bins[600:]),
        RNG(0),
    )
    assert parts(binned, "nrmse_test") > 0.05 or name == "dci_forest"


def test_worked_example():
    # On all combinations, factor 1 is latent 1, and factor 0 is the sum of latents 0 and 2, which
    # are uncorrelated and equally large: half the points of each. Both find only what is true.
    bits = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1]), axis=-1).reshape(-1, 3)
    codes = np.tile(bits, (25, 1)) * [1.0, -3.0, 0.1] + [5, 0, 1]
    factors = np.column_stack([bits[:, 0] + bits[:, 2], bits[:, 1]])
    factors = np.tile(factors, (25, 1))
    scores = dci_lasso(codes, factors, codes, factors, RNG(0))
    assert scores[0].value == pytest.approx(1)
    assert parts(scores, "completeness", 0) == pytest.approx(1 - np.log(2) / np.log(3), abs=1e-4)
    assert parts(scores, "completeness", 1) == pytest.approx(1)
    assert [parts(scores, f"disentanglement latent {each}") for each in range(3)] == [1, 1, 1]
    assert parts(scores, "informativeness_test") == pytest.approx(1, abs=1e-4)
    assert parts(scores, "nrmse_test") == pytest.approx(0, abs=2e-3)


def test_noise_is_important_for_nothing_rather_than_by_rounding():
    factors = np.tile(np.stack(np.meshgrid([0, 1], [0, 1, 2]), axis=-1).reshape(-1, 2), (50, 1))
    nothing = 0
    for seed in range(10):
        codes = RNG(seed).normal(size=(300, 3))
        scores = dci_lasso(codes, factors, codes, factors, RNG(0))
        if parts(scores, "nrmse_train") > 1 - 1e-9:  # the largest penalty was best for both
            nothing += 1
            assert {row.value for row in scores[:9]} == {0}
    assert nothing > 0


def test_copies_of_latents_change_no_prediction_and_cost_no_completeness():
    codes, factors = table(0, 300)
    twice = np.hstack([codes, codes])
    once, doubled = (dci_lasso(each, factors, each, factors, RNG(0)) for each in (codes, twice))
    for part in ("informativeness_train", "nrmse_test"):
        assert parts(doubled, part) == pytest.approx(parts(once, part))
    grid = np.stack(np.meshgrid(range(3), range(4)), axis=-1).reshape(-1, 2).repeat(9, axis=0)
    copies = np.repeat(grid, 2, axis=1)
    scores = dci_lasso(copies, grid, copies, grid, RNG(0))
    assert parts(scores, "completeness") == scores[0].value == 1
    assert [parts(scores, f"disentanglement latent {each}") for each in range(4)] == [1, 0, 1, 0]


@pytest.mark.filterwarnings("error")
def test_a_dead_latent_changes_nothing_even_if_the_test_moves_it():
    codes, factors = table(0, 300)
    before = dci_lasso(codes, factors, codes, factors, RNG(0))
    for value in (0.1, 9e149):
        for test_value in (value, 3.0):
            with_dead, test = (
                np.column_stack([np.full(300, each), codes]) for each in (value, test_value)
            )
            after = dci_lasso(with_dead, factors, test, factors, RNG(0))
            assert parts(after, "disentanglement latent 0") == 0
            assert after[0].value == pytest.approx(before[0].value)
            for part in ("informativeness_test", "nrmse_test"):
                assert parts(after, part) == pytest.approx(parts(before, part))


def test_a_factor_with_one_value_counts_as_not_told():
    codes, factors = table(0, 300)
    constant = np.column_stack([factors, np.full(300, 7)])
    before, after = (dci_lasso(codes, each, codes, each, RNG(0)) for each in (factors, constant))
    for part in ("completeness", "informativeness_test"):
        assert parts(after, part, 3) == 0
        assert parts(after, part) == pytest.approx(parts(before, part) * 3 / 4)
    assert parts(after, "nrmse_test", 3) == 1
    assert parts(after, "completeness_weighted") == pytest.approx(
        parts(before, "completeness_weighted")
    )


@pytest.mark.filterwarnings("error")
def test_a_factor_in_the_smallest_units_counts_as_not_told():
    codes, factors = np.random.default_rng(0).normal(size=(2, 60, 2))
    factors[:, 1] *= 1e-170  # their squares are 0
    scores = dci_lasso(codes, factors, codes, factors, np.random.default_rng(0))
    assert parts(scores, "informativeness_test", 1) == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-140, 1e-9, 1e30, 9e149])
def test_scale_changes_nothing(size):
    codes, factors = table(0, 300)
    scaled = codes * (size / np.abs(codes).max(axis=0)) * [1, 1, -1, 0.5]
    before, after = (
        [row.value for row in dci_lasso(each, factors, each, factors, RNG(0))]
        for each in (codes, scaled)
    )
    assert after == pytest.approx(before)


@pytest.mark.filterwarnings("error")
def test_values_absent_from_training_or_test_and_few_rows_give_finite_scores():
    codes, factors = table(0, 40)
    extreme = np.where(np.arange(40)[:, None] % 2, 9e149, -9e149) * np.ones(4)
    for rows in (1, 2, 3, 10):
        for test in (codes, extreme, codes * 1e-300):
            scores = dci_lasso(codes[:rows] * 1e-100, factors[:rows], test, factors + 3, RNG(0))
            assert np.isfinite([row.value for row in scores]).all()


def test_evaluate_reads_both_tables():
    (codes, factors), (test_codes, test_factors) = table(0, 100), table(1, 50)
    given = Inputs(codes, factors, test_codes=test_codes, test_factors=test_factors)
    expected = dci_lasso(codes, factors, test_codes, test_factors, RNG(5))
    assert evaluate("dci_lasso", given, RNG(5)) == expected
