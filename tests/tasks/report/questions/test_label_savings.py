"""The efficiency that follows a score most, by the score's own direction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tasks.report.labelled_tasks import LEARNERS, efficiency
from tasks.report.questions import Figures, Sentence
from tasks.report.questions.label_savings import answer
from tasks.report.results import read_results
from tests.tasks.report.conftest import Grid, MakeStore

GRID = Grid(
    data=("dsprites",),
    seeds=10,
    metrics=("mig", "jemmig", "downstream_logistic", "downstream_trees"),
    pictures=False,
    curves=False,
)


@pytest.mark.parametrize(("sign", "said"), [(-1, "JEMMIG"), (1, "MIG")])
def test_less_of_a_score_may_be_what_saves_labels(
    sign: int, said: str, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boosted trees save labels exactly where JEMMIG is low, or where it is high, which is bad."""
    results = read_results(make_store(GRID), GRID.study())
    draws = np.random.default_rng(0)
    n = len(results.models)
    logistic, trees = (efficiency(learner) for learner in LEARNERS)
    models = results.models.assign(
        **{
            "metric mig": np.arange(n) + draws.normal(0, n / 4, n),
            "metric jemmig": draws.permutation(n),
            logistic.id: np.arange(n),
        }
    )
    models[trees.id] = sign * models["metric jemmig"]
    results = replace(results, models=models)
    monkeypatch.setattr(type(results), "with_parts", lambda self, _: self.models)
    _, finding, figures = answer(results).content
    assert isinstance(finding, Sentence) and isinstance(figures, Figures)
    which = (
        "Efficiency, GBT with JEMMIG: ρ = −1.00" if sign < 0 else "Efficiency, LR with MIG: ρ = 0."
    )
    assert f"the strongest relation is that of {which}" in finding.text
    assert said in finding.text
    (group,) = figures.groups
    assert len(group.figures) == 4
