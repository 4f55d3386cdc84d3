import math

import numpy as np
import pytest

from metrics.base.inputs import Inputs
from metrics.jemmig import evaluate, jemmig
from tests.metrics.test_modularity import cases, counted_information


def by_definition(codes, factors, bins):
    information, joint, of_factors = counted_information(codes, factors, bins)
    original, normalised = [], []
    for factor, own in enumerate(of_factors):
        known = [row[factor] for row in information]
        second, most = sorted([0, *known])[-2:]
        both = max(
            row[factor]
            for row, share in zip(joint, known, strict=True)
            if math.isclose(share, most, rel_tol=0, abs_tol=1e-9)
        )
        original.append(both - most + second)
        bound = own + math.log(bins)
        normalised.append(1 - original[-1] / bound if bound > 0 else 0.0)
    means = [sum(original) / len(original), sum(normalised) / len(normalised)]
    return [*means, *original, *normalised]


@pytest.mark.parametrize("case", cases())
def test_agrees_with_the_definition(case):
    codes, factors, bins = cases()[case]
    found = [row.value for row in jemmig(codes, factors, bins)]
    np.testing.assert_allclose(found, by_definition(codes, factors, bins), atol=1e-9, rtol=0)
    if bins == 20:
        rows = evaluate(Inputs(codes, factors), np.random.default_rng(0))
        assert rows == jemmig(codes, factors)
        assert [row.value for row in rows] == found


def test_worked_example():
    # Eight equally likely points: factors with four and with two values. The first latent is the
    # first factor; the second tells all points apart, and so both factors.
    # First factor: both latents know ln 4; the worse of them has joint entropy ln 8.
    # JEMMIG = ln 8 - ln 4 + ln 4 = ln 8.
    # Second factor: the second latent knows ln 2, the first 0; ln 8 - ln 2 + 0 = ln 4.
    factors = np.array([[a, b] for a in range(4) for b in range(2)])
    codes = np.column_stack([factors[:, 0], np.arange(8)]).astype(float)
    rows = jemmig(codes, factors)
    assert [(row.part, row.factor) for row in rows] == [
        ("score", None),
        ("normalised", None),
        ("jemmig", 0),
        ("jemmig", 1),
        ("normalised", 0),
        ("normalised", 1),
    ]
    first, second = math.log(8), math.log(4)
    scaled = [1 - first / math.log(4 * 20), 1 - second / math.log(2 * 20)]
    expected = [(first + second) / 2, sum(scaled) / 2, first, second, *scaled]
    assert [row.value for row in rows] == pytest.approx(expected, abs=1e-12)


def test_two_equal_latents_per_factor_score_as_in_table_1_of_the_review():
    # As many values as bins: 1 - ln B / (ln B + ln B) for every factor.
    factors = np.array([[a, b] for a in range(10) for b in range(10)])
    codes = np.repeat(factors, 2, axis=1).astype(float)
    score, normalised = jemmig(codes, factors, bins=10)[:2]
    assert score.value == pytest.approx(math.log(10), abs=1e-12)
    assert normalised.value == pytest.approx(0.5, abs=1e-12)


def test_perfect_is_zero_by_the_original_and_one_by_the_normalised():
    factors = np.array([[a, b] for a in range(4) for b in range(2)])
    rows = jemmig(-factors.astype(float), factors)
    assert [row.value for row in rows] == pytest.approx([0, 1, 0, 0, 1, 1], abs=1e-12)


@pytest.mark.parametrize("sizes", [(3, 6), (6, 7), (7, 9)])
def test_rounding_does_not_leave_the_bounds(sizes):
    factors = np.array([[a, b] for a in range(sizes[0]) for b in range(sizes[1])])
    for row in jemmig(-factors.astype(float), factors) + jemmig(factors.astype(float), factors):
        assert row.value >= 0 and (row.part != "normalised" or row.value <= 1)


def test_neither_order_nor_a_dead_latent_changes_a_score():
    factors = np.array([[a, b, 7] for a in range(4) for b in range(2)])  # the last has one value
    codes = np.column_stack([factors[:, 0], np.arange(8), factors[:, 1]]).astype(float)
    expected = [row.value for row in jemmig(codes, factors)]
    for place in range(4):
        dead = np.insert(codes, place, 0.1, axis=1)
        for found in (dead, dead[:, ::-1]):
            values = [row.value for row in jemmig(found, factors)]
            assert values == pytest.approx(expected, abs=1e-12)


def test_a_factor_with_one_value_has_the_entropy_of_the_latent_that_varies_most():
    factors = np.array([[a, 7] for a in range(4) for b in range(2)])
    codes = np.column_stack([factors[:, 0], np.arange(8)]).astype(float)
    values = {(row.part, row.factor): row.value for row in jemmig(codes, factors)}
    assert values["jemmig", 1] == pytest.approx(math.log(8), abs=1e-12)
    assert values["normalised", 1] == pytest.approx(1 - math.log(8) / math.log(20), abs=1e-12)


def test_all_latents_dead_leaves_the_factors_entropy():
    factors = np.array([[a, b] for a in range(4) for b in range(2)])
    rows = jemmig(np.full((8, 3), 0.1), factors)
    scaled = [math.log(20) / math.log(4 * 20), math.log(20) / math.log(2 * 20)]
    expected = [math.log(8) / 2, sum(scaled) / 2, math.log(4), math.log(2), *scaled]
    assert [row.value for row in rows] == pytest.approx(expected, abs=1e-12)


def test_one_bin_tells_nothing():
    factors = np.array([[0, 7], [1, 7]])
    rows = jemmig(np.array([[0.0], [1.0]]), factors, bins=1)
    two = math.log(2)
    assert [row.value for row in rows] == pytest.approx([two / 2, 0, two, 0, 0, 0], abs=1e-12)
