import math

import numpy as np
import pytest

from metrics.base.inputs import Inputs
from metrics.dcimig import dcimig, evaluate
from tests.metrics.test_modularity import cases, counted_information


def by_definition(codes, factors, bins):
    information, _, of_factors = counted_information(codes, factors, bins)
    gaps, of_factor = [], [0.0] * len(of_factors)
    for row in information:
        second, most = sorted([0, *row])[-2:]
        gaps.append(most - second)
        owner = row.index(max(row))
        of_factor[owner] = max(of_factor[owner], gaps[-1])
    total = sum(of_factors)
    return [sum(of_factor) / total if total > 0 else 0.0, *of_factor, *gaps]


@pytest.mark.parametrize("case", cases())
def test_agrees_with_the_definition(case):
    codes, factors, bins = cases()[case]
    found = [row.value for row in dcimig(codes, factors, bins)]
    np.testing.assert_allclose(found, by_definition(codes, factors, bins), atol=1e-9, rtol=0)
    if bins == 20:
        rows = evaluate(Inputs(codes, factors), np.random.default_rng(0))
        assert rows == dcimig(codes, factors)
        assert [row.value for row in rows] == found


def test_worked_example():
    # Eight equally likely points: factors with four and with two values. The first latent is the
    # first factor (ln 4 of it, 0 of the other), the second halves it (ln 2 and 0), the third tells
    # all points apart: ln 4 of the first, ln 2 of the second. All gaps are the first factor's, and
    # the largest counts.
    factors = np.array([[a, b] for a in range(4) for b in range(2)])
    codes = np.column_stack([factors[:, 0], factors[:, 0] // 2, np.arange(8)]).astype(float)
    rows = dcimig(codes, factors)
    assert [(row.part, row.factor) for row in rows] == [
        ("score", None),
        ("gap", 0),
        ("gap", 1),
        ("gap latent 0", None),
        ("gap latent 1", None),
        ("gap latent 2", None),
    ]
    two, four = math.log(2), math.log(4)
    expected = [four / (four + two), four, 0, four, two, four - two]
    assert [row.value for row in rows] == pytest.approx(expected, abs=1e-12)


def test_further_latents_for_a_factor_cost_nothing():
    factors = np.array([[a, b] for a in range(4) for b in range(2)])
    for codes in (factors, np.repeat(factors, 3, axis=1)):
        codes = np.insert(codes.astype(float), 1, 0.1, axis=1)  # nor does a dead one
        assert dcimig(codes, factors)[0].value == pytest.approx(1)


def test_entropy_is_summed_over_factors_not_averaged_by_factor():
    # Only the factor with four values is told: ln 4 of ln 4 + ln 2, not half of the factors.
    factors = np.array([[a, b] for a in range(4) for b in range(2)])
    found = dcimig(factors[:, :1].astype(float), factors)[0].value
    assert found == pytest.approx(2 / 3)


def test_a_factor_with_one_value_changes_nothing():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(100, 2))
    codes = factors @ rng.normal(size=(2, 3))
    expected = dcimig(codes, factors)[0].value
    for place in range(3):
        rows = dcimig(codes, np.insert(factors, place, 7, axis=1))
        assert rows[0].value == pytest.approx(expected, abs=1e-12)
        assert rows[1 + place].value == pytest.approx(0, abs=1e-12)
    assert dcimig(codes, np.full((100, 2), 7))[0].value == 0


def test_with_one_factor_the_gap_is_all_that_is_known():
    factor = np.array([[0], [0], [1], [1]])
    codes = np.column_stack([[0.0, 1.0, 0.0, 1.0], factor])
    expected = [1, math.log(2), 0, math.log(2)]
    assert [row.value for row in dcimig(codes, factor)] == pytest.approx(expected, abs=1e-12)
