import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import KFold

import metrics.downstream_trees
from metrics import downstream_logistic, downstream_trees
from metrics.base.downstream import SIZES, downstream, sizes
from metrics.base.inputs import Inputs
from metrics.base.predictors import check_tables

BOTH = (downstream_logistic, downstream_trees)


def table(rows, seed=0, values=(2, 3)):
    rng = np.random.default_rng(seed)
    factors = rng.integers(values, size=(rows, len(values))) * 2 - 1
    codes = factors @ rng.normal(size=(len(values), 3)) + rng.normal(size=(rows, 3))
    return codes, factors


def both_tables(rows, test_rows=200, **settings):
    codes, factors = table(rows + test_rows)
    train, test = slice(0, rows), slice(rows, None)
    return Inputs(
        codes[train],
        factors[train],
        test_codes=codes[test],
        test_factors=factors[test],
        **settings,
    )


def parts(metric, inputs):
    rows = metric.evaluate(inputs, np.random.default_rng(0))
    assert (rows[0].part, rows[0].factor) == ("score", None)
    found = {(row.part, row.factor): row.value for row in rows}
    assert len(found) == len(rows)
    return found


class Always:
    """Predicts one value."""

    def __init__(self, value):
        self.value = value

    def predict(self, codes):
        return np.full(len(codes), self.value)


def made_of(learn, train, test):
    """Scores of two factors in tables whose codes do not matter."""
    train, test = np.array(train), np.array(test)
    codes, test_codes = np.zeros((len(train), 1)), np.zeros((len(test), 1))
    scores = downstream(check_tables(codes, train, test_codes, test), learn)
    return {(score.part, score.factor): score.value for score in scores}


def test_worked_example():
    # The first factor is 1 in half of the training rows and in a quarter of the test rows, the
    # second 0 everywhere. From 100 rows both are told to be 0, from 10 both to be 1.
    train = [[1, 0]] * 5 + [[0, 0]] * 5 + [[1, 0]] * 45 + [[0, 0]] * 45
    test = [[1, 0]] + [[0, 0]] * 3
    learned = {10: 1, 100: 0}
    assert made_of(lambda size: [Always(learned[size])] * 2, train, test) == {
        ("score", None): (0.75 + 1) / 2,
        ("accuracy_10", None): (0.25 + 0) / 2,
        ("accuracy_10", 0): 0.25,
        ("accuracy_10", 1): 0,
        ("train_accuracy_10", None): (0.5 + 0) / 2,
        ("min_accuracy_10", None): 0,
        ("accuracy_100", None): (0.75 + 1) / 2,
        ("accuracy_100", 0): 0.75,
        ("accuracy_100", 1): 1,
        ("train_accuracy_100", None): (0.5 + 1) / 2,
        ("min_accuracy_100", None): 0.75,
    }


@pytest.mark.parametrize("rows", [10_000, 12_345])
def test_efficiency_is_relative_to_10_000_rows(rows):
    # Of four test rows one is 1, two are 2 and one is 3.
    test = [[1], [2], [2], [3]]
    learned = {10: 0, 100: 1, 1_000: 3, 10_000: 2}
    asked = []

    def learn(size):
        asked.append(size)
        return [Always(learned[size])]

    found = made_of(learn, np.full((rows, 1), 2), test)
    assert asked == [10, 100, 1_000, 10_000]
    assert found["score", None] == found["accuracy_10000", None] == 0.5
    assert found["efficiency_100", None] == found["efficiency_1000", None] == 0.5
    assert {part for part, _ in found if part.startswith("eff")} == {
        "efficiency_100",
        "efficiency_1000",
    }
    nothing = made_of(lambda size: [Always(0)], np.full((rows, 1), 2), test)
    assert not {part for part, _ in nothing if part.startswith("eff")}
    fewer = made_of(lambda size: [Always(2)], np.full((9_999, 1), 2), test)
    assert not {part for part, _ in fewer if part.startswith("eff")}
    assert fewer["score", None] == fewer["accuracy_9999", None] == 0.5


@given(st.integers(1, 30_000))
def test_sizes_are_the_papers_as_far_as_there_are_rows(rows):
    found = sizes(rows)
    assert found == sorted(set(found)) and set(found) - {rows} <= set(SIZES)
    assert max(found) == min(rows, 10_000)
    assert [size for size in SIZES if size <= rows] == [size for size in found if size in SIZES]


def test_sizes_of_small_tables():
    assert sizes(667) == [10, 100, 667] and sizes(7) == [7] and sizes(100) == [10, 100]


def expected(inputs, fit):
    """Every part, from the definition."""
    found = {}
    for size in (10, 100, len(inputs.codes)):
        train, test = [], []
        for column in range(inputs.factors.shape[1]):
            factor = inputs.factors[:size, column]
            model = fit(inputs.codes[:size].astype(float), factor)
            train.append(np.mean(model.predict(inputs.codes[:size]) == factor))
            told = model.predict(inputs.test_codes)
            test.append(np.mean(told == inputs.test_factors[:, column]))
            found[f"accuracy_{size}", column] = test[-1]
        found[f"accuracy_{size}", None] = found["score", None] = np.mean(test)
        found[f"train_accuracy_{size}", None] = np.mean(train)
        found[f"min_accuracy_{size}", None] = min(test)
    return found


def test_logistic_agrees_with_scikit_learn():
    def fit(codes, factor):
        settings = {"l1_ratios": (0,), "scoring": "accuracy", "use_legacy_attributes": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return LogisticRegressionCV(Cs=10, cv=KFold(5), **settings).fit(codes, factor)

    inputs = both_tables(300)
    found = parts(downstream_logistic, inputs)
    assert found == pytest.approx(expected(inputs, fit))
    assert 0.4 < found["score", None] < 0.95


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("kind", ["sklearn", "presorted"])
def test_trees_agree_with_scikit_learn(kind, seed):
    inputs = both_tables(150, trees=kind, tree_seed=seed)
    found = parts(downstream_trees, inputs)
    wanted = expected(
        inputs, lambda codes, y: GradientBoostingClassifier(random_state=seed).fit(codes, y)
    )
    # Ten rows have many equally good splits.
    assert found == pytest.approx(wanted, abs=0 if kind == "sklearn" else 0.06)


def test_trees_of_the_whole_table_are_the_shared_ones(monkeypatch):
    inputs = both_tables(150)
    asked = []
    learn = metrics.downstream_trees.learn
    monkeypatch.setattr(
        metrics.downstream_trees,
        "learn",
        lambda codes, *rest: asked.append(len(codes)) or learn(codes, *rest),
    )
    inputs.__dict__["boosted"] = [Always(-1), Always(1)]
    found = parts(downstream_trees, inputs)
    assert asked == [10, 100]
    share = np.mean(inputs.test_factors == [-1, 1], axis=0)
    assert [found["accuracy_150", factor] for factor in (0, 1)] == pytest.approx(share)


def test_trees_of_10_000_rows_are_not_those_of_a_longer_table(monkeypatch):
    inputs = both_tables(10_001, 5)
    asked = []
    monkeypatch.setattr(
        metrics.downstream_trees,
        "learn",
        lambda codes, *rest: asked.append((len(codes), *rest[1:])) or [Always(1), Always(1)],
    )
    parts(downstream_trees, replace(inputs, tree_seed=3))
    assert asked == [(size, "presorted", 3) for size in SIZES]


@pytest.mark.parametrize("metric", BOTH)
def test_a_factor_with_one_value_and_values_absent_from_either_part(metric):
    codes, factors = table(40)
    few = np.where(factors[:10, :1] > 0, 1, 0)
    factors = np.column_stack([np.concatenate([few, factors[10:, :1] * 0 + 4]), factors[:, 1] * 0])
    inputs = Inputs(
        codes,
        factors,
        test_codes=codes[:4],
        test_factors=np.array([[4, 0], [4, 7], [4, 0], [9, 0]]),
    )
    found = parts(metric, inputs)
    assert found["accuracy_10", 0] == 0  # 4 is absent from the first ten rows
    assert found["accuracy_10", 1] == found["accuracy_40", 1] == 0.75
    assert found["accuracy_40", 0] < 1  # 9 is absent from training


@pytest.mark.parametrize("metric", BOTH)
def test_perfect_duplicated_and_dead_latents(metric):
    _, factors = table(90)
    for codes in (factors, np.repeat(factors, 2, axis=1)):
        found = parts(metric, Inputs(codes * 1.0, factors, test_codes=codes, test_factors=factors))
        assert found["score", None] == found["train_accuracy_90", None] == 1
    dead = np.full((90, 2), 0.1)
    found = parts(metric, Inputs(dead, factors, test_codes=dead, test_factors=factors))
    shares = [np.unique(factor, return_counts=True)[1].max() / 90 for factor in factors.T]
    assert [found["accuracy_90", factor] for factor in (0, 1)] == pytest.approx(shares)


@pytest.mark.parametrize("metric", BOTH)
def test_one_row_is_what_is_predicted(metric):
    inputs = Inputs(
        np.ones((1, 2)),
        np.array([[3]]),
        test_codes=np.ones((2, 2)),
        test_factors=np.array([[3], [4]]),
    )
    assert set(parts(metric, inputs).values()) == {0.5, 1.0}
    assert parts(metric, inputs)["accuracy_1", 0] == 0.5


@pytest.mark.parametrize("metric", BOTH)
def test_a_table_is_missed_by_name(metric):
    inputs = both_tables(20)
    with pytest.raises(ValueError, match="test_codes or test_factors is None"):
        metric.evaluate(replace(inputs, test_codes=None), np.random.default_rng(0))
    with pytest.raises(ValueError, match="test_factors: found 1 columns; accepted: 2"):
        metric.evaluate(
            replace(inputs, test_factors=inputs.test_factors[:, :1]), np.random.default_rng(0)
        )
