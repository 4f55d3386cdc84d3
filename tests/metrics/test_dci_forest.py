import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.preprocessing import StandardScaler

from metrics.base.dci_scores import importance_scores
from metrics.base.inputs import Inputs
from metrics.dci_forest import dci_forest
from metrics.evaluate import evaluate

RNG = np.random.default_rng


def table(seed, rows, noise=0.3):
    """Factors of 2, 5 and 3 values, mixed into latents and bent; the last latent is noise."""
    rng = RNG(seed)
    factors = rng.integers(0, [2, 5, 3], size=(rows, 3))
    mixing = np.array([[1.0, 0.5, 0, 0], [0, 1, 0.3, 0], [0, -0.4, 1, 0]])
    return np.sin(factors @ mixing) + noise * rng.normal(size=(rows, 4)), factors


def parts(scores, part, factor=None):
    (value,) = (row.value for row in scores if (row.part, row.factor) == (part, factor))
    return value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_scikit_learn(dtype):
    (codes, factors), (test_codes, test_factors) = table(0, 200), table(1, 100)
    codes, test_codes = (each.astype(dtype).astype(float) for each in (codes, test_codes))
    rng = RNG(3)
    seed = int(rng.integers(2**31))
    held_out = rng.permutation(200)[:40]
    kept = np.sort(np.setdiff1d(np.arange(200), held_out))
    scaler = StandardScaler().fit(codes)
    codes, test_codes = scaler.transform(codes), scaler.transform(test_codes)
    importance, errors, depths = [], [], set()
    for factor in range(3):
        values = factors[:, factor]
        target = (values - values.mean()) / values.std()
        options = []
        for depth in (1, 2, 4, 8, 16):
            forest = RandomForestRegressor(n_estimators=10, max_depth=depth, random_state=seed)
            forest.fit(codes[kept], target[kept])
            error = np.mean((forest.predict(codes[held_out]) - target[held_out]) ** 2)
            options.append((error, depth))
        depths.add(min(options)[1])
        forest = RandomForestRegressor(
            n_estimators=10, max_depth=min(options)[1], random_state=seed
        ).fit(codes, target)
        importance.append(forest.feature_importances_)
        width = values.max() - values.min()
        for part, z, v in (("train", codes, values), ("test", test_codes, test_factors[:, factor])):
            error = np.mean((forest.predict(z) * values.std() + values.mean() - v) ** 2)
            errors.append((f"nrmse_{part}", factor, np.sqrt(error) / values.std()))
            errors.append((f"informativeness_{part}", factor, 1 - 6 * error / width**2))
    codes, test_codes = (table(each, rows)[0].astype(dtype) for each, rows in ((0, 200), (1, 100)))
    scores = dci_forest(codes, factors, test_codes, test_factors, RNG(3))
    for row in importance_scores(np.array(importance).T):
        assert parts(scores, row.part, row.factor) == pytest.approx(row.value, abs=1e-6)
    for part, factor, value in errors:
        assert parts(scores, part, factor) == pytest.approx(max(value, 0), abs=1e-6)
    assert 0.1 < scores[0].value < 0.9
    assert len(depths) > 1, "the validation rows must have a choice to make"


def test_worked_example():
    # Latent 0 is factor 0, bent and upside down; latents 1 and 2 are factor 1; latent 3 is dead.
    factors = np.stack(np.meshgrid(range(3), range(4)), axis=-1).reshape(-1, 2).repeat(20, axis=0)
    first, second = factors.T
    codes = np.column_stack([np.exp(-first), second, second, np.full(len(factors), 0.1)])
    scores = dci_forest(codes, factors, codes, factors, RNG(0))
    assert scores[0].value == pytest.approx(1)
    latents = [parts(scores, f"disentanglement latent {each}") for each in range(4)]
    assert latents == pytest.approx([1, 1, 1, 0])
    assert parts(scores, "completeness", 0) == pytest.approx(1)
    # Two of four latents, about alike: 1 - ln 2 / ln 4 = 1/2.
    assert 0.5 - 1e-9 <= parts(scores, "completeness", 1) < 0.75
    assert parts(scores, "informativeness_test") == pytest.approx(1)
    assert parts(scores, "nrmse_test") == pytest.approx(0, abs=1e-9)


def test_trees_grow_as_deep_as_the_validation_rows_ask():
    factors = np.tile(np.arange(500), 10)[:, None]
    scores = dci_forest(factors, factors, factors, factors, RNG(0))
    assert parts(scores, "nrmse_train") < 1e-3  # 256 leaves, of depth 8, leave 4e-3


def test_noise_is_not_learned_by_heart():
    factors = RNG(0).integers(0, 4, size=(300, 1))
    codes, test_codes = RNG(1).normal(size=(2, 300, 3))
    scores = dci_forest(codes, factors, test_codes, factors, RNG(0))
    assert parts(scores, "nrmse_train") > 0.9  # a forest of depth 16 would be below 0.5
    assert parts(scores, "nrmse_test") < 1.1


@pytest.mark.filterwarnings("error")
def test_dead_latents_are_important_for_nothing_even_if_the_test_moves_them():
    codes, factors = table(0, 100)
    for value in (0.1, 9e149):
        dead, moved = (np.column_stack([np.full(100, each), codes]) for each in (value, -9e149))
        scores = dci_forest(dead, factors, moved, factors, RNG(0))
        assert scores == dci_forest(dead, factors, dead, factors, RNG(0))
        assert parts(scores, "disentanglement latent 0") == 0
        assert parts(scores, "disentanglement latent 1") > 0
    nothing = dci_forest(dead[:, :1], factors, dead[:, :1], factors, RNG(0))
    assert parts(nothing, "score") == parts(nothing, "completeness") == 0


def test_a_factor_with_one_value_counts_as_not_told():
    codes, factors = table(0, 100)
    constant = np.column_stack([factors, np.full(100, 7)])
    before, after = (dci_forest(codes, each, codes, each, RNG(0)) for each in (factors, constant))
    for part in ("completeness", "informativeness_test"):
        assert parts(after, part, 3) == 0
        assert parts(after, part) == pytest.approx(parts(before, part) * 3 / 4)
    assert parts(after, "nrmse_test", 3) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-140, 9e149])
def test_scale_changes_nothing(size):
    codes, factors = table(0, 100)
    scaled = codes * (size / np.abs(codes).max(axis=0))
    before, after = (
        [row.value for row in dci_forest(each, factors, each, factors, RNG(0))]
        for each in (codes, scaled)
    )
    assert after == pytest.approx(before)


@pytest.mark.filterwarnings("error")
def test_values_absent_from_training_or_test_and_few_rows_give_finite_scores():
    codes, factors = table(0, 20)
    extreme = np.where(np.arange(20)[:, None] % 2, 9e149, -9e149) * np.ones(4)
    for rows in (1, 2, 3):
        scores = dci_forest(codes[:rows] * 1e-100, factors[:rows], extreme, factors + 3, RNG(0))
        assert np.isfinite([row.value for row in scores]).all()


def test_evaluate_reads_both_tables_and_follows_the_stream():
    (codes, factors), (test_codes, test_factors) = table(0, 60), table(1, 50)
    given = Inputs(codes, factors, test_codes=test_codes, test_factors=test_factors)
    expected = dci_forest(codes, factors, test_codes, test_factors, RNG(5))
    assert evaluate("dci_forest", given, RNG(5)) == expected
    assert evaluate("dci_forest", given, RNG(6)) != expected
