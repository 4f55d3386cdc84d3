"""How much of a score does the method explain, and how much the method with its strength?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.report import intervals
from tasks.report.comparable import Population, by_source, members, not_computed, with_grid
from tasks.report.frames import CELL
from tasks.report.intervals import Interval, Scores
from tasks.report.ours_and_theirs import beside_the_paper
from tasks.report.published import (
    EXPLAINED_BY_CELL,
    EXPLAINED_BY_METHOD,
    EXPLAINED_ON_AVERAGE_BY_CELL,
    EXPLAINED_ON_AVERAGE_BY_METHOD,
    SEVEN,
    SIX,
)
from tasks.report.questions import Answer, Published, Question
from tasks.report.results import Column, Results
from tasks.report.variance import moved, variance_explained
from tasks.study.spec import Study
from tasks.words import metric_name, plural

QUESTION = Question(
    "Variance of a score explained by the method, and by method and strength",
    section="papers",
    papers=(("locatello-2019", "Table 5"),),
)
ABOUT = (
    "R² of least squares on the categories, over all models of a data set. Intervals of ours: "
    "seeds are drawn anew within each cell; of the paper's: from its 1,800 models of a data set."
)
DRAWS = 200
CATEGORIES = (
    ("method", ["method"], EXPLAINED_BY_METHOD, EXPLAINED_ON_AVERAGE_BY_METHOD),
    (
        "method × strength",
        ["method", "strength"],
        EXPLAINED_BY_CELL,
        EXPLAINED_ON_AVERAGE_BY_CELL,
    ),
)


@dataclass(frozen=True)
class Explained:
    """R² of one score on one data set, by method and by cell, and how far seeds move them."""

    label: str
    data: str
    metric: str
    models: pd.DataFrame
    shares: tuple[float | None, float | None]
    moved: Scores | None  # (draws, 2)


def answer(results: Results) -> Answer:
    return beside_the_paper(ABOUT, _rows(results))


def _rows(results: Results) -> Iterator[Published]:
    metrics = {metric.name: metric for metric in results.metrics}
    explained = [
        _explained(results.models, data, name, metrics.get(name)) for data in SEVEN for name in SIX
    ]
    every = [one for of_pair in explained for one in of_pair]
    for place, (title, by, published, average) in enumerate(CATEGORIES):
        for one in every:
            share = one.shares[place]
            population = Population((one.data,))
            row = Published(
                what=f"{one.label}, {metric_name(one.metric)}, by {title}",
                ours=share,
                published=published[one.data, one.metric],
                place=QUESTION.place,
                n=len(one.models),
                why_not=_why_not(one),
                percent=True,
                digits=0,
                published_n=population.models,
                interval=None if share is None else _interval(share, [one], place),
                published_interval=intervals.of_r_squared(
                    published[one.data, one.metric],
                    population.models,
                    len(population.methods) if by == ["method"] else population.cells,
                ),
            )
            yield with_grid(row, results.study, one.models, population)
        yield _average(every, place, title, average, results.study)


def _explained(
    models: pd.DataFrame, data: str, name: str, metric: Column | None
) -> Iterator[Explained]:
    for label, rows in by_source(members(models, Population((data,))), data):
        scored = rows.dropna(subset=[metric.id]) if metric else rows.iloc[:0]
        by_method, by_cell = (
            variance_explained(scored, metric.id, by) if metric else None
            for by in (["method"], ["method", "strength"])
        )
        distances = None
        if metric and by_cell is not None:
            keys, table = intervals.by_cell(scored, metric.id, ["method", "strength"])
            if intervals.enough_seeds(table):
                of_method = pd.factorize(keys["method"])[0]
                draws = intervals.stream("R²", label)  # of all metrics the same seeds
                distances = moved(table, of_method, draws, DRAWS)
        yield Explained(label, data, name, scored, (by_method, by_cell), distances)


def _why_not(one: Explained) -> str:
    """Why there is no R², where there is none."""
    if one.models.empty:
        return not_computed(one.data, one.metric)
    return "no two categories with several models, or all scores are equal"


def _interval(share: float, pairs: Sequence[Explained], place: int) -> Interval | None:
    """Of the mean over pairs of data set and metric."""
    distances = [pair.moved[:, place] for pair in pairs if pair.moved is not None]
    if not distances or len(distances) < len(pairs):
        return None
    low, high = share + np.quantile(np.mean(distances, axis=0), intervals.LEVEL)
    return Interval(max(0.0, float(low)), min(1.0, float(high)))


def _average(
    every: Sequence[Explained], place: int, title: str, published: float, study: Study
) -> Published:
    """Over the pairs that are computed."""
    there = [one for one in every if one.shares[place] is not None]
    share = float(np.mean([one.shares[place] for one in there])) if there else None
    models = pd.concat([one.models for one in every]).drop_duplicates([*CELL, "seed"])
    count = plural(len(there), "pair")
    pairs = f"Average over {count} of data set and metric" if there else "Average"
    population = Population(SEVEN)
    row = Published(
        what=f"{pairs} (the paper: {len(SEVEN) * len(SIX)}), by {title}",
        ours=share,
        published=published,
        place=QUESTION.place,
        n=len(models),
        why_not="" if there else "none of them is computed",
        percent=True,
        digits=0,
        published_n=population.models,
        interval=None if share is None else _interval(share, there, place),
    )
    return with_grid(row, study, models, population)
