"""What every metric must do, driven by the properties declared here.

A metric without declared properties fails; so does a declaration that is not true. Metrics of
models of one data set alone are no functions of tables, and have tests of their own.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from metrics import METRICS, OF_ALL_DATA, Better, Metric, is_headline
from metrics.base.inputs import Groups, Inputs, Pairs
from metrics.base.rows import table_groups, table_interventions, table_pairs, table_variations
from metrics.evaluate import evaluate, metric, needs


@dataclass(frozen=True)
class Properties:
    """What a metric promises of its headline score."""

    # changing nothing but this leaves the score as it is
    permuted: bool  # the order of latents
    flipped: bool  # the sign of a latent
    scaled: bool  # a positive factor per latent, from 1/100 to 100
    shifted: bool  # a constant added to a latent
    # the lowest and highest score accepted of a table of three factors for which
    perfect: tuple[float, float]  # each factor is a latent
    random: tuple[float, float]  # latents are noise
    duplicated: tuple[float, float]  # each factor is two equal latents
    dead: tuple[float, float]  # latents are constant
    one_latent: tuple[float, float]  # the first factor is the only latent
    constant_factor: tuple[float, float]  # each factor is a latent, a fourth factor has one value


PROPERTIES = {
    "dci": Properties(
        permuted=False,  # decides between equally good splits
        flipped=False,  # so does the sign
        scaled=False,  # what is closer than 1e-7 is equal
        shifted=True,
        perfect=(1, 1),
        random=(0, 0.02),
        duplicated=(1, 1),
        dead=(0, 0),
        one_latent=(1, 1),  # of a grid, where it tells nothing at all of the other factors
        constant_factor=(1, 1),
    ),
    "dci_forest": Properties(
        permuted=False,  # decides between equally good splits
        flipped=False,  # so does the sign
        scaled=True,
        shifted=True,
        perfect=(1, 1),
        random=(0, 0.6),  # importances sum to 1 for each factor, predicted or not
        duplicated=(1, 1),
        dead=(0, 0),
        one_latent=(0, 0),
        constant_factor=(1, 1),
    ),
    "dci_lasso": Properties(
        permuted=True,
        flipped=True,
        scaled=True,
        shifted=True,
        perfect=(1, 1),
        random=(0.3, 1),  # the few coefficients left are of one factor each
        duplicated=(1, 1),
        dead=(0, 0),
        one_latent=(1, 1),
        constant_factor=(1, 1),
    ),
    "explicitness": Properties(
        permuted=True,
        flipped=True,
        scaled=True,
        shifted=True,
        perfect=(0.63, 0.65),  # no line cuts a middle value off from both sides
        random=(0, 0.1),
        duplicated=(0.63, 0.65),
        dead=(0, 0),
        one_latent=(1 / 6, 1 / 6),
        constant_factor=(0.58, 0.6),
    ),
    "sap": Properties(
        permuted=True,
        flipped=True,
        scaled=False,  # the machine's penalty is absolute
        shifted=False,  # and includes the intercept
        perfect=(0.5, 0.55),  # no line cuts a middle value off from both sides
        random=(0, 0.05),
        duplicated=(0, 0),
        dead=(0, 0),
        one_latent=(0.1, 0.3),
        constant_factor=(0.37, 0.41),
    ),
    "irs": Properties(
        permuted=True,
        flipped=True,
        scaled=False,  # large latents count more
        shifted=True,
        perfect=(1, 1),
        random=(0.2, 0.35),  # a percentile is less than the largest deviation
        duplicated=(1, 1),
        dead=(0, 0),
        one_latent=(1, 1),
        constant_factor=(1, 1),
    ),
    "rf_vae": Properties(
        permuted=True,
        flipped=True,
        scaled=False,  # latents below an absolute variance do not count
        shifted=True,
        perfect=(1, 1),
        random=(0.28, 0.38),
        duplicated=(1, 1),
        dead=(0, 0),
        one_latent=(0.3, 0.37),
        constant_factor=(0.7, 0.8),
    ),
    "beta_vae": Properties(
        permuted=True,
        flipped=True,
        scaled=False,  # the classifier's penalty counts small latents less
        shifted=True,
        perfect=(1, 1),
        random=(0.28, 0.38),
        duplicated=(1, 1),
        dead=(0.28, 0.38),  # the most frequent of three factors is told
        one_latent=(0.6, 0.72),  # no differences tell the first factor from the others
        constant_factor=(1, 1),  # differences in all latents tell the fourth
    ),
    "mig": Properties(
        permuted=True,
        flipped=True,
        scaled=True,
        shifted=True,
        perfect=(1, 1),
        random=(0, 0.01),
        duplicated=(0, 0),
        dead=(0, 0),
        one_latent=(1 / 3, 1 / 3),
        constant_factor=(3 / 4, 3 / 4),
    ),
    "mig_sup": Properties(
        permuted=True,
        flipped=True,
        scaled=True,
        shifted=True,
        perfect=(1, 1),
        random=(0, 0.01),
        duplicated=(1, 1),
        dead=(0, 0),
        one_latent=(1, 1),
        constant_factor=(1, 1),
    ),
    "jemmig": Properties(  # in nats, and less is better
        permuted=True,
        flipped=True,
        scaled=True,
        shifted=True,
        perfect=(0, 0),
        random=(3.7, 3.8),
        duplicated=(1.36, 1.37),  # joint entropy is as small as can be, the gap is 0
        dead=(1.36, 1.37),  # likewise: the mean entropy of the factors
        one_latent=(1.73, 1.74),
        constant_factor=(0.40, 0.41),  # no latent is as constant as the fourth
    ),
    "modularity": Properties(
        permuted=True,
        flipped=True,
        scaled=True,
        shifted=True,
        perfect=(1, 1),
        random=(0.5, 0.7),  # how much a latent knows does not matter
        duplicated=(1, 1),
        dead=(0, 0),
        one_latent=(1, 1),
        constant_factor=(1, 1),
    ),
    "dcimig": Properties(
        permuted=True,
        flipped=True,
        scaled=True,
        shifted=True,
        perfect=(1, 1),
        random=(0, 0.01),
        duplicated=(1, 1),
        dead=(0, 0),
        one_latent=(0.26, 0.27),  # ln 3 / ln 60
        constant_factor=(1, 1),
    ),
    "downstream_logistic": Properties(
        permuted=True,  # but for rounding, where the optimiser stops early
        flipped=True,  # likewise
        scaled=False,  # the penalty is absolute
        shifted=False,  # far from 0 the optimiser stops early
        perfect=(1, 1),
        random=(0.26, 0.3),
        duplicated=(1, 1),
        dead=(0.26, 0.27),  # one of 3, 4 and 5 equally frequent values: 47 / 180
        one_latent=(0.48, 0.49),  # (1 + 1/4 + 1/5) / 3
        constant_factor=(1, 1),
    ),
    "downstream_trees": Properties(
        permuted=False,  # decides between equally good splits
        flipped=False,  # so does the sign
        scaled=False,  # what is closer than 1e-7 is equal
        shifted=True,
        perfect=(1, 1),
        random=(0.6, 0.7),  # the same rows train and test
        duplicated=(1, 1),
        dead=(0.26, 0.27),  # one of 3, 4 and 5 equally frequent values: 47 / 180
        one_latent=(0.48, 0.49),  # (1 + 1/4 + 1/5) / 3
        constant_factor=(1, 1),
    ),
    "fairness": Properties(  # of predictions: less is better
        permuted=False,  # decides between equally good splits
        flipped=False,  # so does the sign
        scaled=False,  # so do values so small that rounding makes them equal
        shifted=True,
        perfect=(0, 0),
        random=(0.06, 0.13),  # so few points per value differ by chance
        duplicated=(0, 0),
        dead=(0, 0),  # what tells nothing is fair
        one_latent=(0, 0),
        constant_factor=(0, 0),
    ),
    "unsupervised": Properties(  # total correlation in nats, and less is better
        permuted=True,
        flipped=True,
        scaled=True,
        shifted=True,
        perfect=(0, 0),
        random=(0, 0.01),
        duplicated=(53.02, 53.03),  # three pairs of -(ln 2 + ln 2.2e-16) / 2
        dead=(0, 0),
        one_latent=(0, 0),
        constant_factor=(0, 0),
    ),
    "factor_vae": Properties(
        permuted=True,
        flipped=True,
        scaled=False,  # latents below an absolute variance do not count
        shifted=True,
        perfect=(1, 1),
        random=(0.28, 0.38),
        duplicated=(1, 1),
        dead=(0, 0),
        one_latent=(0.3, 0.37),
        constant_factor=(0.7, 0.8),
    ),
}

SIZES = (3, 4, 5)
GRID = np.tile(
    list(product(*(range(size) for size in SIZES))), (40, 1)
)  # each combination 40 times


def score(name: str, codes: np.ndarray, factors: np.ndarray) -> float:
    headline = evaluate(name, inputs(codes, factors), np.random.default_rng(2))[0]
    assert is_headline(headline.part, headline.factor)
    return headline.value


def inputs(codes: np.ndarray, factors: np.ndarray, groups: int = 1000, size: int = 32) -> Inputs:
    """All that a metric may need; small tables may lack rows that differ in one factor."""
    rng, variations, impossible = np.random.default_rng(1), {}, {}
    try:
        for part in ("train", "test"):
            drawn = table_variations(codes, factors, groups, size, rng)
            variations[f"{part}_variations"] = drawn
    except ValueError as error:
        impossible["variations"] = str(error)
    try:
        interventions = table_interventions(codes, factors, size, np.random.default_rng(5))
    except ValueError as error:
        interventions, impossible["interventions"] = None, str(error)
    return Inputs(
        codes,
        factors,
        train_groups=table_groups(codes, factors, groups, size, rng),
        test_groups=table_groups(codes, factors, groups, size, rng),
        test_codes=codes,
        test_factors=factors,
        zero_shot_codes=codes,
        zero_shot_targets=np.asarray(factors, float),
        train_pairs=table_pairs(codes, factors, groups, size, rng),
        test_pairs=table_pairs(codes, factors, groups, size, rng),
        **variations,
        interventions=interventions,
        logvar=np.random.default_rng(4).normal(size=codes.shape),
        reconstruction=np.arange(len(codes)) / 7,
        impossible=impossible,
    )


def entangled(rng: np.random.Generator) -> np.ndarray:
    """Somewhere between perfect and random, with no two values equal."""
    mixing = np.eye(3, 5) + 0.4 * rng.normal(size=(3, 5))
    return GRID @ mixing + rng.normal(size=(len(GRID), 5))


TRANSFORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "permuted": lambda codes: codes[:, [3, 0, 4, 2, 1]],
    "flipped": lambda codes: codes * [1, -1, -1, 1, -1],
    "scaled": lambda codes: codes * [0.01, 1, 100, 0.1, 0.01],
    "shifted": lambda codes: codes + np.array([5, -3, 0.1, 0, 100]),
}

SCENES: dict[str, Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]] = {
    "perfect": lambda rng: (GRID.astype(float), GRID),
    "random": lambda rng: (rng.normal(size=(len(GRID), 5)), GRID),
    "duplicated": lambda rng: (np.repeat(GRID.astype(float), 2, axis=1), GRID),
    "dead": lambda rng: (np.full((len(GRID), 3), 0.1), GRID),
    "one_latent": lambda rng: (GRID[:, :1].astype(float), GRID),
    "constant_factor": lambda rng: (
        GRID.astype(float),
        np.column_stack([GRID, np.full(len(GRID), 7)]),
    ),
}


def test_every_metric_declares_its_properties():
    assert set(PROPERTIES) == set(OF_ALL_DATA), "declare the properties of every metric above"
    assert {field.name for field in fields(Properties)} == {*TRANSFORMS, *SCENES}


@pytest.mark.parametrize("name", OF_ALL_DATA)
def test_a_metric_says_what_it_is_and_needs(name):
    module = metric(name)
    tables, drawn = (
        {"table", "test_table", "targets"},
        {"groups", "pairs", "variations", "interventions"},
    )
    assert module.NEEDS.issubset(tables | drawn | {"posterior"})
    for word in ("Paper:", "Family:", "Property:"):
        assert word in (module.__doc__ or "")


@pytest.mark.parametrize("name", OF_ALL_DATA)
def test_invariances_are_as_declared(name):
    codes = entangled(np.random.default_rng(0))
    before = score(name, codes, GRID)
    low, high = METRICS[name].bounds
    assert low + 0.02 < before < high - 0.02, "the example must leave room for a change"
    unchanged = {
        transform: score(name, changed(codes), GRID) == pytest.approx(before, abs=1e-9)
        for transform, changed in TRANSFORMS.items()
    }
    declared = {transform: getattr(PROPERTIES[name], transform) for transform in TRANSFORMS}
    assert unchanged == declared


@pytest.mark.parametrize("name", OF_ALL_DATA)
def test_scores_of_known_representations_are_as_declared(name):
    outside = {}
    for scene, drawn in SCENES.items():
        value = score(name, *drawn(np.random.default_rng(0)))
        low, high = getattr(PROPERTIES[name], scene)
        if not low - 1e-9 <= value <= high + 1e-9:
            outside[scene] = value
    assert outside == {}


@pytest.mark.parametrize("name", OF_ALL_DATA)
def test_same_stream_gives_same_scores_and_inputs_stay_as_they_are(name):
    codes = entangled(np.random.default_rng(0))
    given_inputs, untouched = inputs(codes, GRID), inputs(codes.copy(), GRID.copy())
    first = evaluate(name, given_inputs, np.random.default_rng(3))
    assert evaluate(name, given_inputs, np.random.default_rng(3)) == first
    for field in fields(Inputs):
        kept, now = getattr(untouched, field.name), getattr(given_inputs, field.name)
        if isinstance(kept, Groups | Pairs):
            for part in fields(kept):
                now_part, kept_part = getattr(now, part.name), getattr(kept, part.name)
                np.testing.assert_array_equal(now_part, kept_part)
        else:
            np.testing.assert_equal(now, kept)


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    rows = draw(st.integers(1, 30))
    code_type = draw(st.sampled_from([np.float32, np.float64, np.float16, np.int16, np.uint8]))
    factor_type = draw(st.sampled_from([np.int8, np.uint16, np.int64, np.bool_]))
    codes = arrays.arrays(
        code_type,
        (rows, draw(st.integers(1, 4))),
        elements={"allow_nan": False, "allow_infinity": False}
        if np.issubdtype(code_type, np.float16)
        else {"min_value": -1000, "max_value": 1000}
        if np.issubdtype(code_type, np.floating)
        else None,
    )
    factors = arrays.arrays(factor_type, (rows, draw(st.integers(1, 3))))
    return draw(codes), draw(factors)


# A thread that an earlier test's Prefect left may draw a random number while hypothesis draws.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", OF_ALL_DATA)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(table=tables())
def test_any_valid_table_gives_finite_scores_within_bounds(name, table):
    given_inputs = inputs(*table, groups=7, size=2)
    if metric(name).NEEDS & given_inputs.impossible.keys():
        with pytest.raises(ValueError, match=r"no two rows differ|no row has, for each"):
            evaluate(name, given_inputs, np.random.default_rng(0))
        return
    scores = evaluate(name, given_inputs, np.random.default_rng(0))
    assert scores[0].part == "score"
    assert len({(row.part, row.factor) for row in scores}) == len(scores)
    assert all(type(row.value) is float and np.isfinite(row.value) for row in scores)
    low, high = METRICS[name].bounds
    assert low - 1e-9 <= scores[0].value <= high + 1e-9


def test_needs_are_the_union_over_metrics():
    assert needs([]) == frozenset()
    assert needs(["mig"]) == {"table"}
    assert needs(["mig", "factor_vae"]) == {"table", "groups"}


def test_unknown_metric_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"found 'migg'; accepted: beta_vae, factor_vae"):
        evaluate("migg", inputs(GRID.astype(float), GRID), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("metrics", ("numpy", "sklearn", "numba")),
        ("metrics.evaluate", ("sklearn", "numba", "scipy")),
        ("metrics.mig", ("sklearn", "numba")),
        ("metrics.factor_vae", ("sklearn", "numba")),
        ("metrics.downstream_logistic", ("sklearn", "numba")),
        ("metrics.downstream_trees", ("sklearn", "numba")),
    ],
)
def test_imports_stay_cheap(module, absent):
    program = f"import sys, {module}; print(*(set({absent!r}) & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout.split() == []


def test_a_metric_without_a_direction_cannot_be_registered():
    with pytest.raises(TypeError, match="better"):
        Metric("Title", "paper-2020")
    assert {one.better for one in METRICS.values()} <= set(get_args(Better))


def test_a_headline_is_the_score_without_a_factor():
    assert is_headline("score", None)
    assert not is_headline("score", 0) and not is_headline("score", "hue")
    assert not is_headline("gap", None)
