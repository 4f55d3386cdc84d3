from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.base.inputs import Inputs
from metrics.base.rows import table_interventions
from metrics.fairness import evaluate, total_variation, unfairness

RNG = np.random.default_rng
SIZES = (3, 4, 2)
GRID = np.array(list(product(*map(range, SIZES))))


def prepared(encode, factors, points=100, **settings) -> Inputs:
    """Codes of rows to learn from, and of other points, drawn among them, set to every value."""
    rng, shown = RNG(1), []
    for factor, column in enumerate(factors.T):
        drawn = factors[rng.integers(len(factors), size=points)]
        values = np.stack([drawn] * len(set(column)))
        values[..., factor] = np.unique(column)[:, None]
        shown.append(encode(values))
    return Inputs(encode(factors), factors, interventions=tuple(shown), **settings)


def noisy(weights, noise=1.0):
    """An encoder that mixes factors by `weights` and adds noise, new for every point."""
    rng = RNG(2)
    return lambda factors: (
        factors @ weights + noise * rng.normal(size=(*factors.shape[:-1], len(weights.T)))
    )


WEIGHTS = RNG(0).normal(size=(3, 4))


def numbers(scores) -> dict[tuple[str, int | None], float]:
    found = {(row.part, row.factor): row.value for row in scores}
    assert len(found) == len(scores), "a number stands twice"
    return found


def score(inputs: Inputs) -> float:
    headline = evaluate(inputs, RNG(0))[0]
    assert (headline.part, headline.factor) == ("score", None)
    return headline.value


def test_worked_example_of_total_variation():
    # Under the first value all 4 points are told to be a; under the second 2 of 8, the rest b. Of
    # all 12, 6 are a and 6 are b. Distances: (1/2 + 1/2) / 2 and (1/4 + 1/4) / 2.
    mean, largest = total_variation([[4, 2], [0, 6]])
    assert mean == pytest.approx((4 * 1 / 2 + 8 * 1 / 4) / 12)
    assert largest == 1 / 2


def test_worked_example_of_unfairness():
    # Factor 0 is told from 2 points under each of 3 values of factor 1: a a, a b, b b. Shares of a
    # are 1, 1/2, 0 and 1/2 overall: distances 1/2, 0, 1/2. Factor 1 under 2 values of factor 0:
    # c c c c, then c c c d: shares of c are 1, 3/4 and 7/8 overall: distances 1/8, 1/8.
    found = numbers(unfairness([{1: [[5, 5], [5, 7], [7, 7]]}, {0: [[2, 2, 2, 2], [2, 2, 2, 0]]}]))
    expected = {
        ("score", None): (1 / 3 + 1 / 8) / 2,
        ("target", 0): 1 / 3,
        ("target", 1): 1 / 8,
        ("sensitive", 0): 1 / 8,
        ("sensitive", 1): 1 / 3,
        ("mean_variation target 0", 1): 1 / 3,
        ("max_variation target 0", 1): 1 / 2,
        ("mean_variation target 1", 0): 1 / 8,
        ("max_variation target 1", 0): 1 / 8,
        ("mean_variation_mean_sensitive_max_target", None): 1 / 3,
        ("max_variation_mean_sensitive_mean_target", None): (1 / 2 + 1 / 8) / 2,
        ("max_variation_max_target_max_sensitive", None): 1 / 2,
    }
    assert {key: found[key] for key in expected} == pytest.approx(expected)


def by_definition(classifiers, interventions):
    """Every part in loops over targets, sensitive factors, values, points and predictions."""
    factors = range(len(classifiers))
    pairs = {"mean_variation": {}, "max_variation": {}}
    for target, sensitive in product(factors, factors):
        if target == sensitive:
            continue
        told = [
            [classifiers[target].predict(point[None])[0] for point in points]
            for points in interventions[sensitive]
        ]
        overall, distances = Counter(label for labels in told for label in labels), []
        for labels in told:
            own, together = Counter(labels), sum(overall.values())
            distances.append(
                sum(
                    abs(own[label] / len(labels) - times / together)
                    for label, times in overall.items()
                )
                / 2
            )
        pairs["mean_variation"][target, sensitive] = sum(distances) / len(distances)
        pairs["max_variation"][target, sensitive] = max(distances)
    steps = {"mean": lambda values: sum(values) / len(values), "max": max}
    found = {}
    for name, variation in pairs.items():
        for one, two in product(steps, steps):
            by_target = [steps[one]([variation[i, j] for j in factors if j != i]) for i in factors]
            by_sensitive = [
                steps[one]([variation[i, j] for i in factors if i != j]) for j in factors
            ]
            found[f"{name}_{one}_sensitive_{two}_target", None] = steps[two](by_target)
            found[f"{name}_{one}_target_{two}_sensitive", None] = steps[two](by_sensitive)
            if (name, one) == ("mean_variation", "mean"):
                found |= {("target", i): value for i, value in enumerate(by_target)}
                found |= {("sensitive", j): value for j, value in enumerate(by_sensitive)}
        for (i, j), value in variation.items():
            found[f"{name} target {i}", j] = value
    found["score", None] = found["mean_variation_mean_sensitive_mean_target", None]
    return found


@pytest.mark.parametrize("trees", ["presorted", "sklearn"])
def test_agrees_with_the_definition(trees):
    factors = np.tile(GRID, (5, 1)) * [2, 1, 5] - 3  # values need not be 0, 1, 2
    inputs = prepared(noisy(WEIGHTS), factors, points=12, trees=trees)
    expected = by_definition(inputs.boosted, inputs.interventions)
    orders = [value for (part, _), value in expected.items() if "_max_" in part or "max_v" in part]
    assert len({round(value, 6) for value in orders}) > 10, "orders and steps must differ"
    assert numbers(evaluate(inputs, RNG(0))) == pytest.approx(expected, abs=1e-12)


def test_a_perfect_representation_is_fair_and_an_entangled_one_is_not():
    factors = np.tile(GRID, (20, 1))
    # Setting a factor moves no latent that tells another one, and points are the same otherwise.
    assert score(prepared(lambda factors: 1.0 * factors, factors)) == 0
    shared = np.outer([1, 1, 1.5], [1, 1, 1]) / 3  # all latents are one, of all factors
    apart, between, mixed = (
        score(prepared(noisy((1 - part) * np.eye(3) + part * shared, 0.2), factors))
        for part in (0, 0.5, 1)
    )
    assert apart < 0.02 < between < mixed / 2


def test_unfair_is_the_target_that_is_told_from_the_sensitive_factor():
    # The only latent is factor 1, and where the trees learn, factor 0 equals it.
    learned = np.repeat(np.arange(4), 5)
    kept = np.tile(np.arange(4.0), 5)[:, None]  # factor 0 moves nothing
    moved = np.repeat(np.arange(4.0), 20).reshape(4, 20, 1)
    inputs = Inputs(
        learned[:, None].astype(float),
        np.stack([learned, learned], axis=1),
        interventions=(np.stack([kept] * 3), moved),
    )
    found = numbers(evaluate(inputs, RNG(0)))
    # Under each of 4 values one prediction, overall each as often: 1 - 1/4, the most there is.
    assert found["target", 0] == found["sensitive", 1] == 1 - 1 / 4
    assert found["target", 1] == found["sensitive", 0] == 0
    assert found["score", None] == 3 / 8


@settings(deadline=None, derandomize=True)
@given(st.data())
def test_properties_of_unfairness(data):
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 6)))
    labels = st.lists(st.integers(-2, 3), min_size=shape[1], max_size=shape[1])
    told = np.array(data.draw(st.lists(labels, min_size=shape[0], max_size=shape[0])))
    found = numbers(unfairness([{1: told}, {0: [[1]]}]))
    value, largest = found["target", 0], found["max_variation target 0", 1]
    assert 0 <= value <= 1 - 1 / len(told) + 1e-12 and value <= largest + 1e-12 and largest < 1
    assert (value > 0) == any(sorted(row) != sorted(told[0]) for row in told.tolist())
    rng = RNG(data.draw(st.integers(0, 9)))
    for other in (
        rng.permuted(told, axis=1),  # points
        rng.permutation(told),  # values
        -5 * told + 1,  # labels
        np.tile(told, 3),  # as many of each
    ):
        same = numbers(unfairness([{1: other}, {0: [[1]]}]))
        assert same == pytest.approx(found, abs=1e-12)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=1, max_size=4))
def test_total_variation_of_any_counts(counts):
    counts = np.array(counts)
    if not counts.any():
        with pytest.raises(
            ValueError, match="counts: found 0 to 0; accepted: numbers from 0, not all"
        ):
            total_variation(counts)
        return
    mean, largest = total_variation(counts)
    assert 0 <= mean <= largest + 1e-12 and largest < 1
    assert total_variation(counts * 7) == pytest.approx((mean, largest))
    unseen = np.insert(counts, 1, 0, axis=1)  # a value that was never shown
    assert total_variation(unseen) == pytest.approx((mean, largest))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, -1], [2, 2]], "counts: found -1 to 2; accepted: numbers from 0"),
        ([1, 2], r"counts: found shape \(2,\)"),
    ],
)
def test_counts_that_are_none_are_named(counts, message):
    with pytest.raises(ValueError, match=message):
        total_variation(counts)


def test_predictions_that_lack_a_sensitive_factor_are_named():
    with pytest.raises(ValueError, match=r"predictions\[1\]: found \[1\]; accepted: \[0\]"):
        unfairness([{1: [[0]]}, {1: [[0]]}])


def test_with_one_factor_there_is_nothing_to_be_unfair_to():
    inputs = prepared(noisy(WEIGHTS[:1]), GRID[:, :1])
    found = numbers(evaluate(inputs, RNG(0)))
    assert set(found.values()) == {0.0}
    assert {("score", None), ("target", 0), ("sensitive", 0)} < set(found)


def test_a_factor_with_one_value_has_no_part_in_unfairness():
    factors = np.tile(GRID, (5, 1)) * [1, 1, 0] + [0, 0, 7]
    found = numbers(evaluate(prepared(noisy(WEIGHTS), factors), RNG(0)))
    assert found["target", 2] == found["sensitive", 2] == 0
    told = [found["mean_variation target 0", 1], found["mean_variation target 1", 0]]
    assert min(told) > 0.02
    assert found["score", None] == pytest.approx(sum(told) / 6), "it counts in the means"


@pytest.mark.parametrize("codes", [[1 / 3, 1e9], [0.0]])
def test_latents_that_are_all_dead_tell_nothing(codes):
    dead = prepared(lambda factors: np.tile(codes, (*factors.shape[:-1], 1)), GRID)
    assert set(numbers(evaluate(dead, RNG(0))).values()) == {0}


def test_dead_and_duplicate_latents_and_large_scales_change_nothing():
    factors = np.tile(GRID, (10, 1))

    def unfair(change):
        encode = noisy(WEIGHTS)
        return score(prepared(lambda factors: change(encode(factors)), factors))

    as_is = unfair(lambda codes: codes)
    assert as_is > 0.03
    assert unfair(lambda codes: codes * 2.0**90) == as_is
    assert unfair(lambda codes: np.insert(codes, 1, 0.1, axis=-1)) == pytest.approx(as_is, abs=0.02)
    assert unfair(lambda codes: np.concatenate([codes] * 2, axis=-1)) == pytest.approx(
        as_is, abs=0.02
    )
    assert unfair(lambda codes: codes * 1e-30) == 0  # trees take such codes for constant
    with pytest.raises(ValueError, match=r"3\.4"):
        unfair(lambda codes: codes * 1e60)


def test_a_value_that_is_absent_from_training_is_set_like_any_other():
    factors = np.tile(GRID, (5, 1))
    codes = factors.astype(float)
    seen = factors[:, 0] < 2
    inputs = Inputs(
        codes[seen],
        factors[seen],
        interventions=table_interventions(codes, factors, 100, RNG(1)),
    )
    assert [len(codes) for codes in inputs.intervened()] == [3, 4, 2]
    assert score(inputs) == 0


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_few_rows_are_enough(rows):
    factors = np.array([[0, 4], [1, 4], [2, 4]])[:rows]
    codes = RNG(0).normal(size=(rows, 2))
    interventions = table_interventions(codes, factors, 100, RNG(1))
    assert score(Inputs(codes, factors, interventions=interventions)) == 0


def test_inputs_that_do_not_fit_are_named():
    codes = GRID.astype(float)
    one, two, three = table_interventions(codes, GRID, 5, RNG(0))
    for interventions, message in (
        ((one, two), "interventions: found 2 arrays; accepted: 3, one for each factor"),
        (
            (one, two[0], three),
            r"interventions\[1\]: found shape \(5, 3\); accepted: \(values, points, lat",
        ),
        ((one, two, three[..., :2]), r"interventions\[2\]: .* accepted: \(values, points, 3\)"),
        (
            (one, two * np.nan, three),
            r"interventions\[1\]: found nan in value 0, point 0",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(Inputs(codes, GRID, interventions=interventions), RNG(0))
