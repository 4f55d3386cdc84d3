"""Thirds of models by a score, and their accuracies, planted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metrics.base.downstream import SIZES
from tasks.report.labelled_tasks import LEARNERS, accuracy
from tasks.report.questions.downstream import thirds
from tasks.report.results import Column

DCI = Column("dci", "DCI")
LR, GBT = LEARNERS


def models_of(n: int) -> pd.DataFrame:
    """A third of the models is right in 2, 4 or 6 of 10 cases; GBT has no numbers."""
    models = pd.DataFrame({DCI.id: np.linspace(0, 1, n)})
    group = np.minimum((3 * np.arange(n)) // n, 2)
    for place, size in enumerate(SIZES):
        models[accuracy(LR, size).id] = 0.2 + 0.2 * group + 0.01 * place
        models[accuracy(GBT, size).id] = np.nan
    return models.sample(frac=1, random_state=1)


def test_thirds_have_the_means_that_were_planted() -> None:
    low, middle, high = thirds(models_of(300), DCI, LR)
    assert (low.models, middle.models, high.models) == (100, 100, 100)
    for part, mean in ((low, 0.2), (middle, 0.4), (high, 0.6)):
        found = [value[0] for value in part.accuracies if value]
        assert found == pytest.approx([mean + 0.01 * place for place in range(4)])
        assert all(value and value[1] and value[1].low <= value[0] for value in part.accuracies)


@pytest.mark.parametrize("n", [6, 7, 8, 100])
def test_thirds_differ_by_one_model_at_most_also_where_scores_are_equal(n: int) -> None:
    models = models_of(n)
    for scores in (models[DCI.id], 0.5):
        sizes = [part.models for part in thirds(models.assign(**{DCI.id: scores}), DCI, LR)]
        assert sum(sizes) == n and max(sizes) - min(sizes) <= 1


def test_few_models_or_no_task_have_no_thirds() -> None:
    assert thirds(models_of(5), DCI, LR) == []
    assert thirds(models_of(60), DCI, GBT) == []
