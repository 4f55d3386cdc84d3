"""DCI with regressors on training, validation, test and zero-shot rows.

The known answers are of factors like those of teapots: five real numbers, and the gap that
Eastwood & Williams 2018 leave out of all other rows (appendix B.2).
"""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso

from data import teapots
from data.teapots import AZIMUTH, RED
from metrics.base.dci_regressors import PARTS
from metrics.base.inputs import Inputs
from metrics.dci_forest import FINER_DEPTHS, dci_forest
from metrics.dci_lasso import PENALTIES, dci_lasso
from metrics.evaluate import evaluate

RNG = np.random.default_rng
ROWS = 6000
BOTH = pytest.mark.parametrize("dci", [dci_lasso, dci_forest])


def values_of(scores):
    return {(row.part, row.factor): row.value for row in scores}


def factors_of_splits(seed=0, rows=ROWS):
    """Real factors of the four splits, by their names."""
    real = RNG(seed).random((rows, 5)) * teapots.LARGEST
    return {name: real[places] for name, places in vars(teapots.splits(real)).items()}


def scored(dci, codes_of, factors):
    """The scores of codes that are a function of the factors."""
    rows = {name: (codes_of(real), real) for name, real in factors.items()}
    further = {name: rows[name] for name in ("validation", "zero_shot")}
    return values_of(dci(*rows["train"], *rows["test"], RNG(1), **further))


@BOTH
def test_codes_that_are_permuted_and_scaled_factors(dci):
    order, sizes = [3, 0, 4, 1, 2], np.array([1, -20, 0.01, 3, -1])
    of = scored(dci, lambda real: real[:, order] * sizes + 7, factors_of_splits())
    is_lasso = dci is dci_lasso
    exact = {"abs": 1e-9} if is_lasso else {"abs": 0.01}
    assert of["disentanglement", None] == pytest.approx(1, **exact)
    assert of["completeness", None] == pytest.approx(1, **exact)
    error = 3e-3 if is_lasso else 0.1  # the smallest penalty is 1e-3; trees have steps
    for part in ("nrmse_test", "nrmse_zero_shot", "nrmse_zero_shot_own"):
        for factor in (None, *range(5)):
            assert of[part, factor] == pytest.approx(0, abs=error), (part, factor)
    matrix = [[of[f"importance latent {code}", factor] for factor in range(5)] for code in range(5)]
    np.testing.assert_allclose(matrix, np.eye(5)[order], atol=2e-3 if is_lasso else 0.03)


def test_codes_that_are_a_mirror_image_of_standardised_factors():
    """A Householder matrix: as informative as can be, and hardly disentangled."""
    mirror = np.eye(5) - 2 / 5  # 0.6 on the diagonal, -0.4 elsewhere
    factors = factors_of_splits()
    mean, deviation = factors["train"].mean(axis=0), factors["train"].std(axis=0)
    of = scored(dci_lasso, lambda real: ((real - mean) / deviation) @ mirror, factors)
    for part in ("nrmse_test", "nrmse_zero_shot", "nrmse_zero_shot_own"):
        assert of[part, None] == pytest.approx(0, abs=0.01)
    shares = np.array([0.6, 0.4, 0.4, 0.4, 0.4]) / 2.2
    expected = 1 + (shares * np.log(shares)).sum() / np.log(5)
    assert expected == pytest.approx(0.0094, abs=1e-4)
    assert of["disentanglement", None] == pytest.approx(expected, abs=0.01)


@BOTH
def test_a_constant_code_weighs_nothing(dci):
    factors = factors_of_splits(rows=1500)
    without = scored(dci, lambda real: real, factors)
    of = scored(dci, lambda real: np.column_stack([real, np.full(len(real), 0.3)]), factors)
    assert of["disentanglement latent 5", None] == 0
    assert {of["importance latent 5", factor] for factor in range(5)} == {0}
    near = 1e-9 if dci is dci_lasso else 0.02  # which of equal splits a tree takes
    assert of["disentanglement", None] == pytest.approx(without["disentanglement", None], abs=near)


def test_sine_and_cosine_of_the_azimuth_say_it_to_a_forest_only():

    def circle(real):
        return np.column_stack([np.sin(real[:, AZIMUTH]), np.cos(real[:, AZIMUTH]), real[:, 1:]])

    straight = scored(dci_lasso, circle, factors_of_splits(rows=10 * ROWS))
    bent = scored(dci_forest, circle, factors_of_splits())
    expected = np.sqrt(1 - 6 / np.pi**2)
    assert expected == pytest.approx(0.626, abs=1e-3)
    for part in ("nrmse_train", "nrmse_test", "nrmse_zero_shot", "nrmse_zero_shot_own"):
        assert straight[part, AZIMUTH] == pytest.approx(expected, abs=0.02), part
        assert bent[part, AZIMUTH] < 0.15, part


@BOTH
def test_a_code_that_ignores_red_says_nothing_of_it(dci):
    """Of independent factors: without the gap, the others say a little of red."""
    real = RNG(0).random((ROWS, 5)) * teapots.LARGEST
    factors = dict(zip(vars(teapots.splits(real)), np.split(real, 4), strict=True))
    of = scored(dci, lambda real: np.delete(real, RED, axis=1), factors)
    for part in ("nrmse_test", "nrmse_zero_shot", "nrmse_zero_shot_own"):
        assert of[part, RED] == pytest.approx(1, abs=0.02), part
        assert of[part, AZIMUTH] < 0.1
    if dci is dci_lasso:
        assert max(of[f"importance latent {code}", RED] for code in range(4)) < 0.03


def noisy_table(seed=0, rows=900):
    """Codes and factors of four splits, of which the last has another mean and deviation."""
    rng, splits = RNG(seed), {}
    for name in ("train", "validation", "test", "zero_shot"):
        real = rng.normal(size=(rows // (1 + (name != "train")), 3)) * [1, 20, 0.1]
        if name == "zero_shot":
            real = real * 0.4 + [1, -10, 0.2]
        mixed = real @ np.array([[1, 0.5, 0, 0], [0, 0.05, 0.01, 0], [0, -4, 10, 0]])
        splits[name] = (np.sin(mixed) + 0.3 * rng.normal(size=mixed.shape), real)
    return splits


def by_brute_force(splits, candidates):
    """Importances and errors of scikit-learn's regressors: learned from the training rows, chosen
    on the validation rows. `candidates(codes, target)` are unfitted regressors."""
    (codes, real), of = splits["train"], {}
    mean, deviation = codes.mean(axis=0), codes.std(axis=0)
    chosen = []
    for factor in range(real.shape[1]):
        centre, width = real[:, factor].mean(), real[:, factor].std()
        rows = {
            name: ((z - mean) / deviation, (r[:, factor] - centre) / width)
            for name, (z, r) in splits.items()
        }
        fitted = [each.fit(*rows["train"]) for each in candidates(*rows["train"])]

        def error(model, split, rows=rows):
            return np.sqrt(np.mean((model.predict(rows[split][0]) - rows[split][1]) ** 2))

        errors = [error(model, "validation") for model in fitted]
        best = fitted[int(np.argmin(errors))]
        chosen.append(int(np.argmin(errors)))
        for split in ("train", "test", "zero_shot"):
            of[f"nrmse_{split}", factor] = error(best, split)
        own = splits["zero_shot"][1][:, factor].std() / width
        of["nrmse_zero_shot_own", factor] = of["nrmse_zero_shot", factor] / own
        weights = best.feature_importances_ if hasattr(best, "estimators_") else np.abs(best.coef_)
        for latent, weight in enumerate(weights):
            of[f"importance latent {latent}", factor] = weight
    return of, chosen


def lassos(codes, target):
    largest = np.abs(codes.T @ target).max() / len(codes)
    return [Lasso(alpha=largest * size, tol=1e-12, max_iter=100_000) for size in PENALTIES]


def forests(codes, target):
    seed = int(RNG(1).integers(2**31))
    return [RandomForestRegressor(10, max_depth=d, random_state=seed) for d in FINER_DEPTHS]


@pytest.mark.parametrize(("dci", "candidates"), [(dci_lasso, lassos), (dci_forest, forests)])
def test_both_scalings_of_the_gap_agree_with_scikit_learn(dci, candidates):
    splits = noisy_table()
    further = {name: splits[name] for name in ("validation", "zero_shot")}
    of = values_of(dci(*splits["train"], *splits["test"], RNG(1), **further))
    expected, chosen = by_brute_force(splits, candidates)
    for key, value in expected.items():
        assert of[key] == pytest.approx(value, abs=1e-6), key
    for part in ("nrmse_zero_shot", "nrmse_zero_shot_own"):
        mean = np.mean([expected[part, factor] for factor in range(3)])
        assert of[part, None] == pytest.approx(mean, abs=1e-6)
    settings = {dci_lasso: PENALTIES, dci_forest: FINER_DEPTHS}[dci]
    assert any(0 < each < len(settings) - 1 for each in chosen), "there must be a choice to make"
    ratio = of["nrmse_zero_shot_own", 0] / of["nrmse_zero_shot", 0]
    assert ratio == pytest.approx(1 / 0.4, rel=0.1), "the gap's deviation is 0.4 of the others'"


def test_the_penalty_is_the_best_on_the_validation_rows():
    """With a penalty p the only coefficient is 1 - p, and the validation rows ask for 1/2. The
    training rows, where the code is the factor, would take the smallest."""
    codes = RNG(0).normal(size=(400, 1))
    validation = (codes, codes / 2 + codes.mean() / 2)
    plain = values_of(dci_lasso(codes, codes, codes, codes, RNG(0)))
    of = values_of(dci_lasso(codes, codes, codes, codes, RNG(0), validation=validation))
    assert plain["importance latent 0", 0] == pytest.approx(0.999)
    assert of["importance latent 0", 0] == pytest.approx(0.5, abs=0.02)  # a step of the penalties
    assert of["nrmse_train", 0] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("depth", [2, 3, 4, 5, 10, 12])
def test_the_depth_is_the_best_on_the_validation_rows(depth):
    """All depths that the released code has: the validation rows have exactly what a forest of that
    depth says. The training rows would take the deepest."""
    rng = RNG(depth)
    codes, others = rng.random((2, 1500, 2))
    factors = (codes[:, :1] * 3 + np.sin(40 * codes[:, 1:])) * 2 + 5
    mean, deviation = codes.mean(axis=0), codes.std(axis=0)
    centre, width = factors.mean(), factors.std()
    seed = int(RNG(7).integers(2**31))
    forest = RandomForestRegressor(10, max_depth=depth, random_state=seed)
    forest.fit((codes - mean) / deviation, (factors[:, 0] - centre) / width)
    said = forest.predict((others - mean) / deviation)[:, None] * width + centre
    of = values_of(dci_forest(codes, factors, codes, factors, RNG(7), validation=(others, said)))
    for latent, importance in enumerate(forest.feature_importances_):
        assert of[f"importance latent {latent}", 0] == pytest.approx(importance, abs=1e-9)
    deepest = RandomForestRegressor(10, max_depth=16, random_state=seed)
    deepest.fit((codes - mean) / deviation, (factors[:, 0] - centre) / width)
    by_depth = [f.predict((codes - mean) / deviation) for f in (forest, deepest)]
    errors = [np.sqrt(np.mean((p * width + centre - factors[:, 0]) ** 2)) / width for p in by_depth]
    assert of["nrmse_train", 0] == pytest.approx(errors[0], abs=1e-9) and errors[1] < errors[0]


@BOTH
def test_what_is_new_changes_nothing_else(dci):
    """Zero-shot rows add two parts; importances are there without them."""
    splits = noisy_table()
    plain = values_of(dci(*splits["train"], *splits["test"], RNG(1)))
    of = values_of(dci(*splits["train"], *splits["test"], RNG(1), zero_shot=splits["zero_shot"]))
    assert {key: of[key] for key in plain} == plain
    added = {part for part, _ in of.keys() - plain.keys()}
    assert added == {"nrmse_zero_shot", "nrmse_zero_shot_own"}
    names = {part.rstrip("0123456789") for part, _ in of}
    assert names == {"score"} | {part.removesuffix("N") for part in PARTS}


@BOTH
@pytest.mark.filterwarnings("error")
def test_factors_with_one_value_and_extreme_codes_give_finite_errors(dci):
    splits = noisy_table(rows=60)
    codes, real = splits["train"]
    test_codes, test_real = splits["test"]
    real[:, 1] = 3  # in training
    gap_codes, gap_real = splits["zero_shot"]
    gap_real[:, 0] = 0.5  # in the gap
    gap_codes[:, 2] = 9e149
    gap = (gap_codes, gap_real)
    of = values_of(dci(codes, real, test_codes, test_real, RNG(1), zero_shot=gap))
    assert np.isfinite(list(of.values())).all()
    assert of["nrmse_zero_shot", 1] == of["nrmse_zero_shot_own", 1] == 1
    assert of["nrmse_zero_shot_own", 0] == 1


@pytest.mark.parametrize("name", ["dci_lasso", "dci_forest"])
def test_evaluate_reads_the_further_rows(name):
    splits = noisy_table()
    (codes, real), (test_codes, test_real) = splits["train"], splits["test"]
    inputs = Inputs(
        codes,
        np.zeros(real.shape, np.int64),  # bins, which these metrics do not read
        test_codes=test_codes,
        test_factors=np.zeros(test_real.shape, np.int64),
        targets=real,
        test_targets=test_real,
        validation_codes=splits["validation"][0],
        validation_targets=splits["validation"][1],
        zero_shot_codes=splits["zero_shot"][0],
        zero_shot_targets=splits["zero_shot"][1],
        continuous=(0, 1, 2),
    )
    dci = {"dci_lasso": dci_lasso, "dci_forest": dci_forest}[name]
    further = {key: splits[key] for key in ("validation", "zero_shot")}
    expected = dci(codes, real, test_codes, test_real, RNG(5), **further)
    assert evaluate(name, inputs, RNG(5)) == expected
    matrix = inputs.matrices[name]
    of = values_of(expected)
    assert matrix[2, 1] == of["importance latent 2", 1]


@BOTH
@pytest.mark.parametrize("name", ["validation", "zero_shot"])
def test_further_rows_of_another_shape_are_named(dci, name):
    splits = noisy_table(rows=60)
    tables = (*splits["train"], *splits["test"], RNG(0))
    codes, real = splits[name]
    with pytest.raises(ValueError, match=rf"{name}_codes: found 3 columns; accepted: 4, as in"):
        dci(*tables, **{name: (codes[:, :3], real)})
    with pytest.raises(ValueError, match=rf"{name}_factors: found 2 columns; accepted: 3, as in"):
        dci(*tables, **{name: (codes, real[:, :2])})
    with pytest.raises(ValueError, match=rf"{name}_factors: found 29 rows; accepted: 30, as codes"):
        dci(*tables, **{name: (codes, real[:-1])})
    with pytest.raises(ValueError, match=rf"{name}_codes: found nan in row 3, column 1"):
        codes[3, 1] = np.nan
        dci(*tables, **{name: (codes, real)})
