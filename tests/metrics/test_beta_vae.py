import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from metrics.base.inputs import Inputs, Pairs
from metrics.base.rows import table_pairs
from metrics.beta_vae import beta_vae, evaluate


def scores(train, test, seed=0):
    rows = beta_vae(train, test, np.random.default_rng(seed))
    return {(row.part, row.factor): row.value for row in rows}


def pairs_with(differences, factor):
    """Sets whose pairs differ as told (sets, pairs, latents), around points far from zero."""
    second = np.random.default_rng(0).integers(-50, 50, np.shape(differences))
    return Pairs(second + np.array(differences, float), second.astype(float), np.array(factor))


def by_definition(train, test):
    """The features in loops over pairs, and a plain call of scikit-learn."""

    def points(pairs):
        return [
            [
                sum(abs(a[latent] - b[latent]) for a, b in zip(first, second, strict=True))
                / len(first)
                for latent in range(len(first[0]))
            ]
            for first, second in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
        ]

    factor = train.factor.tolist()
    classifier = LogisticRegression().fit(points(train), factor)
    told = classifier.predict(points(test)).tolist()
    hits = [(own, guess == own) for own, guess in zip(test.factor.tolist(), told, strict=True)]
    chance = 1 / len({*factor, *(own for own, _ in hits)})
    accuracy = sum(hit for _, hit in hits) / len(hits)
    found = {
        ("score", None): accuracy,
        ("calibrated", None): (accuracy - chance) / (1 - chance),
        ("train_accuracy", None): classifier.score(points(train), factor),
    }
    for index in {own for own, _ in hits}:
        own_hits = [hit for own, hit in hits if own == index]
        found["accuracy", index] = sum(own_hits) / len(own_hits)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_the_definition_and_plain_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, [3, 5, 2], size=(400, 3))
    codes = factors @ rng.normal(size=(3, 4)) + 0.5 * rng.normal(size=(400, 4))
    train, test = (table_pairs(codes, factors, count, 5, rng) for count in (150, 90))
    expected = by_definition(train, test)
    assert 0.35 < expected["score", None] < 0.95
    assert scores(train, test) == pytest.approx(expected, abs=1e-6)
    inputs = Inputs(codes, factors, train_pairs=train, test_pairs=test)
    assert evaluate(inputs, rng)[0].value == pytest.approx(expected["score", None], abs=1e-6)


def test_worked_example():
    # Training points (0, 3) for factor 0 and (3, 0) for factor 1 are mirror images, so that the
    # classifier tells the factor of the smaller feature.
    train = pairs_with([[[0, 3], [0, -3]], [[3, 0], [-3, 0]]], [0, 1])
    test = pairs_with(
        [
            [[3, 2], [0, -2]],  # (1.5, 2) tells 0, though the largest difference is in latent 0
            [[-3, 2], [-3, 2]],  # (3, 2) tells 1, though the sum with signs is smaller in latent 0
            [[0, 1], [0, 1]],  # (0, 1) tells 0
            [[1, 2], [2, 3]],  # (1.5, 2.5) tells 0
        ],
        [0, 1, 1, 0],
    )
    assert scores(train, test) == {
        ("score", None): 3 / 4,
        ("calibrated", None): 1 / 2,  # half way from guessing between two factors
        ("train_accuracy", None): 1,
        ("accuracy", 0): 1,
        ("accuracy", 1): 1 / 2,
    }


def test_calibrated_counts_the_factors_of_training_and_test_sets():
    train = pairs_with([[[0, 3]], [[3, 0]]], [0, 1])
    test = pairs_with([[[0, 3]], [[0, 3]], [[3, 0]], [[3, 0]]], [0, 4, 1, 4])
    found = scores(train, test)
    assert found["score", None] == 1 / 2
    assert found["calibrated", None] == pytest.approx((1 / 2 - 1 / 3) / (1 - 1 / 3))
    assert found["accuracy", 4] == 0  # in no training set, so never told
    assert ("accuracy", 2) not in found


def test_without_differences_the_most_frequent_factor_is_told():
    dead = Pairs(np.full((7, 3, 2), 0.1), np.full((7, 3, 2), 0.1), np.array([0, 1, 1, 2, 1, 0, 2]))
    found = scores(dead, dead)
    assert found["score", None] == found["train_accuracy", None] == 3 / 7
    assert [found["accuracy", factor] for factor in range(3)] == [0, 1, 0]


def test_a_single_factor_in_training_sets_is_told():
    train = pairs_with([[[0, 3]], [[3, 0]]], [2, 2])
    assert scores(train, train) == {
        ("score", None): 1,
        ("calibrated", None): 0,
        ("train_accuracy", None): 1,
        ("accuracy", 2): 1,
    }
    found = scores(train, pairs_with([[[0, 3]], [[3, 0]]], [2, 0]))
    assert (found["score", None], found["calibrated", None]) == (1 / 2, 0)


def example(scale):
    """Three factors, each a latent, with noise."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 5, 2], size=(400, 3))
    codes = (factors + 0.3 * rng.normal(size=(400, 3))) * scale
    return [table_pairs(codes, factors, count, 8, rng) for count in (150, 90)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e3, 1e6, 1e30, 1e100, 1e148])
def test_huge_scales_neither_warn_nor_hide_the_factors(scale):
    assert scores(*example(scale))["score", None] > 0.95


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-6, 1e-100, 1e-320])
def test_tiny_scales_do_not_warn_and_are_near_guessing(scale):
    assert scores(*example(scale))["score", None] == pytest.approx(1 / 3, abs=0.1)


def test_features_up_to_a_thousand_are_used_as_they_are(monkeypatch, recwarn):
    learned, told = [], []

    class Spy(LogisticRegression):
        def fit(self, features, factor):
            learned.append(features.max())
            warnings.warn("stopped early", ConvergenceWarning, stacklevel=1)
            return super().fit(features, factor)

        def predict(self, features):
            told.append(features.max())
            return super().predict(features)

    monkeypatch.setattr("sklearn.linear_model.LogisticRegression", Spy)
    for largest in (3, 999, 5000):
        train = pairs_with([[[0, largest]], [[largest, 0]]], [0, 1])
        test = pairs_with([[[0, 2 * largest]], [[largest, 0]]], [0, 1])
        assert scores(train, test)["score", None] == 1
    assert learned == [3, 999, 1000]
    assert told == [3, 6, 999, 1998, 1000, 2000]  # training sets, then test sets
    assert not recwarn.list


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"second": np.zeros((2, 4, 3))},
            r"test.second: found shape \(2, 4, 3\); accepted: \(2, 5, 3\)",
        ),
        ({"factor": np.zeros(3, int)}, r"test.factor: found 3 sets; accepted: 2"),
        ({"factor": np.full(2, -1)}, r"test.factor: found -1"),
        ({"factor": np.zeros(2)}, r"test.factor: found float64; accepted: integers"),
        (
            {"first": np.full((2, 5, 3), np.nan)},
            r"test.first: found nan in set 0, pair 0",
        ),
        (
            {"first": np.zeros((2, 5, 2)), "second": np.zeros((2, 5, 2))},
            r"test: found 2 latents; accepted: 3, as train",
        ),
    ],
)
def test_bad_pairs_are_refused(change, message):
    good = {
        "first": np.zeros((2, 5, 3)),
        "second": np.zeros((2, 5, 3)),
        "factor": np.array([0, 1]),
    }
    with pytest.raises(ValueError, match=message):
        scores(Pairs(**good), Pairs(**{**good, **change}))
