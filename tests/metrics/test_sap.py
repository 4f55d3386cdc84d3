from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from metrics.base.inputs import Inputs, Score
from metrics.evaluate import evaluate
from metrics.sap import sap

RNG = np.random.default_rng


def table(seed, rows, latents=4):
    """Factors of 2, 5 and 3 values, mixed into latents."""
    rng = RNG(seed)
    factors = rng.integers(0, [2, 5, 3], size=(rows, 3))
    mixing = RNG(7).normal(size=(3, latents))
    return factors @ mixing + 0.5 * rng.normal(size=(rows, latents)), factors


def by_part(scores):
    return {(row.part, row.factor): row.value for row in scores}


def parts(scores, part):
    return [row.value for row in scores if row.part == part]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_scikit_learn(dtype):
    (codes, factors), (test_codes, test_factors) = table(0, 300), table(1, 200)
    codes[:, 2] = test_codes[:, 2] = 0.1  # a dead latent
    codes, test_codes = codes.astype(dtype), test_codes.astype(dtype)
    gaps, best = [], []
    for factor in range(3):
        accuracies = []
        for latent in range(4):
            machine = LinearSVC(C=0.01, class_weight="balanced")
            machine.fit(codes[:, [latent]].astype(float), factors[:, factor])
            right = machine.score(test_codes[:, [latent]].astype(float), test_factors[:, factor])
            accuracies.append(right)
        *_, second, first = sorted(accuracies)
        gaps.append(first - second)
        best.append(first)
    scores = sap(codes, factors, test_codes, test_factors)
    assert scores[0].part == "score"
    assert scores[0].value == pytest.approx(np.mean(gaps), abs=1e-6)
    assert parts(scores, "gap") == pytest.approx(gaps, abs=1e-6)
    assert parts(scores, "accuracy") == pytest.approx(best, abs=1e-6)
    assert min(gaps) > 0.01


def test_worked_example():
    # In training each latent is the sign of one factor and tells nothing of the other, of which its
    # machine predicts the same value everywhere. In the test the first latent has a wrong sign in
    # one of four rows.
    factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (50, 1))
    codes = 10.0 * (2 * factors - 1)
    test_factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    test_codes = np.array([[-10.0, -10], [10, 10], [10, -10], [10, 10]])
    assert sap(codes, factors, test_codes, test_factors) == [
        Score("score", 0.375),
        Score("gap", 0.25, 0),  # 3 / 4 - 2 / 4
        Score("gap", 0.5, 1),  # 4 / 4 - 2 / 4
        Score("accuracy", 0.75, 0),
        Score("accuracy", 1.0, 1),
        Score("gap_r2", 0.5),
        Score("gap_tree", 0.375),
        Score("gap_r2", 0.0, 0),  # an error of 1 in 4 rows is as bad as the mean
        Score("gap_r2", 1.0, 1),
        Score("gap_tree", 0.25, 0),  # (1 / 2 + 2 / 2) / 2 - 1 / 2
        Score("gap_tree", 0.5, 1),
    ]


@pytest.mark.parametrize("weighted", ["continuous", "rounded"])
def test_the_reviews_parts_agree_with_scikit_learn(weighted):
    (codes, factors), (test_codes, test_factors) = table(0, 300), table(1, 200)
    if weighted == "rounded":  # many rows of several classes share a value
        codes, test_codes = codes.round(), test_codes.round()
    codes[:, 2] = test_codes[:, 2] = 0.1  # a dead latent
    rows = by_part(sap(codes, factors, test_codes, test_factors))
    gaps = {"gap_r2": [], "gap_tree": []}
    for factor in range(3):
        linear, tree = [0.0], [0.0]
        for latent in (0, 1, 3):
            z, test_z = codes[:, [latent]], test_codes[:, [latent]]
            regression = LinearRegression().fit(z, factors[:, factor])
            linear.append(max(0, regression.score(test_z, test_factors[:, factor])))
            classifier = DecisionTreeClassifier(class_weight="balanced", random_state=0)
            predicted = classifier.fit(z, factors[:, factor]).predict(test_z)
            tree.append(balanced_accuracy_score(test_factors[:, factor], predicted))
        for part, quality in (("gap_r2", linear), ("gap_tree", tree)):
            *_, second, first = sorted(quality)
            gaps[part].append(first - second)
            assert rows[part, factor] == pytest.approx(first - second, abs=1e-12)
    for part, of in gaps.items():
        assert rows[part, None] == pytest.approx(np.mean(of), abs=1e-12)
        assert max(of) > 0.01


def test_a_continuous_factor_has_the_gap_of_its_regression():
    rng = RNG(0)
    targets = rng.random((600, 2))
    codes = np.column_stack([targets[:, 0], targets[:, 0] + rng.normal(size=600), targets[:, 1]])
    bins = np.floor(targets * 10).astype(int)
    inputs = Inputs(
        codes[:400],
        bins[:400],
        test_codes=codes[400:],
        test_factors=bins[400:],
        targets=targets[:400],
        test_targets=targets[400:],
        continuous=(0, 1),
    )
    rows = by_part(evaluate("sap", inputs, RNG(0)))
    noisy = LinearRegression().fit(codes[:400, [1]], targets[:400, 0])
    second = noisy.score(codes[400:, [1]], targets[400:, 0])
    assert 0.01 < second < 0.2
    assert rows["gap", 0] == rows["gap_r2", 0] == pytest.approx(1 - second, abs=1e-9)
    assert rows["gap", 1] == pytest.approx(1, abs=0.02)
    assert rows["score", None] == pytest.approx((rows["gap", 0] + rows["gap", 1]) / 2)
    assert not [part for part, _ in rows if part in ("accuracy", "gap_tree", "bins")]
    one = {
        (row.part, row.factor): row.value
        for row in evaluate("sap", replace(inputs, continuous=(1,)), RNG(0))
    }
    classes = by_part(sap(codes[:400], bins[:400], codes[400:], bins[400:]))
    assert one["gap_tree", 0] == classes["gap_tree", 0]
    assert ("gap_tree", 1) not in one and one["gap_tree", None] == one["gap_tree", 0]


def test_equal_latents_leave_no_gap():
    codes, factors = table(0, 200)
    twice = np.hstack([codes, codes])
    assert parts(sap(twice, factors, twice, factors), "gap") == [0, 0, 0]


def test_a_single_latent_competes_with_one_that_is_zero():
    codes, factors = table(0, 200, latents=1)
    alone = sap(codes, factors, codes, factors)
    with_zeros = np.hstack([codes, np.zeros_like(codes)])
    assert alone == sap(with_zeros, factors, with_zeros, factors)
    assert alone[0].value > 0.05


def test_a_factor_with_one_value_has_gap_zero_and_counts():
    codes, factors = table(0, 200)
    constant = np.column_stack([factors, np.full(200, 7)])
    before, after = (sap(codes, each, codes, each) for each in (factors, constant))
    assert after[0].value == pytest.approx(before[0].value * 3 / 4)
    assert parts(after, "gap")[3] == 0
    test_factors = constant.copy()
    test_factors[:50, 3] = 8
    assert parts(sap(codes, constant, codes, test_factors), "accuracy")[3] == 0.75


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", [0.0, -3.0, 317.3298645])
@pytest.mark.parametrize("counts", [(10, 5, 5), (4, 9, 7), (1, 2, 3, 30), (12, 8), (8, 12)])
def test_constant_latents_are_classified_as_by_scikit_learn(value, counts):
    factor = np.repeat(np.arange(len(counts)), counts)
    latent = np.full(len(factor), value)
    machine = LinearSVC(C=0.01, class_weight="balanced", dual=False).fit(latent[:, None], factor)
    if len(counts) > 2:
        assert (machine.predict(latent[:, None]) == np.argmax(counts)).all()
    else:  # the sign of a decision that is 0 but for rounding
        assert np.abs(machine.decision_function(latent[:, None])).max() < 1e-3
    scores = sap(latent[:, None], factor[:, None], latent[:, None], factor[:, None])
    share = (max(counts) if len(counts) > 2 else counts[0]) / len(factor)
    assert parts(scores, "accuracy") == [pytest.approx(share)]


@pytest.mark.timeout(60, method="thread")
def test_tables_at_which_the_solver_does_not_end():
    """A value that four fifths of the rows have, where there are five: all terms cancel."""
    codes = np.full((20, 4), 317.32986450195312, np.float32)
    codes[15, 0] = 228.69699096679688
    factor = [125, -114, 125, 125, 125, 126, 125, -124, *[125] * 11, 100]
    scores = sap(codes, np.array(factor)[:, None], codes, np.array(factor)[:, None])
    assert parts(scores, "accuracy") == [0.8]
    symmetric = np.array([[-1.0], [1], [-1], [1]])
    scores = sap(symmetric, [[0], [0], [1], [1]], symmetric, [[0], [0], [1], [1]])
    assert parts(scores, "accuracy") == [0.5]


@pytest.mark.filterwarnings("error")
def test_values_absent_from_training_or_test():
    factors = np.repeat([0, 1], 50)[:, None]
    codes = 10.0 * (2 * factors - 1)
    unseen = np.where(np.arange(100)[:, None] < 25, 2, factors)
    assert parts(sap(codes, factors, codes, unseen), "accuracy") == [0.75]
    assert parts(sap(codes, factors, codes[50:], factors[50:]), "accuracy") == [1]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e5, 1e30, 9e149])
def test_any_scale_ends_without_a_warning(size):
    codes, factors = table(0, 200)
    codes *= size / np.abs(codes).max()
    scores = sap(codes, factors, codes, factors)
    assert all(0 <= row.value <= 1 for row in scores)
    plain = LinearSVC(C=0.01, class_weight="balanced")
    if size < 1e6:
        columns = [codes[:, [latent]] for latent in range(4)]
        best = max(plain.fit(z, factors[:, 1]).score(z, factors[:, 1]) for z in columns)
        assert parts(scores, "accuracy")[1] == best
    else:
        reduced = codes / np.abs(codes).max(axis=0) * 1e6
        expected = by_part(sap(reduced, factors, reduced, factors))
        assert by_part(scores) == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("error")
def test_more_values_than_half_the_rows_give_no_warning():
    codes = RNG(0).normal(size=(60, 2))
    factors = np.arange(60)[:, None]
    assert 0 <= sap(codes, factors, codes, factors)[0].value < 0.1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("far", [1.0, 1e149])
def test_test_rows_far_outside_explain_nothing(far):
    codes, factors = np.array([[0.0], [5e-324], [0.0]]), np.array([[2**31], [0], [1]])
    tables = (codes, factors, np.array([[far], [0.0], [far]]), factors)
    assert by_part(sap(*tables))["gap_r2", None] == 0.0
    usual = np.array([[0.0], [0.0], [1.0]])
    assert by_part(sap(usual, *tables[1:]))["gap_r2", None] == 0.0


def test_evaluate_reads_both_tables_and_says_what_is_missing():
    (codes, factors), (test_codes, test_factors) = table(0, 100), table(1, 50)
    given = Inputs(codes, factors, test_codes=test_codes, test_factors=test_factors)
    assert evaluate("sap", given, RNG(0)) == sap(codes, factors, test_codes, test_factors)
    with pytest.raises(
        ValueError, match="test_codes: found 2 columns; accepted: 4, as in training"
    ):
        sap(codes, factors, test_codes[:, :2], test_factors)
    with pytest.raises(ValueError, match="test_factors: found 1 columns; accepted: 3"):
        sap(codes, factors, test_codes, test_factors[:, :1])
