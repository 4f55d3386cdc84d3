"""Do the metrics agree?"""

from __future__ import annotations

from collections.abc import Iterator

from tasks.report.comparable import beside_the_paper, papers_data
from tasks.report.published import METRICS_AGREE, METRICS_DATA
from tasks.report.questions import Answer, Published, Question
from tasks.report.results import Results
from tasks.report.spearman import spearman

QUESTION = Question(
    "Rank correlation of metrics on Noisy-dSprites",
    section="papers",
    papers=(("locatello-2019", "Figure 2"),),
)
ABOUT = "Spearman's ρ over all models."


def answer(results: Results) -> Answer:
    return beside_the_paper(QUESTION, ABOUT, _rows(results), results.study)


def _rows(results: Results) -> Iterator[Published]:
    models = papers_data(results.models)
    models = models[models["data"] == METRICS_DATA]
    metrics = {metric.name: metric for metric in results.metrics}
    for (one, other), published in METRICS_AGREE.items():
        if one in metrics and other in metrics:
            agreement = spearman(models[metrics[one].id], models[metrics[other].id])
            if agreement.rho is not None:
                yield Published(
                    what=f"{metrics[one].title} and {metrics[other].title}",
                    ours=agreement.rho,
                    published=published,
                    place=QUESTION.place,
                    n=agreement.n,
                )
