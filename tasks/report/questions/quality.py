"""How good is the ranking without labels, where there are labels? Duan et al. 2020, Table 7.

A rank correlation is taken within a data set and method, as the paper does, and then averaged.
Labelled tasks are no measures of disentanglement: they have rows, but are in no mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.report.comparable import (
    Population,
    members,
    papers_version,
    population_of,
    why_not_quoted,
    with_grid,
)
from tasks.report.frames import DATA_SET, groups
from tasks.report.published import (
    CLASSES,
    FOUR,
    FOUR_AGREE,
    TABLE_7_DATA,
    UDR_WITH_FOUR,
)
from tasks.report.questions import (
    Answer,
    Cell,
    Heading,
    Published,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Column, Results, signed_so_more_is_better
from tasks.report.spearman import ENOUGH, correlation_matrix
from tasks.words import MISSING, with_deviation

QUESTION = Question(
    "How good is the ranking without labels?",
    menu="How good is it?",
    papers=(("duan-2020", "Table 7"),),
    needs_factors=True,
)
Columns = Sequence[Column]
SIGN_REVERSED = "less is better, sign reversed"
OTHERS = "The other metrics"
TABLE_7 = Population(TABLE_7_DATA, tuple(dict.fromkeys(chain(*CLASSES.values()))))


@dataclass(frozen=True)
class Mean:
    """Correlations averaged over groups, and how many models they are of; no mean, a reason.

    A deviation, n - 1, is of the correlations from each other and needs two of them.
    """

    mean: float | None
    deviation: float | None = None
    correlations: int = 0
    models: int = 0  # in the groups that have a correlation, each once
    reason: str = ""
    published: tuple[float, float | None] | None = None  # the paper's mean and deviation


@dataclass(frozen=True)
class QualityRow:
    """How one metric, or the mean of several, agrees with each ranking and the other metrics."""

    title: str
    rankings: tuple[Mean, ...]
    others: Mean | None
    is_mean: bool = False
    why_in_no_mean: str = ""


@dataclass(frozen=True)
class _Group:
    """Rank correlations of all scores within a data set and method, and of how many models."""

    place: dict[str, int]  # of each score
    rho: NDArray[np.float64]
    n: NDArray[np.int64]


def answer(results: Results) -> Answer:
    if results.udr is None:
        return missing("There is no ranking to judge.")
    rows = quality(results.models, results.columns)
    if not any(metric.direction for metric in results.metrics):
        return missing(
            "No score of this study says which model is better, so there is nothing to judge the "
            "ranking by. Look at the pictures of the best and the worst model."
        )
    why_not = why_not_quoted(results.study, results.models)
    about = (
        "As in Duan et al. 2020: Spearman's rank correlation of UDR with each score over the "
        "models of a data set and method, then the mean over data sets and methods (and metrics, "
        "in the rows of means) with the deviation of the correlations. 1 is the same order, 0 no "
        "relation. The last column says how far the scores agree with each other."
    )
    content: list[Sentence | Table] = [Sentence(about), Sentence(_comparability(results), "note")]
    if all(mean.mean is None for row in rows for mean in row.rankings):
        text = (
            f"No mean correlation of any score: a method needs {ENOUGH} models on a data set, "
            "whose scores are not all equal."
        )
        return Answer((*content, Sentence(text, "missing")), tuple(_published(rows, results)))
    content.append(_table(rows, results, with_published=not why_not))
    if any(row.why_in_no_mean == SIGN_REVERSED for row in rows):
        text = (
            "Where less is better the sign is reversed, so that above 0 always means agreement. A "
            "collapsed model is fair, since nothing can be predicted from it, and has a UDR of 0."
        )
        content.append(Sentence(text, "note"))
    return Answer(tuple(content), tuple(_published(rows, results)))


def disentanglement(columns: Columns) -> list[Column]:
    """The metrics that are averaged: of disentanglement, from labels, where more is better."""
    return [c for c in columns if not c.is_udr and c.more_is_better and c.kind == "disentanglement"]


def quality(models: pd.DataFrame, columns: Columns) -> list[QualityRow]:
    """Every metric, then means; last what is in no mean."""
    rankings = [column for column in columns if column.is_udr]
    metrics = disentanglement(columns)
    in_no_mean = [column for column in columns if not column.is_udr and column not in metrics]
    of_all, of_paper = (
        [_correlations(rows, columns) for _, rows in groups(some, [*DATA_SET, "method"])]
        for some in (models, members(models, TABLE_7))
    )

    def row(
        title: str, some: Columns, others: Columns, why: str = "", of: Sequence[_Group] = of_all
    ) -> QualityRow:
        ids, other_ids = [column.id for column in some], [column.id for column in others]
        means = (_mean(of, [(id_, ranking.id) for id_ in ids]) for ranking in rankings)
        # each pair of metrics once, and none with itself
        pairs = {frozenset((one, other)) for one in ids for other in other_ids if one != other}
        agree = _mean(of, sorted(tuple(sorted(pair)) for pair in pairs)) if pairs else None
        return QualityRow(title, tuple(means), agree, len(some) > 1, why)

    rows = [row(metric.title, [metric], metrics) for metric in metrics]
    four = [metric for metric in metrics if metric.name in FOUR]
    if len(four) > 1:
        which = "the paper's four" if len(four) == 4 else f"{len(four)} of the paper's four"
        rows.append(row(f"Mean of {which}", four, four))
    if len(four) == 4 and of_paper:
        title = "Mean of the paper's four, on its data sets and methods"
        rows.append(_with_published_four(row(title, four, four, of=of_paper), rankings))
    if len(metrics) > max(1, len(four)):
        rows.append(row(f"Mean of all {len(metrics)}", metrics, metrics))
    for column in in_no_mean:
        rows.append(row(column.title, [column], metrics, _why_in_no_mean(column)))
    return rows


def _why_in_no_mean(column: Column) -> str:
    if column.direction < 0:
        return SIGN_REVERSED
    return "a task" if column.direction else "no direction"


def _correlations(rows: pd.DataFrame, columns: Columns) -> _Group:
    ids = [column.id for column in columns]
    rho, n = correlation_matrix(signed_so_more_is_better(rows, columns)[ids])
    return _Group({id_: place for place, id_ in enumerate(ids)}, rho, n)


def _mean(of_groups: Sequence[_Group], pairs: Sequence[tuple[str, ...]]) -> Mean:
    """Of the correlations of these pairs of scores, over all groups."""
    values, models, largest = [], 0, 0
    for group in of_groups:
        of_group = 0
        for one, other in pairs:
            at = group.place[one], group.place[other]
            n, rho = int(group.n[at]), float(group.rho[at])
            largest = max(largest, n)
            if np.isfinite(rho):
                values.append(rho)
                of_group = max(of_group, n)
        models += of_group
    if not values:
        few = f"too few models, n = {largest}" if largest else "not scored"
        return Mean(None, reason=few if largest < ENOUGH else f"all equal, n = {largest:,}")
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Mean(float(np.mean(values)), deviation, len(values), models)


def _with_published_four(row: QualityRow, rankings: Columns) -> QualityRow:
    means = (
        replace(mean, published=UDR_WITH_FOUR.get(papers_version(ranking)))
        for mean, ranking in zip(row.rankings, rankings, strict=True)
    )
    others = replace(row.others, published=FOUR_AGREE) if row.others else None
    return replace(row, rankings=tuple(means), others=others)


def _comparability(results: Results) -> str:
    why_not = why_not_quoted(results.study, results.models)
    if not why_not:
        return (
            "The paper's means, and the row next to them, are over dSprites and 3D Shapes, three "
            "methods (β-VAE, β-TCVAE and a DIP-VAE: both of ours are taken) and four metrics. It "
            "does not say over what its deviations go. Its comparison over all strengths takes ten "
            "seeds of each."
        )
    return f"The paper's numbers are not shown here: {why_not}."


def _published(rows: Sequence[QualityRow], results: Results) -> Iterator[Published]:
    titles = [*((ranking.title, ranking.pool) for ranking in results.rankings), (OTHERS, "cell")]
    for row in rows:
        for (title, pool), mean in zip(titles, (*row.rankings, row.others), strict=True):
            if mean is not None and mean.published:
                population = population_of(pool, TABLE_7.data, TABLE_7.methods)
                published, deviation = mean.published
                of_paper = Published(
                    what=f"{row.title}, {title}",
                    ours=mean.mean,
                    published=published,
                    place=QUESTION.place,
                    n=mean.models,
                    why_not=mean.reason,
                    deviation=deviation,
                    published_n=population.models,
                )
                models = members(results.models, population)
                yield with_grid(of_paper, results.study, models, population)


def _table(rows: Sequence[QualityRow], results: Results, with_published: bool) -> Table:
    headings = (
        Heading("UDR and"),
        *(Heading(ranking.title, numeric=True) for ranking in results.rankings),
        Heading(OTHERS, numeric=True),
    )
    return Table(
        headings,
        tuple(
            Row(
                (
                    Cell(row.title, below=(row.why_in_no_mean,) if row.why_in_no_mean else ()),
                    *(_cell(mean, with_published) for mean in (*row.rankings, row.others)),
                ),
                style="mean" if row.is_mean else "",
            )
            for row in rows
        ),
        id="quality-table",
        style="quality",
        row_headings=True,
    )


def _cell(mean: Mean | None, with_published: bool) -> Cell:
    if mean is None:
        return Cell(MISSING)
    below = []
    if mean.mean is not None:
        several = f"{mean.correlations:,} correlations, " if mean.correlations > 1 else ""
        below.append(f"{several}n = {mean.models:,}")
    if with_published and mean.published:
        below.append(f"paper: {with_deviation(*mean.published)}")
    if mean.mean is None:
        return Cell(mean.reason, below=tuple(below), style="muted")
    return Cell(with_deviation(mean.mean, mean.deviation), mean.mean, tuple(below))
