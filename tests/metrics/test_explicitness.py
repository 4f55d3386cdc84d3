import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from metrics.base.inputs import Inputs, Score
from metrics.evaluate import evaluate
from metrics.explicitness import explicitness

RNG = np.random.default_rng


def table(seed, rows):
    """Factors of 2, 5 and 3 values, of which the last one is skewed, mixed into 4 latents."""
    rng = RNG(seed)
    factors = rng.integers(0, [2, 5, 12], size=(rows, 3)) // [1, 1, 5]
    mixing = RNG(7).normal(size=(3, 4))
    return factors @ mixing * [1, 10, 0.1, 1] + [0, 5, 0.1, 0] + rng.normal(size=(rows, 4)), factors


def parts(scores, part):
    return [row.value for row in scores if row.part == part]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_scikit_learn(dtype):
    (codes, factors), (test_codes, test_factors) = table(0, 300), table(1, 200)
    codes, test_codes = codes.astype(dtype), test_codes.astype(dtype)
    areas, means = [], []
    for factor in range(3):
        mine = []
        for value in set(factors[:, factor].tolist()):
            model = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
            model.fit(codes.astype(float), factors[:, factor] == value)
            chance = model.predict_proba(test_codes.astype(float))[:, 1]
            mine.append(roc_auc_score(test_factors[:, factor] == value, chance))
        areas += mine
        means.append(np.mean(mine))
    scores = explicitness(codes, factors, test_codes, test_factors)
    assert len(areas) == 10
    assert scores[0].part == "score"
    assert scores[0].value == pytest.approx(2 * np.mean(areas) - 1, abs=1e-6)
    assert parts(scores, "auc") == pytest.approx([np.mean(areas), *means], abs=1e-6)
    assert parts(scores, "explicitness") == pytest.approx([2 * m - 1 for m in means], abs=1e-6)
    assert 0.1 < scores[0].value < 0.9


def test_worked_example():
    # The latent is the value in training. In the test, rows with value 1 stand at 1, 1, 3 and rows
    # with value 0 at 0, 2: of 6 pairs, 4 are in order. Both values of two have the same area.
    factors = np.array([[0], [0], [1], [1]])
    test_factors = np.array([[1], [1], [1], [0], [0]])
    test_codes = np.array([[1.0], [1.0], [3.0], [0.0], [2.0]])
    scores = explicitness(factors.astype(float), factors, test_codes, test_factors)
    assert [row.part for row in scores] == ["score", "auc", "explicitness", "auc"]
    assert [row.value for row in scores] == pytest.approx([1 / 3, 2 / 3, 1 / 3, 2 / 3])


def test_values_weigh_equally_over_all_factors():
    # Two values that are told without error, three of a factor that nothing tells: (2 - 1) * 2/5.
    factors = np.stack(np.meshgrid([0, 1], [0, 1, 2]), axis=-1).reshape(-1, 2)
    codes = np.column_stack([factors[:, 0], np.full(6, 0.1)])
    scores = explicitness(codes, factors, codes, factors)
    assert parts(scores, "explicitness") == pytest.approx([1, 0])
    assert scores[0].value == pytest.approx(2 / 5)


def test_worse_than_guessing_is_zero_but_the_area_is_told():
    factors = np.array([[0], [0], [1], [1]])
    codes = factors.astype(float)
    assert [row.value for row in explicitness(codes, factors, -codes, factors)] == [0, 0, 0, 0]
    # Rows with value 1 stand at 0 and 1, those with value 0 at 0, 1 and 1: of 6 pairs one is in
    # order and three are ties.
    test_codes = np.array([[0.0], [1], [0], [1], [1]])
    scores = explicitness(codes, factors, test_codes, np.array([[1], [1], [0], [0], [0]]))
    assert scores[0] == Score("score", 0)
    assert scores[1].value == pytest.approx(2.5 / 6)


@pytest.mark.filterwarnings("error")
def test_values_absent_from_training_or_test():
    factors = np.repeat([0, 1, 2], 20)[:, None]
    codes = np.eye(3)[factors[:, 0]]
    told = explicitness(codes, factors, codes, factors)
    assert told[1].value == pytest.approx(1)
    assert explicitness(codes, factors, codes[:40], factors[:40])[1].value == pytest.approx(1)
    unseen = explicitness(codes[:40], factors[:40], codes, factors)
    # Value 2 guesses (0.5); 0 and 1 are told from the other and have 2 in between.
    assert unseen[1].value == pytest.approx((1 + 1 + 0.5) / 3)


@pytest.mark.filterwarnings("error")
def test_a_factor_with_one_value_counts_as_one_guessed_value():
    codes, factors = table(0, 200)
    constant = np.column_stack([factors, np.full(200, 7)])
    before, after = (explicitness(codes, each, codes, each) for each in (factors, constant))
    assert parts(after, "explicitness")[3] == 0
    assert after[1].value == pytest.approx((10 * before[1].value + 0.5) / 11)
    varied = constant.copy()
    varied[:50, 3] = 8
    assert parts(explicitness(codes, constant, codes, varied), "auc")[4] == 0.5
    assert parts(explicitness(codes, varied, codes, constant), "auc")[4] == 0.5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-140, 1e-9, 1e5, 1e30, 9e149])
def test_scale_and_shift_change_nothing(size):
    codes, factors = table(0, 200)
    before = explicitness(codes, factors, codes, factors)
    scaled = codes * (size / np.abs(codes).max(axis=0)) * [1, 1, 1, -0.5]
    after = explicitness(scaled, factors, scaled, factors)
    assert [row.value for row in after] == pytest.approx([row.value for row in before], abs=1e-3)


@pytest.mark.filterwarnings("error")
def test_a_dead_latent_changes_nothing_even_if_the_test_moves_it():
    codes, factors = table(0, 200)
    before = explicitness(codes, factors, codes, factors)
    for value in (0.1, 9e149):
        dead, alive = (
            np.column_stack([codes, np.full(200, each)]) for each in (value, factors[:, 0])
        )
        after = explicitness(dead, factors, dead, factors)
        moved = explicitness(dead, factors, alive, factors)
        assert after == moved
        assert [row.value for row in after] == pytest.approx([row.value for row in before])


def test_evaluate_reads_both_tables():
    (codes, factors), (test_codes, test_factors) = table(0, 100), table(1, 50)
    given = Inputs(codes, factors, test_codes=test_codes, test_factors=test_factors)
    expected = explicitness(codes, factors, test_codes, test_factors)
    assert evaluate("explicitness", given, RNG(0)) == expected
    with pytest.raises(
        ValueError, match="test_codes: found 2 columns; accepted: 4, as in training"
    ):
        explicitness(codes, factors, test_codes[:, :2], test_factors)
