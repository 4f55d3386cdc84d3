"""Steps to learn clustering, of made-up agents."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.base.inputs import Inputs, Learned
from metrics.clustering import clustering, evaluate
from metrics.evaluate import reads_factors

CODES, FACTORS = np.zeros((3, 2)), np.zeros((3, 1), np.int64)


def test_an_agent_that_did_not_learn_counts_with_its_budget() -> None:
    assert clustering([100, 300], 1000) == 200
    assert clustering([100, np.nan, 300], 1000) == pytest.approx(1400 / 3)
    assert clustering([np.nan] * 4, 1000) == 1000


@pytest.mark.parametrize("steps", [[], [[1.0]], [1500.0], [-1.0], [np.inf]])
def test_wrong_steps_are_refused(steps: list[float]) -> None:
    with pytest.raises(ValueError, match="steps"):
        clustering(steps, 1000)


def test_the_scores_of_agents() -> None:
    """The stream is handed on, and an agent that did not learn has no steps."""
    drawn = []

    def learn(rng: np.random.Generator) -> Learned:
        drawn.append(rng.random())
        steps = np.array([400, np.nan, 800])
        return Learned(steps, np.array([0.9, 0.3, 1.0]), np.array([0.5, 0.1, 0.6]), budget=3000)

    inputs = Inputs(CODES, FACTORS, learn_clustering=learn)
    scores = {score.part: score.value for score in evaluate(inputs, np.random.default_rng(5))}
    assert drawn == [np.random.default_rng(5).random()]
    assert scores == {
        "score": pytest.approx(1400),
        "steps agent 0": 400,
        "steps agent 2": 800,
        "learned": pytest.approx(2 / 3),
        "success": pytest.approx(2.2 / 3),
        "success other hues": pytest.approx(0.4),
        "budget": 3000,
    }


def test_codes_alone_are_refused() -> None:
    with pytest.raises(ValueError, match=r"learn_clustering is None.*scene"):
        evaluate(Inputs(CODES, FACTORS), np.random.default_rng(0))


def test_it_reads_no_factors() -> None:
    """So that label noise leaves it alone."""
    assert not reads_factors("clustering")
