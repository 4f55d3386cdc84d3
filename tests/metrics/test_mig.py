import math

import numpy as np
import pytest

from metrics.base.inputs import Score
from metrics.mig import mig


def test_worked_example():
    # Four equally likely points. The first latent is the first factor. The second latent tells all
    # four points apart, so both factors: the first factor is known twice, the second once.
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    codes = np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 1.0], [1.0, 3.0]])
    assert mig(codes, factors) == [Score("score", 0.5), Score("gap", 0, 0), Score("gap", 1, 1)]


def test_worked_example_with_partial_knowledge():
    # A factor with three values, a latent that tells one of them from the other two:
    # H = ln 3, I = H(1/3, 2/3) = ln 3 - 2/3 ln 2.
    scores = mig(np.array([[0.0], [0.0], [1.0]]), np.array([[0], [1], [2]]))
    assert scores[0].value == pytest.approx(1 - 2 / 3 * math.log(2) / math.log(3), abs=1e-12)


def by_definition(codes, factors, bins):
    """The definition in loops over points."""
    rows, gaps = len(codes), []
    for factor in factors.T.tolist():
        known = []
        for latent in codes.T.tolist():
            width = (max(latent) - min(latent)) / bins
            label = [
                min(int((value - min(latent)) / width), bins - 1) if width else 0
                for value in latent
            ]
            total = 0.0
            for a in set(label):
                for b in set(factor):
                    both = sum(x == a and y == b for x, y in zip(label, factor, strict=True)) / rows
                    if both:
                        apart = label.count(a) / rows * factor.count(b) / rows
                        total += both * math.log(both / apart)
            known.append(total)
        known = sorted([0.0, *known])
        shares = [factor.count(value) / rows for value in set(factor)]
        entropy = -sum(share * math.log(share) for share in shares)
        gaps.append((known[-1] - known[-2]) / entropy if entropy else 0.0)
    return [sum(gaps) / len(gaps), *gaps]


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_the_definition(seed):
    rng = np.random.default_rng(seed)
    rows, latents, bins = [
        (200, 4, 20),
        (37, 1, 20),
        (9, 3, 20),
        (150, 2, 5),
        (80, 3, 1),
        (1, 2, 20),
    ][seed]
    factors = rng.integers(0, [2, 1, 6], size=(rows, 3))
    codes = factors @ rng.normal(size=(3, latents)) + rng.normal(size=(rows, latents))
    codes[:, 0] = codes[:, 0] if latents < 4 else 3.25  # a dead latent among live ones
    found = [row.value for row in mig(codes, factors, bins)]
    np.testing.assert_allclose(found, by_definition(codes, factors, bins), atol=1e-12)
    if bins == 20:
        assert [row.value for row in mig(codes, factors)] == found


def test_a_dead_latent_changes_nothing():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, size=(500, 3))
    codes = factors[:, [0, 1, 2, 0]] * [1.0, 0.1, 0.3, 1.7] + rng.integers(0, 2, size=(500, 4))
    for place in range(5):
        assert mig(np.insert(codes, place, 0.1, axis=1), factors) == mig(codes, factors)


def test_a_factor_with_one_value_has_gap_zero_and_counts():
    factors = np.column_stack([np.arange(100) % 4, np.full(100, 9)])
    scores = mig(factors.astype(float)[:, :1], factors)
    assert [row.value for row in scores] == pytest.approx([0.5, 1, 0])
