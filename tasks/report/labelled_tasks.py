"""What the questions on labelled tasks read: accuracies by training set, and efficiencies."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from metrics.base.downstream import SIZES
from tasks.report.results import Column, Results
from tasks.words import plural


@dataclass(frozen=True)
class Learner:
    metric: str
    title: str
    short: str


LEARNERS = (
    Learner("downstream_logistic", "logistic regression", "LR"),
    Learner("downstream_trees", "boosted trees", "GBT"),
)


def accuracy(learner: Learner, size: int) -> Column:
    title = f"{learner.short}, {plural(size, 'label')}"
    return Column(learner.metric, title, part=f"accuracy_{size}")


def efficiency(learner: Learner) -> Column:
    """The accuracy after 100 labels divided by that after 10,000."""
    return Column(learner.metric, f"Efficiency, {learner.short}", part="efficiency_100")


def task_columns() -> list[Column]:
    accuracies = [accuracy(learner, size) for learner in LEARNERS for size in SIZES]
    return [*accuracies, *(efficiency(learner) for learner in LEARNERS)]


def with_tasks(results: Results) -> tuple[pd.DataFrame, list[Column]]:
    """The models with what is known of these columns, and those columns."""
    wanted = task_columns()
    models = results.with_parts(wanted)
    return models, [column for column in wanted if models[column.id].notna().any()]


def disentanglement_of(results: Results) -> list[Column]:
    return [c for c in results.metrics if c.kind == "disentanglement" and c.direction]
