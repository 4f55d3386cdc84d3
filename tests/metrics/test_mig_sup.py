import math

import numpy as np
import pytest

from metrics.base.inputs import Inputs, Score
from metrics.mig_sup import evaluate, mig_sup
from tests.metrics.test_modularity import cases, counted_information


def by_definition(codes, factors, bins):
    information, _, of_factors = counted_information(codes, factors, bins)
    gaps = []
    for row in information:
        shares = [known / own if own > 0 else 0 for known, own in zip(row, of_factors, strict=True)]
        second, most = sorted([0, *shares])[-2:]
        gaps.append(most - second)
    return [sum(gaps) / len(gaps), *gaps]


@pytest.mark.parametrize("case", cases())
def test_agrees_with_the_definition(case):
    codes, factors, bins = cases()[case]
    found = [row.value for row in mig_sup(codes, factors, bins)]
    np.testing.assert_allclose(found, by_definition(codes, factors, bins), atol=1e-9, rtol=0)
    if bins == 20:
        rows = evaluate(Inputs(codes, factors), np.random.default_rng(0))
        assert rows == mig_sup(codes, factors)
        assert [row.value for row in rows] == found


def test_worked_example():
    # Four equally likely points, two binary factors. The first latent is the first factor, the
    # second tells both factors wholly.
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    codes = np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 1.0], [1.0, 3.0]])
    assert mig_sup(codes, factors) == [
        Score("score", 0.5),
        Score("gap latent 0", 1.0),
        Score("gap latent 1", 0.0),
    ]


def test_information_is_a_share_of_each_factors_own_entropy():
    # The latent tells the second factor, which the first refines: ln 2 of ln 4, and ln 2 of ln 2.
    factors = np.array([[0, 0], [1, 0], [2, 1], [3, 1]])
    codes = np.array([[0.0], [0.0], [1.0], [1.0]])
    assert mig_sup(codes, factors)[0].value == pytest.approx(1 - math.log(2) / math.log(4))


def test_dead_latents_count_as_zero():
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    codes = np.column_stack([np.full(4, 0.1), factors, np.full(4, -3.0)])
    assert [row.value for row in mig_sup(codes, factors)] == pytest.approx([0.5, 0, 1, 1, 0])


def test_a_factor_with_one_value_changes_nothing():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(100, 2))
    codes = factors @ rng.normal(size=(2, 3))
    for place in range(3):
        assert mig_sup(codes, np.insert(factors, place, 7, axis=1)) == mig_sup(codes, factors)


def test_with_one_factor_the_gap_is_all_that_is_known():
    factor = np.array([[0], [0], [1], [1]])
    codes = np.column_stack([factor, [0.0, 1.0, 0.0, 1.0]])
    assert [row.value for row in mig_sup(codes, factor)] == pytest.approx([0.5, 1, 0])
