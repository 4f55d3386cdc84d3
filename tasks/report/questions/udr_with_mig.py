"""How does each version of UDR agree with MIG?"""

from __future__ import annotations

from collections.abc import Iterator

from tasks.report.comparable import beside_the_paper, papers_data
from tasks.report.published import UDR_WITH_MIG
from tasks.report.questions import Answer, Published, Question
from tasks.report.results import Results
from tasks.report.spearman import spearman
from tasks.words import data_name, method_name, udr_name

QUESTION = Question(
    "Rank correlation of UDR and MIG", section="papers", papers=(("duan-2020", "Table 1"),)
)
ABOUT = "Spearman's ρ over the models of a method; the paper has up to 300."


def answer(results: Results) -> Answer:
    return beside_the_paper(QUESTION, ABOUT, _rows(results), results.study)


def _rows(results: Results) -> Iterator[Published]:
    models = papers_data(results.models)
    mig = next((metric for metric in results.metrics if metric.name == "mig"), None)
    rankings = {(ranking.name, ranking.pool): ranking for ranking in results.rankings}
    for (data, method, similarity, pool), published in UDR_WITH_MIG.items():
        ranking = rankings.get((similarity, pool))
        if ranking is None or mig is None:
            continue
        rows = models[(models["data"] == data) & (models["method"] == method)]
        agreement = spearman(rows[ranking.id], rows[mig.id])
        if agreement.rho is not None:
            title = udr_name(pool, similarity, alone=False)
            yield Published(
                what=f"{data_name(data)}, {method_name(method)}, {title}",
                ours=agreement.rho,
                published=published,
                place=QUESTION.place,
                n=agreement.n,
            )
