"""How much of a score does the method explain, and how much the method with its strength?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from tasks.report.comparable import beside_the_paper, papers_data
from tasks.report.frames import groups
from tasks.report.published import (
    EXPLAINED_BY_CELL,
    EXPLAINED_BY_METHOD,
    EXPLAINED_ON_AVERAGE_BY_CELL,
    EXPLAINED_ON_AVERAGE_BY_METHOD,
)
from tasks.report.questions import Answer, Published, Question
from tasks.report.results import Results
from tasks.words import data_name, plural

QUESTION = Question(
    "Variance of a score explained by the method, and by method and strength",
    section="papers",
    papers=(("locatello-2019", "Table 5"),),
)
ABOUT = "R² of least squares on the categories, over all models of a data set."
CATEGORIES = (
    ("method", ["method"], EXPLAINED_BY_METHOD, EXPLAINED_ON_AVERAGE_BY_METHOD),
    (
        "method × strength",
        ["method", "strength"],
        EXPLAINED_BY_CELL,
        EXPLAINED_ON_AVERAGE_BY_CELL,
    ),
)


def answer(results: Results) -> Answer:
    return beside_the_paper(QUESTION, ABOUT, _rows(results), results.study)


def _rows(results: Results) -> Iterator[Published]:
    for title, by, published, average in CATEGORIES:
        shares = {
            (data, metric): share
            for (data,), models in groups(papers_data(results.models), ["data"])
            for metric in results.metrics
            if (share := variance_explained(models, metric.id, by)) is not None
        }
        for (data, metric), share in shares.items():
            if (data, metric.name) in published:
                what = f"{data_name(data)}, {metric.title}, by {title}"
                yield _row(what, share, published[data, metric.name])
        of_metrics = [share for (_, m), share in shares.items() if m.kind == "disentanglement"]
        if of_metrics:
            count = plural(len(of_metrics), "pair")
            what = f"Average over {count} of data set and metric (the paper: {len(published)}), by "
            yield _row(what + title, sum(of_metrics) / len(of_metrics), average)


def _row(what: str, ours: float, published: float) -> Published:
    return Published(
        what=what,
        ours=ours,
        published=published,
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
