"""Are disentangled models better for a later task? Locatello et al. 2019, section 5.5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup

from metrics.base.downstream import SIZES
from tasks.report import intervals
from tasks.report.frames import DATA_SET, groups
from tasks.report.intervals import Interval
from tasks.report.labelled_tasks import (
    LEARNERS,
    Learner,
    accuracy,
    disentanglement_of,
    with_tasks,
)
from tasks.report.matrices import correlation_table
from tasks.report.questions import (
    Answer,
    Cell,
    Heading,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Column, Results, signed_so_more_is_better
from tasks.report.spearman import correlation_matrix
from tasks.words import MISSING, data_name, number, plural

QUESTION = Question(
    "Are disentangled models better for a later task?",
    menu="Later tasks",
    papers=(("locatello-2019", "Figures 5, 19, 22 and 23"),),
    needs_factors=True,
)
ABOUT = (
    "A classifier learns each factor from a model's codes. First, rank correlations over all "
    "models of a data set of the disentanglement scores with the accuracy after so many labels and "
    "with the efficiency (accuracy after 100 labels divided by that after 10,000). Then the models "
    "in thirds by a score, and the mean accuracy of each third. More of a score is always better "
    "here: where less is, its sign is reversed."
)
THIRDS = ("lowest third", "middle third", "highest third")
FEWEST = 6  # models, so that a third has two
BY = ("dci", "mig")  # by which the paper divides its models


@dataclass(frozen=True)
class Third:
    """Mean accuracies of one third of the models, by size of the training set."""

    name: str
    models: int
    accuracies: tuple[tuple[float, Interval | None] | None, ...]  # of each of SIZES


def answer(results: Results) -> Answer:
    models, columns = with_tasks(results)
    metrics = disentanglement_of(results)
    models = signed_so_more_is_better(models, metrics)
    content: list[Sentence | Table] = []
    for (data, source), rows in groups(models, DATA_SET):
        content += _of_data_set(data, source, rows, metrics, columns)
    if not content:
        return missing(
            "This needs a score of disentanglement and a labelled task: the metrics "
            "downstream_logistic and downstream_trees."
        )
    return Answer((Sentence(ABOUT), *content))


def _of_data_set(
    data: str,
    source: str,
    rows: pd.DataFrame,
    metrics: Sequence[Column],
    columns: Sequence[Column],
) -> list[Sentence | Table]:
    scored = [metric for metric in metrics if rows[metric.id].notna().any()]
    known = [column for column in columns if rows[column.id].notna().any()]
    if not scored or not known:
        return []
    every = [*(metric.id for metric in scored), *(column.id for column in known)]
    matrix, counts = correlation_matrix(rows[every])
    rho, n = matrix[: len(scored), len(scored) :], counts[: len(scored), len(scored) :]
    caption = f"{data_name(data)}, n = {int(n.max()):,}"
    table = correlation_table(
        [metric.title for metric in scored], [column.title for column in known], rho, caption
    )
    content: list[Sentence | Table] = [_finding(data, rho, n, scored, known), table]
    for metric in (m for m in scored if m.name in BY):
        for learner in LEARNERS:
            if parts := thirds(rows, metric, learner):
                content.append(_thirds_table(data, metric, learner, parts))
    return content


def _finding(
    data: str, rho: np.ndarray, n: np.ndarray, metrics: Sequence[Column], columns: Sequence[Column]
) -> Sentence:
    if not np.isfinite(rho).any():
        return Sentence(f"{data_name(data)}: too few models for a rank correlation.", "missing")
    row, column = divmod(int(np.nanargmax(rho)), rho.shape[1])
    text = Markup("<b>{}</b>: {} agrees most with a task, with {}: {}").format(
        data_name(data),
        metrics[row].title,
        columns[column].title,
        intervals.rho_text(float(rho[row, column]), int(n[row, column])),
    )
    accuracies = [place for place, c in enumerate(columns) if c.part.startswith("accuracy")]
    of_accuracies = rho[:, accuracies]
    if np.isfinite(of_accuracies).any():
        mean = number(float(np.nanmean(of_accuracies)), 2)
        text += f"; the mean over all scores and training sets is {mean}"
    return Sentence(text + ".", "finding")


def thirds(rows: pd.DataFrame, metric: Column, learner: Learner) -> list[Third]:
    """The models in three groups of rising score, equally large but for ties of rank."""
    sizes = [size for size in SIZES if accuracy(learner, size).id in rows]
    wanted = [accuracy(learner, size).id for size in sizes]
    scored = rows.dropna(subset=[metric.id])
    if not sizes or len(scored) < FEWEST or scored[wanted].isna().all(axis=None):
        return []
    rank = scored[metric.id].rank(method="first", pct=True)
    place = np.minimum(np.ceil(3 * rank.to_numpy() - 1e-9).astype(int), 3) - 1
    parts = []
    for third, name in enumerate(THIRDS):
        part = scored[place == third]
        parts.append(Third(name, len(part), tuple(_mean(part, column) for column in wanted)))
    return parts


def _mean(part: pd.DataFrame, column: str) -> tuple[float, Interval | None] | None:
    """With the interval of a mean of so many models."""
    values = part[column].dropna()
    if values.empty:
        return None
    mean = float(values.mean())
    if len(values) < 2:
        return mean, None
    half = intervals.NORMAL * float(values.std()) / len(values) ** 0.5
    return mean, Interval(mean - half, mean + half)


def _thirds_table(data: str, metric: Column, learner: Learner, parts: Sequence[Third]) -> Table:
    headings = (
        Heading(f"By {metric.title}"),
        *(Heading(plural(size, "label"), numeric=True) for size in SIZES),
        Heading("Models", numeric=True),
    )
    return Table(
        headings,
        tuple(
            Row(
                (
                    Cell(part.name),
                    *(_accuracy_cell(value) for value in part.accuracies),
                    Cell(f"{part.models:,}", part.models),
                )
            )
            for part in parts
        ),
        style="tight",
        caption=f"{data_name(data)}: mean accuracy of {learner.title}",
        row_headings=True,
    )


def _accuracy_cell(value: tuple[float, Interval | None] | None) -> Cell:
    if value is None:
        return Cell(MISSING)
    mean, interval = value
    return Cell(number(mean, 2), mean, below=(interval.text(),) if interval else ())
