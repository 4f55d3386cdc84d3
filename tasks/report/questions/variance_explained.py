"""How much of a score does the method explain, and how much the method with its strength?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from tasks.report.comparable import beside_the_paper, papers_data
from tasks.report.frames import groups
from tasks.report.published import EXPLAINED_BY_CELL, EXPLAINED_BY_METHOD
from tasks.report.questions import Answer, Published, Question
from tasks.report.results import Results
from tasks.words import data_name

QUESTION = Question(
    "Variance of a score explained by the method, and by method and strength",
    section="papers",
    papers=(("locatello-2019", "Table 5"),),
)
ABOUT = "R² of least squares on the categories, over all models of a data set."
CATEGORIES = (
    ("method", ["method"], EXPLAINED_BY_METHOD),
    ("method × strength", ["method", "strength"], EXPLAINED_BY_CELL),
)


def answer(results: Results) -> Answer:
    return beside_the_paper(QUESTION, ABOUT, _rows(results), results.study)


def _rows(results: Results) -> Iterator[Published]:
    for (data,), models in groups(papers_data(results.models), ["data"]):
        for metric in results.metrics:
            for title, by, published in CATEGORIES:
                share = variance_explained(models, metric.id, by)
                if share is not None and (data, metric.name) in published:
                    yield Published(
                        what=f"{data_name(data)}, {metric.title}, by {title}",
                        ours=share,
                        published=published[data, metric.name],
                        place=QUESTION.place,
                        percent=True,
                        digits=0,
                    )


def variance_explained(models: pd.DataFrame, score: str, by: Sequence[str]) -> float | None:
    """R² of least squares on the categories; None where there is nothing to explain."""
    values = models.dropna(subset=[score])
    total = float(((values[score] - values[score].mean()) ** 2).sum())
    categories = values.groupby(list(by))[score]
    if categories.ngroups < 2 or categories.ngroups == len(values) or total == 0:
        return None
    unexplained = float(((values[score] - categories.transform("mean")) ** 2).sum())
    return 1 - unexplained / total
