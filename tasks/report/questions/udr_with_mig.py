"""How does each version of UDR agree with MIG?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pandas as pd

from tasks.report.comparable import (
    by_source,
    members,
    not_computed,
    papers_version,
    population_of,
    with_grid,
    with_rho,
)
from tasks.report.intervals import of_rank_correlation
from tasks.report.ours_and_theirs import beside_the_paper
from tasks.report.published import CLASSES, UDR_WITH_MIG
from tasks.report.questions import Answer, Published, Question
from tasks.report.results import Column, Results
from tasks.report.spearman import spearman
from tasks.words import method_name, udr_name

QUESTION = Question(
    "Rank correlation of UDR and MIG", section="papers", papers=(("duan-2020", "Table 1"),)
)
ABOUT = (
    "Spearman's ρ over the models of a method, with intervals after Bonett and Wright; the paper "
    "has 300, and 60 where models of all strengths are compared. Both of our DIP-VAEs are "
    "compared with its DIP-VAE, and both the cross-validated penalty of its text and the fixed one "
    "of its code with its lasso."
)


def answer(results: Results) -> Answer:
    return beside_the_paper(ABOUT, _rows(results))


def _rows(results: Results) -> Iterator[Published]:
    mig = next((metric for metric in results.metrics if metric.name == "mig"), None)
    for (data, family, similarity, pool), published in UDR_WITH_MIG.items():
        rankings: list[Column | None] = [
            ranking for ranking in results.rankings if papers_version(ranking) == (similarity, pool)
        ]
        for method, ranking in product(CLASSES[family], rankings or [None]):
            population = population_of(pool, (data,), (method,))
            version = udr_name(pool, ranking.name if ranking else similarity, alone=False)
            for label, rows in by_source(members(results.models, population), data):
                row = Published(
                    what=f"{label}, {method_name(method)}, {version}",
                    ours=None,
                    published=published,
                    place=QUESTION.place,
                    why_not=_why_not(method, version, rows, mig, ranking),
                    published_n=population.models,
                    published_interval=of_rank_correlation(published, population.models),
                )
                if mig and ranking:
                    rows = rows.dropna(subset=[ranking.id, mig.id])
                    row = with_rho(row, spearman(rows[ranking.id], rows[mig.id]))
                yield with_grid(row, results.study, rows, population)


def _why_not(
    method: str, version: str, models: pd.DataFrame, mig: Column | None, ranking: Column | None
) -> str:
    """Why there is no correlation."""
    if models.empty:
        return f"no models of {method_name(method)}"
    if mig is None:
        return not_computed(str(models["data"].iloc[0]), "mig")
    return "no model has both" if ranking else f"no {version}"
