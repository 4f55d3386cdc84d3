"""Every ranking without labels of a data set, and the scores from labels that judge them.

Each has the direction in which it would choose: more UDR, centrality, CKA, CCA and ELBO, and less
reconstruction error, total correlation and distance of training dynamics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from metrics import SIMILARITIES
from metrics.base.downstream import SIZES
from tasks.report.labelled_tasks import LEARNERS, accuracy, disentanglement_of, efficiency
from tasks.report.results import DYNAMICS, Column, Results
from tasks.words import POOLS, UDR, ranking_name, similarity_name

TOTAL_CORRELATION = Column("unsupervised", "Total correlation", direction=-1)


@dataclass(frozen=True)
class Unlabelled:
    """A number of a model, or of a cell, that needs no labels."""

    title: str
    column: str  # of the models
    direction: int  # 1: the one with most is chosen; -1: with least
    pool: str = ""  # of UDR and centrality
    of_cells: bool = False


MODELS_OWN = (
    Unlabelled("ELBO", "elbo", 1),
    Unlabelled("Reconstruction", "reconstruction", -1),
    Unlabelled("Total correlation", TOTAL_CORRELATION.id, -1),
)
STABILITY = Unlabelled("Training dynamics", DYNAMICS.id, -1, of_cells=True)


def similarity_title(similarity: str) -> str:
    """`UDR, lasso`."""
    ranking = ranking_name(similarity)
    return f"{ranking}, {similarity_name(similarity)}" if ranking == UDR else ranking


def rankings_of(results: Results, models: pd.DataFrame) -> list[Unlabelled]:
    """Those of which these models have a number. Of each similarity the fairest pool, which is the
    first that there is."""
    by_similarity: dict[str, Unlabelled] = {}
    for column in results.rankings:
        if models[column.id].notna().any():
            title = similarity_title(column.name)
            ranking = Unlabelled(title, column.id, 1, column.pool)
            by_similarity.setdefault(column.name, ranking)
    known = [r for r in (*MODELS_OWN, STABILITY) if r.column in models]
    return [*by_similarity.values(), *(r for r in known if models[r.column].notna().any())]


def pools_text(rankings: Sequence[Unlabelled]) -> str:
    """`UDR, lasso: all strengths`, of those that have a pool."""
    return "; ".join(f"{r.title}: {POOLS.get(r.pool, r.pool)}" for r in rankings if r.pool)


def absent(rankings: Sequence[Unlabelled]) -> list[str]:
    """Of each ranking that no data set has: its name, and what of a spec makes it."""
    there = {ranking.title for ranking in rankings}
    texts = [
        f"{similarity_title(name)} (`udr.similarities: [{name}]`)"
        for name in SIMILARITIES
        if similarity_title(name) not in there
    ]
    if STABILITY.title not in there:
        texts.append(f"{STABILITY.title} (a section `traces`, and two models of a cell)")
    if TOTAL_CORRELATION.title not in there:
        texts.append(f"{TOTAL_CORRELATION.title} (`metrics.names: [{TOTAL_CORRELATION.name}]`)")
    return texts


def label_columns(results: Results) -> tuple[list[Column], list[Column]]:
    """Scores of disentanglement; and those of labelled tasks, which are parts that the models of
    `results` may not have: unfairness, and each learner's accuracies and efficiency."""
    tasks = [m for m in results.metrics if m.name == "fairness" and m.direction]
    for learner in LEARNERS:
        tasks += [accuracy(learner, size) for size in SIZES] + [efficiency(learner)]
    return disentanglement_of(results), tasks


def with_most_samples(tasks: Sequence[Column], models: pd.DataFrame) -> list[Column]:
    """Without the accuracies of fewer samples than the most that these models have."""
    known = [task for task in tasks if task.id in models and models[task.id].notna().any()]
    largest = {
        learner.metric: accuracy(learner, size)
        for learner in LEARNERS
        for size in SIZES
        if accuracy(learner, size) in known
    }
    fewer = [accuracy(learner, size) for learner in LEARNERS for size in SIZES]
    return [task for task in known if task not in fewer or task in largest.values()]
