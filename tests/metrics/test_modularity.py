import math
from collections import Counter

import numpy as np
import pytest

from metrics.base.inputs import Inputs, Score
from metrics.modularity import evaluate, modularity


def bin_labels(latent, bins):
    low, width = min(latent), (max(latent) - min(latent)) / bins
    edges = [low + edge * width for edge in range(1, bins)]
    return [sum(edge <= value for edge in edges) if width else 0 for value in latent]


def counted_entropy(*columns):
    """Joint entropy of columns of labels."""
    counts = Counter(zip(*columns, strict=True)).values()
    rows = sum(counts)
    return -math.fsum(count / rows * math.log(count / rows) for count in counts)


def counted_information(codes, factors, bins):
    """information[latent][factor], joint entropies likewise, and the factors' entropies."""
    labels = [bin_labels(latent, bins) for latent in codes.T.tolist()]
    columns = factors.T.tolist()
    joint = [[counted_entropy(label, column) for column in columns] for label in labels]
    of_factors = [counted_entropy(column) for column in columns]
    information = [
        [counted_entropy(label) + own - both for own, both in zip(of_factors, row, strict=True)]
        for label, row in zip(labels, joint, strict=True)
    ]
    return information, joint, of_factors


def cases():
    """Tables for every metric of mutual information: codes, factors, bins."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [2, 5, 6], size=(200, 3))
    noise = rng.normal(size=(200, 4))
    correlated = np.column_stack([factors, factors[:, 1] + rng.integers(0, 2, size=200)])
    mixed = factors @ rng.normal(size=(3, 4)) + noise
    dead = np.insert(mixed, 1, 0.1, axis=1)
    return {
        "random": (noise, factors, 20),
        "mixed": (mixed, factors, 20),
        "correlated": (correlated @ rng.normal(size=(4, 3)), correlated, 20),
        "duplicated": (np.repeat(mixed, 2, axis=1), factors, 20),
        "dead": (dead, factors, 20),
        "all dead": (np.full((200, 2), 0.1), factors, 20),
        "perfect": (factors * [1.0, -0.1, 7.0], factors, 20),
        "one latent": (mixed[:, :1], factors, 20),
        "one factor": (mixed, factors[:, 2:], 20),
        "constant factor": (dead, np.insert(factors, 1, 7, axis=1), 20),
        "constant factors": (dead, np.full((200, 2), 3), 20),
        "few rows": (mixed[:7], factors[:7], 20),
        "one row": (mixed[:1], factors[:1], 20),
        "few bins": (mixed, factors, 4),
        "one bin": (mixed, factors, 1),
        "huge": (mixed * 1e140, factors, 20),
        "tiny": (mixed * 1e-200, factors, 20),
    }


def by_definition(codes, factors, bins):
    values = []
    for row in counted_information(codes, factors, bins)[0]:
        top = max(range(len(row)), key=row.__getitem__)
        others = math.fsum(known**2 for factor, known in enumerate(row) if factor != top)
        if row[top] < 1e-12:
            values.append(0.0)
        else:
            values.append(1 - others / (row[top] ** 2 * (len(row) - 1)) if len(row) > 1 else 1.0)
    return [sum(values) / len(values), *values]


@pytest.mark.parametrize("case", cases())
def test_agrees_with_the_definition(case):
    codes, factors, bins = cases()[case]
    found = [row.value for row in modularity(codes, factors, bins)]
    np.testing.assert_allclose(found, by_definition(codes, factors, bins), atol=1e-9, rtol=0)
    if bins == 20:
        rows = evaluate(Inputs(codes, factors), np.random.default_rng(0))
        assert rows == modularity(codes, factors)
        assert [row.value for row in rows] == found


def test_worked_example():
    # Four equally likely points, two binary factors. The first latent is the first factor: it knows
    # ln 2 of one, 0 of the other. The second tells all points apart: it knows ln 2 of both.
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    codes = np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 1.0], [1.0, 3.0]])
    assert modularity(codes, factors) == [
        Score("score", 0.5),
        Score("modularity latent 0", 1.0),
        Score("modularity latent 1", 0.0),
    ]


def test_worked_example_of_unequal_knowledge():
    # The latent tells both factors wholly: ln 4 of the first, ln 2 of the second, 0 of the third.
    factors = np.array([[0, 0, 5], [1, 0, 5], [2, 1, 5], [3, 1, 5]])
    scores = modularity(np.array([[0.0], [1.0], [2.0], [3.0]]), factors)
    assert scores[0].value == pytest.approx(1 - (1 / 2) ** 2 / 2, abs=1e-12)


def test_latents_that_know_nothing_count_as_zero():
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 6)
    unrelated = np.repeat(np.arange(6.0), 4)  # independent of both factors, but not dead
    codes = np.column_stack([factors[:, 0], np.full(24, 0.1), unrelated])
    assert [row.value for row in modularity(codes, factors)] == pytest.approx([1 / 3, 1, 0, 0])


@pytest.mark.parametrize("sizes", [(6, 7), (7, 2), (11, 2)])
def test_rounding_is_no_knowledge(sizes):
    # In tables of these sizes, 1e-16 nats are left where there should be none.
    factors = np.array([[a, b] for a in range(sizes[0]) for b in range(sizes[1])] * 3)
    unrelated = np.repeat(np.arange(3.0), len(factors) // 3)
    codes = np.column_stack([unrelated, np.full(len(factors), 0.1)])
    assert [row.value for row in modularity(codes, factors)] == [0, 0, 0]


def test_with_one_factor_a_latent_is_modular_if_it_knows_of_it():
    factor = np.array([[0], [0], [1], [1]])
    codes = np.column_stack([factor, [0.0, 1.0, 0.0, 1.0], np.full(4, 3.0)])
    assert [row.value for row in modularity(codes, factor)] == pytest.approx([1 / 3, 1, 0, 0])


def test_a_factor_with_one_value_counts_among_the_factors():
    # ln 2 known of both live factors: (ln 2)² of the other, over 1 or over 2 other factors.
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    codes = np.arange(4.0)[:, None]
    assert modularity(codes, factors)[0].value == pytest.approx(0)
    assert modularity(codes, np.insert(factors, 0, 7, axis=1))[0].value == pytest.approx(1 / 2)
