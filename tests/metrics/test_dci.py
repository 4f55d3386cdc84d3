import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.ensemble import GradientBoostingClassifier

from metrics.base.dci_scores import disentanglement
from metrics.base.inputs import Inputs
from metrics.base.trees import LONGEST, longest_step
from metrics.compiled.boosting import Boosting
from metrics.dci import dci, importances
from metrics.evaluate import evaluate
from tests.metrics.compiled.test_boosting import Problem
from tests.metrics.test_dci_forest import parts, table

RNG = np.random.default_rng


def inputs_of(codes, factors, test_codes=None, test_factors=None, **others) -> Inputs:
    if test_codes is None:
        test_codes, test_factors = codes, factors
    return Inputs(codes, factors, test_codes=test_codes, test_factors=test_factors, **others)


def test_is_what_the_papers_say_of_scikit_learns_trees():
    """Locatello et al. 2019, appendix C, step by step."""
    (codes, factors), (test_codes, test_factors) = table(0, 300), table(1, 150)
    importance, accuracy, test_accuracy = [], [], []
    for factor in range(3):
        trees = GradientBoostingClassifier(random_state=4).fit(codes, factors[:, factor])
        importance.append(trees.feature_importances_)
        accuracy.append(np.mean(trees.predict(codes) == factors[:, factor]))
        test_accuracy.append(np.mean(trees.predict(test_codes) == test_factors[:, factor]))
    matrix_ = np.array(importance).T
    share = matrix_.sum(axis=1) / matrix_.sum()
    disentangled = share @ (1 - entropy(matrix_.T, base=3))
    complete = 1 - entropy(matrix_, base=4)
    inputs = inputs_of(codes, factors, test_codes, test_factors, trees="sklearn", tree_seed=4)
    scores = evaluate("dci", inputs, RNG(0))
    assert (scores[0].part, scores[0].factor) == ("score", None)
    assert scores[0].value == pytest.approx(disentangled) == parts(scores, "disentanglement")
    assert parts(scores, "completeness") == pytest.approx(complete.mean())
    assert parts(scores, "completeness_weighted") == pytest.approx(complete.mean())
    for factor in range(3):
        assert parts(scores, "completeness", factor) == pytest.approx(complete[factor])
        assert parts(scores, "informativeness_train", factor) == accuracy[factor]
        assert parts(scores, "informativeness_test", factor) == test_accuracy[factor]
    assert parts(scores, "informativeness_train") == pytest.approx(np.mean(accuracy))
    assert parts(scores, "informativeness_test") == pytest.approx(np.mean(test_accuracy))
    np.testing.assert_allclose(inputs.matrices["dci"], matrix_)


def test_the_quicker_trees_score_alike():
    (codes, factors), (test_codes, test_factors) = table(0, 600), table(1, 150)
    ours, theirs = (
        dci(inputs_of(codes, factors, test_codes, test_factors, trees=kind))
        for kind in ("presorted", "sklearn")
    )
    assert [(row.part, row.factor) for row in ours] == [(row.part, row.factor) for row in theirs]
    for one, other in zip(ours, theirs, strict=True):
        tolerance = 0.03 if "inform" in one.part or "latent" in one.part else 0.005
        assert one.value == pytest.approx(other.value, abs=tolerance), one


STABLE = {
    "stable": "score",
    "stable_completeness": "completeness",
    "stable_informativeness_test": "informativeness_test",
}


def test_the_stable_parts_are_the_headline_where_no_step_is_long():
    scores = dci(inputs_of(*table(0, 300)))
    for stable, headline in STABLE.items():
        assert parts(scores, stable) == parts(scores, headline)


def test_long_steps_are_bounded_in_the_stable_parts_only():
    """Two hundred classes, some two rows each: leaves of 1e7, in scikit-learn as here."""
    codes, target = Problem(200, 3, 400, seed=3).draw(400)
    factors = np.column_stack([target, target % 2])
    inputs = inputs_of(codes, factors)
    steps, bounded = (list(map(longest_step, each)) for each in (inputs.boosted, inputs.bounded))
    assert steps[0] > 1e5 and bounded[0] <= LONGEST
    assert inputs.bounded[1] is inputs.boosted[1], "what needs no bound is not learned again"
    scores = dci(inputs)
    again = Boosting(inputs.tree_seed, LONGEST).fit(codes, target)
    matrix = np.stack([again.feature_importances_, importances(inputs.boosted)[:, 1]], axis=1)
    assert parts(scores, "stable") == pytest.approx(disentanglement(matrix)[0])
    assert parts(scores, "stable") != parts(scores, "score")
    alone = dci(inputs_of(codes, factors[:, 1:]))
    assert parts(alone, "stable") == parts(alone, "score")


def test_scikit_learns_steps_are_seen_too():
    codes, factors = table(0, 300)
    ours, reference = (
        inputs_of(codes, factors[:, 1:], trees=kind).boosted for kind in ("presorted", "sklearn")
    )
    for one, other in zip(ours, reference, strict=True):
        assert longest_step(one) == pytest.approx(longest_step(other), rel=0.2)


def test_by_hand():
    """Latent 0 is factor 0; latents 1 and 2 are the two halves of factor 1's four values."""
    grid = np.array([[a, b] for a in range(2) for b in range(4)] * 10)
    codes = np.column_stack([grid[:, 0], grid[:, 1] // 2, grid[:, 1] % 2]).astype(float)
    scores = dci(inputs_of(codes, grid))
    assert scores[0].value == pytest.approx(1)
    assert parts(scores, "completeness", 0) == pytest.approx(1)
    # each class is told by both halves alike, and which is asked first is drawn
    asked = importances(inputs_of(codes, grid).boosted)
    assert asked[:, 0].tolist() == pytest.approx([1, 0, 0])
    assert asked[0, 1] == 0 and asked[:, 1].sum() == pytest.approx(1)
    assert parts(scores, "completeness", 1) == pytest.approx(1 - entropy(asked[:, 1], base=3))
    assert 1 - np.log(2) / np.log(3) <= parts(scores, "completeness", 1) < 0.5
    assert parts(scores, "informativeness_test") == 1


def test_a_value_absent_from_training_is_never_told():
    codes, factors = table(0, 200)
    test_factors = factors.copy()
    test_factors[:50, 1] = 9
    scores = dci(inputs_of(codes, factors, codes, test_factors))
    lost = (factors[:50, 1] == dci_predictions(codes, factors)[:50]).sum() / 200
    assert parts(scores, "informativeness_test", 1) == pytest.approx(
        parts(scores, "informativeness_train", 1) - lost
    )


def dci_predictions(codes, factors):
    return inputs_of(codes, factors).boosted[1].predict(codes)


def test_a_factor_with_one_value_is_told_and_tells_nothing():
    codes, factors = table(0, 200)
    wider = np.column_stack([factors, np.full(200, 3)])
    test = wider.copy()
    test[:20, 3] = 4
    before, scores = dci(inputs_of(codes, factors)), dci(inputs_of(codes, wider, codes, test))
    assert parts(scores, "completeness", 3) == 0
    assert parts(scores, "informativeness_train", 3) == 1
    assert parts(scores, "informativeness_test", 3) == 0.9
    assert parts(scores, "completeness_weighted") == pytest.approx(parts(before, "completeness"))
    assert parts(scores, "completeness") == pytest.approx(3 / 4 * parts(before, "completeness"))


def test_a_dead_latent_changes_nothing_but_the_base():
    codes, factors = table(0, 200)
    dead = np.column_stack([codes[:, :2], np.full(200, 1e-3), codes[:, 2:]])
    before, scores = dci(inputs_of(codes, factors)), dci(inputs_of(dead, factors))
    assert parts(scores, "disentanglement latent 2") == 0
    assert scores[0].value == pytest.approx(before[0].value, abs=0.01)
    assert np.delete(importances(inputs_of(dead, factors).boosted), 2, axis=0) == pytest.approx(
        importances(inputs_of(codes, factors).boosted), abs=0.01
    )


def test_a_latent_of_a_range_below_the_threshold_is_dead():
    codes, factors = table(0, 100)
    codes[:, 1] *= 1e-9
    assert importances(inputs_of(codes, factors).boosted)[1].tolist() == [0, 0, 0]


def test_codes_beyond_float32_are_refused_by_name():
    codes, factors = table(0, 100)
    with pytest.raises(ValueError, match=r"found 1e\+40 in size; accepted: numbers to 3.4\d*e\+38"):
        dci(inputs_of(np.where(codes > 0, 1e40, codes), factors))
