"""How often a transferred choice wins."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from tasks.report.questions.transfer import beats_random

CLEAR = np.array([[0.9, 0.91, 0.92], [0.5, 0.51, 0.52], [0.1, 0.11, 0.12]])
TABLES = {("x", "mig"): CLEAR, ("y", "mig"): CLEAR, ("x", "sap"): -CLEAR}


def test_a_choice_that_always_wins_beats_random_always() -> None:
    assert beats_random(TABLES, True, True) == (1.0, (1.0, 1.0))
    assert beats_random(TABLES, True, False)[0] == 1.0
    assert beats_random(TABLES, False, True)[0] == pytest.approx(1 / 3), "only a tie with itself"
    assert beats_random({("x", "mig"): CLEAR}, False, False) == (None, None)
    assert beats_random({("x", "mig"): CLEAR[:1]}, True, True) == (None, None)
    assert beats_random({("x", "mig"): CLEAR[:, :2]}, True, True) == (1.0, None), "two seeds"


def test_every_comparison_is_made_once_without_the_models_that_have_no_score() -> None:
    draws = np.random.default_rng(0)
    tables = {(data, metric): draws.normal(size=(4, 5)) for data in "xy" for metric in "ab"}
    for table in tables.values():
        table[draws.random(table.shape) < 0.15] = np.nan
    tables["x", "a"][:, 1] = np.nan
    won = []
    for one, other in product(tables, tables):
        if one[1] == other[1] and one[0] != other[0]:
            for first, second in permutations(range(5), 2):
                if np.isfinite(tables[one][:, first]).any():
                    judged = tables[other][:, second]
                    mine = judged[np.nanargmax(tables[one][:, first])]
                    if np.isfinite(mine):
                        won += [mine >= value for value in judged if np.isfinite(value)]
    assert beats_random(tables, True, False)[0] == pytest.approx(np.mean(won))


def test_the_interval_covers_what_is_true_in_about_95_of_100_studies() -> None:
    """The best of three cells of known means: what it wins is known by many seeds."""
    draws, means = np.random.default_rng(1), np.array([[0.0], [0.5], [1.0]])

    def share(seeds: int) -> tuple[float, tuple[float, float]]:
        table = means + draws.normal(size=(3, seeds))
        value, interval = beats_random({("x", "mig"): table}, True, True)
        assert value is not None and interval is not None
        return value, interval

    truth = share(2000)[0]
    bounds = [share(20)[1] for _ in range(200)]
    assert 0.89 <= np.mean([low <= truth <= high for low, high in bounds]) <= 0.99
