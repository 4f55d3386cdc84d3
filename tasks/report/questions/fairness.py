"""Are models with a high UDR fair? Duan et al. 2020, section 5 and Figure 11 (left).

The metric `fairness` is a distance, where less is better. Here its sign is turned: fairness is
1 - unfairness, so that a rank correlation above 0 means that UDR prefers fairer models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from tasks.report import intervals
from tasks.report.comparable import members, papers_version, population_of, with_grid
from tasks.report.figures.axes import limits
from tasks.report.frames import DATA_SET, groups
from tasks.report.intervals import Interval
from tasks.report.labels import data_label, method_label, method_legend
from tasks.report.published import (
    CLASSES,
    FOUR,
    FOUR_WITH_FAIRNESS,
    TABLE_7_DATA,
    UDR_WITH_FAIRNESS,
)
from tasks.report.questions import (
    Answer,
    Cell,
    FigureGroup,
    Figures,
    Heading,
    Published,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.questions.quality import disentanglement
from tasks.report.questions.strengths import choosing
from tasks.report.results import Column, Results
from tasks.report.score_scatter import score_scatter
from tasks.report.spearman import ENOUGH, Agreement, row_correlations, spearman
from tasks.words import MISSING, data_name, method_name, number, plural

QUESTION = Question(
    "Are models with a high UDR fair?",
    section="quality",
    papers=(("duan-2020", "section 5 and Figure 11 (left)"),),
)
FAIRNESS = Column("fairness", "Fairness", part="turned")
OTHER_RANKING = "the paper's is UDR with the lasso, within cells"
OF_OTHERS = "the paper quotes it from Locatello et al., of other models"
DRAWS = 200
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """Rank correlations with fairness over the models of a data set and method."""

    data: str
    source: str
    method: str
    agreements: tuple[Agreement, ...]  # of UDR, then of every score
    redrawn: Scores  # (draws, UDR and scores): of redrawn seeds; NaN where there is none
    models: frozenset[str]


@dataclass(frozen=True)
class Mean:
    """Of correlations over panels and scores."""

    rho: float
    interval: Interval | None
    correlations: int
    models: int


def answer(results: Results) -> Answer:
    models = with_fairness(results.models)
    udr = choosing(results.columns, results.models)
    if FAIRNESS.id not in models or udr is None:
        lacks = "UDR" if udr is None else "scores of fairness (the metric `fairness`)"
        return missing(f"Nothing to set against each other: there are no {lacks}.")
    scores = disentanglement(results.columns)
    columns = [udr, *scores]
    every = panels(models, columns)
    if not any(agreement.n for panel in every for agreement in panel.agreements):
        return missing("No model has both UDR and a score of fairness.")
    text = Sentence(
        "Fairness is 1 − unfairness, where unfairness is how far a prediction moves when a factor "
        "that it should not depend on is changed: above 0 the two agree. A collapsed model is "
        f"fair, since nothing can be predicted from it, and has a UDR of 0. UDR is “{udr.title}”."
    )
    legend = method_legend(results.styles, "larger marker: greater strength")
    return Answer(
        (
            _finding(every, columns),
            text,
            _table(every, columns, results),
            Figures(_figures(models, udr, results), legend),
        ),
        tuple(_published(models, udr, scores, results)),
    )


def with_fairness(models: pd.DataFrame) -> pd.DataFrame:
    unfairness = Column("fairness", "").id
    if unfairness not in models or models[unfairness].isna().all():
        return models
    return models.assign(**{FAIRNESS.id: 1 - models[unfairness]})


def panels(models: pd.DataFrame, columns: Sequence[Column]) -> list[Panel]:
    collected = []
    for (data, source, method), rows in groups(models, [*DATA_SET, "method"]):
        agreements = tuple(spearman(rows[c.id], rows[FAIRNESS.id]) for c in columns)
        known = rows.loc[rows[FAIRNESS.id].notna(), "model_id"]
        redrawn = _redrawn(
            rows[FAIRNESS.id].to_numpy(float),
            rows[[column.id for column in columns]].to_numpy(float),
            rows["strength"].to_numpy(float),
            f"{data} {source} {method}",
        )
        collected.append(Panel(data, source, method, agreements, redrawn, frozenset(known)))
    return collected


def _redrawn(fair: Scores, others: Scores, strengths: Scores, name: str) -> Scores:
    """(draws, columns of others): their correlations with `fair` when the seeds of each cell are
    drawn again. Columns with the same models have the same draws."""
    rho = np.full((DRAWS, others.shape[1]), np.nan)
    for column, other in enumerate(others.T):
        known = np.flatnonzero(np.isfinite(fair) & np.isfinite(other))
        known = known[np.argsort(strengths[known], kind="stable")]
        _, cell, sizes = np.unique(strengths[known], return_inverse=True, return_counts=True)
        if len(known) >= ENOUGH and float(np.median(sizes)) >= intervals.FEWEST_SEEDS:
            first = np.cumsum(sizes) - sizes
            draws = intervals.stream("fairness", name).random((DRAWS, len(known)))
            places = known[first[cell] + (draws * sizes[cell]).astype(np.int64)]
            rho[:, column] = row_correlations(fair[places], other[places])
    return rho


def mean_of(every: Sequence[Panel], which: Sequence[int]) -> Mean | None:
    """Over the correlations of some columns, by their places, that have a value."""
    known = [
        (panel, place)
        for panel in every
        for place in which
        if panel.agreements[place].rho is not None
    ]
    if not known:
        return None
    rhos = [panel.agreements[place].rho or 0.0 for panel, place in known]
    redrawn = np.stack([panel.redrawn[:, place] for panel, place in known])
    there = np.isfinite(redrawn).sum(axis=0)
    means = np.nansum(redrawn, axis=0)[there > 0] / there[there > 0]
    interval = Interval(*map(float, np.quantile(means, intervals.LEVEL))) if len(means) else None
    models = len(frozenset().union(*(panel.models for panel, _ in known)))
    return Mean(float(np.mean(rhos)), interval, len(known), models)


def _finding(every: Sequence[Panel], columns: Sequence[Column]) -> Sentence:
    udr = mean_of(every, [0])
    scores = mean_of(every, range(1, len(columns)))
    if udr is None:
        few = "No rank correlation of UDR with fairness: too few models, or all values are equal."
        return Sentence(few, "missing")
    text = Markup(
        "UDR and fairness have a rank correlation of <b>{}</b>{} on average over {} ({})"
    ).format(
        number(udr.rho, 2),
        f" ({udr.interval.text()})" if udr.interval else "",
        plural(udr.correlations, "data set and method", "data sets and methods"),
        plural(udr.models, "model"),
    )
    if scores is not None:
        text += Markup("; that of the {} is <b>{}</b>{}").format(
            plural(len(columns) - 1, "score from labels", "scores from labels"),
            number(scores.rho, 2),
            f" ({scores.interval.text()})" if scores.interval else "",
        )
    return Sentence(text + ".", "finding")


def _table(every: Sequence[Panel], columns: Sequence[Column], results: Results) -> Table:
    headings = (
        Heading("Data set"),
        Heading("Method"),
        *(Heading(column.title, numeric=True) for column in columns),
    )
    return Table(
        headings,
        tuple(
            Row(
                (
                    Cell(data_label(panel.data, panel.source)),
                    Cell(method_label(panel.method, results.styles), panel.method, style="who"),
                    *(_cell(agreement) for agreement in panel.agreements),
                )
            )
            for panel in every
        ),
        style="tight",
        caption="Rank correlation with fairness, and its interval of 95%",
    )


def _cell(agreement: Agreement) -> Cell:
    if agreement.rho is None:
        return Cell(agreement.reason if agreement.n else MISSING, style="muted")
    interval = intervals.of_rank_correlation(agreement.rho, agreement.n)
    below = (f"{interval.text()}, n = {agreement.n:,}",) if interval else ()
    return Cell(number(agreement.rho, 2), agreement.rho, below)


def _figures(models: pd.DataFrame, udr: Column, results: Results) -> tuple[FigureGroup, ...]:
    both = models.dropna(subset=[udr.id, FAIRNESS.id])
    scales = limits(both[udr.id]), limits(both[FAIRNESS.id])
    return tuple(
        FigureGroup(
            data_label(data, source),
            tuple(
                score_scatter(
                    rows,
                    udr,
                    FAIRNESS,
                    method_name(method),
                    f"for {method_name(method)} on {data_name(data)}",
                    results.styles,
                    f"fairness {data} {source} {method}",
                    scales,
                    across_title="UDR (fairness upwards)",
                    among=("data", "source", "method"),
                )
                for (method,), rows in groups(of_data, ["method"])
            ),
        )
        for (data, source), of_data in groups(both, DATA_SET)
    )


def _published(
    models: pd.DataFrame, udr: Column, scores: Sequence[Column], results: Results
) -> Iterator[Published]:
    """The paper's panels: three methods on two data sets, 60 models each. It does not say which
    DIP-VAE is its own, so that those of the study are taken."""
    there = set(results.frames.models["method"])
    methods = tuple(
        method
        for family in CLASSES.values()
        for method in ([m for m in family if m in there] or family[:1])
    )
    population = population_of("method", TABLE_7_DATA, methods)
    rows = members(models, population).dropna(subset=[FAIRNESS.id])
    every = panels(rows, [udr, *scores])
    four = [place for place, score in enumerate(scores, 1) if score.name in FOUR]
    is_papers = papers_version(udr) == ("lasso", "cell")
    cases = (
        ("UDR", [0], UDR_WITH_FAIRNESS, "", "" if is_papers else OTHER_RANKING),
        ("the four supervised metrics", four, FOUR_WITH_FAIRNESS, _lacking(len(four)), OF_OTHERS),
    )
    for what, which, published, lacking, differs in cases:
        mean = None if lacking else mean_of(every, which)
        row = Published(
            what=f"Rank correlation with fairness, {what}",
            ours=mean.rho if mean else None,
            published=published,
            place=QUESTION.place,
            n=mean.models if mean else None,
            why_not="" if mean else lacking or "too few models of its data sets and methods",
            published_n=population.models,
            interval=mean.interval if mean else None,
        )
        yield with_grid(row, results.study, rows, population, differs)


def _lacking(four: int) -> str:
    return "" if four == len(FOUR) else f"{four} of the four metrics are scored"
