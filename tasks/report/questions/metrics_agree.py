"""Do the metrics agree?"""

from __future__ import annotations

from collections.abc import Iterator

from tasks.report.comparable import (
    Population,
    by_source,
    members,
    not_computed,
    with_grid,
    with_rho,
)
from tasks.report.intervals import of_rank_correlation
from tasks.report.ours_and_theirs import beside_the_paper
from tasks.report.published import METRICS_AGREE, METRICS_DATA
from tasks.report.questions import Answer, Published, Question
from tasks.report.results import Results
from tasks.report.spearman import spearman
from tasks.words import metric_name

QUESTION = Question(
    "Rank correlation of metrics on Noisy-dSprites",
    section="papers",
    papers=(("locatello-2019", "Figure 2"),),
)
ABOUT = "Spearman's ρ over all models, with intervals after Bonett and Wright."
POPULATION = Population((METRICS_DATA,))


def answer(results: Results) -> Answer:
    return beside_the_paper(ABOUT, _rows(results))


def _rows(results: Results) -> Iterator[Published]:
    metrics = {metric.name: metric for metric in results.metrics}
    for label, models in by_source(members(results.models, POPULATION), METRICS_DATA):
        for (one, other), published in METRICS_AGREE.items():
            what = f"{label}, {metric_name(one)} and {metric_name(other)}"
            row = Published(
                what=what,
                ours=None,
                published=published,
                place=QUESTION.place,
                why_not=not_computed(METRICS_DATA, one, other),
                published_n=POPULATION.models,
                published_interval=of_rank_correlation(published, POPULATION.models),
            )
            scored = models.iloc[:0]
            if one in metrics and other in metrics:
                ids = [metrics[one].id, metrics[other].id]
                scored = models.dropna(subset=ids)
                row = with_rho(row, spearman(scored[ids[0]], scored[ids[1]]))
            yield with_grid(row, results.study, scored, POPULATION)
