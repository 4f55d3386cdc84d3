"""How does each version of UDR agree with MIG?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tasks.report.comparable import beside_the_paper, papers_data, papers_version
from tasks.report.published import CLASSES, UDR_WITH_MIG
from tasks.report.questions import Answer, Published, Question
from tasks.report.results import Results
from tasks.report.spearman import spearman
from tasks.words import data_name, method_name, udr_name

QUESTION = Question(
    "Rank correlation of UDR and MIG", section="papers", papers=(("duan-2020", "Table 1"),)
)
ABOUT = (
    "Spearman's ρ over the models of a method; the paper has up to 300. Both of our DIP-VAEs are "
    "compared with its DIP-VAE, and both the cross-validated penalty of its text and the fixed one "
    "of its code with its lasso."
)


def answer(results: Results) -> Answer:
    return beside_the_paper(QUESTION, ABOUT, _rows(results), results.study)


def _rows(results: Results) -> Iterator[Published]:
    models = papers_data(results.models)
    mig = next((metric for metric in results.metrics if metric.name == "mig"), None)
    if mig is None:
        return
    for (data, family, similarity, pool), published in UDR_WITH_MIG.items():
        rankings = [r for r in results.rankings if papers_version(r) == (similarity, pool)]
        for method, ranking in product(CLASSES[family], rankings):
            rows = models[(models["data"] == data) & (models["method"] == method)]
            agreement = spearman(rows[ranking.id], rows[mig.id])
            if agreement.rho is not None:
                title = udr_name(pool, ranking.name, alone=False)
                yield Published(
                    what=f"{data_name(data)}, {method_name(method)}, {title}",
                    ours=agreement.rho,
                    published=published,
                    place=QUESTION.place,
                    n=agreement.n,
                )
