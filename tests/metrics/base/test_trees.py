import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from metrics.base.inputs import Inputs
from metrics.base.trees import KINDS, OneValue, learn
from metrics.compiled.boosting import Boosting


@pytest.fixture
def table():
    draws = np.random.default_rng(0)
    factors = draws.integers((2, 3), size=(80, 2))
    return factors + 0.3 * draws.normal(size=(80, 2)), factors


def test_either_kind_stands_where_the_other_does(table):
    codes, factors = table
    ours, theirs = (learn(codes, factors, kind, seed=0) for kind in KINDS)
    assert [type(one) for one in ours] == [Boosting] * 2
    assert [type(one) for one in theirs] == [GradientBoostingClassifier] * 2
    for one, other, factor in zip(ours, theirs, factors.T, strict=True):
        assert one.predict(codes).tolist() == other.predict(codes).tolist() == factor.tolist()
        assert one.classes_.tolist() == other.classes_.tolist()
        np.testing.assert_allclose(one.predict_proba(codes), other.predict_proba(codes), atol=1e-2)
        np.testing.assert_allclose(one.feature_importances_, other.feature_importances_, atol=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_a_factor_with_one_value_is_not_learned(kind, table):
    codes, factors = table
    factors = np.column_stack([factors, np.full(80, 7)])
    learned = learn(codes, factors, kind, seed=0)
    assert isinstance(learned[2], OneValue)
    assert learned[2].predict(codes[:3]).tolist() == [7, 7, 7]
    assert learned[2].predict_proba(codes[:3]).tolist() == [[1], [1], [1]]
    assert learned[2].feature_importances_.tolist() == [0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_is_every_classifiers(kind, table):
    codes, factors = table
    codes = np.repeat(codes[:, :1], 4, axis=1)  # which of four equal latents is asked is drawn

    def importances(seed: int) -> list[list[float]]:
        return [list(one.feature_importances_) for one in learn(codes, factors, kind, seed)]

    assert importances(1) == importances(1) != importances(2)


def test_inputs_learn_once_with_their_kind_and_seed(table):
    inputs = Inputs(*table, trees="sklearn", tree_seed=5)
    assert inputs.boosted is inputs.boosted
    assert [one.random_state for one in inputs.boosted] == [5, 5]
    assert [one.seed for one in Inputs(*table, tree_seed=6).boosted] == [6, 6]
