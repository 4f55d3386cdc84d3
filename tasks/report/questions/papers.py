"""Are the study's numbers comparable with the papers' numbers?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tasks.report.comparable import PAPERS_STEPS, Population, members, with_grid
from tasks.report.published import (
    EASTWOOD,
    KINDS_DATA,
    KINDS_TABLES,
    METHODS,
    OTHER_TABLES,
    SEEDS,
    SEVEN,
    STRENGTHS,
    YEARS,
)
from tasks.report.questions import Answer, Published, Question, Sentence
from tasks.report.results import Results
from tasks.words import data_name, plural

QUESTION = Question("Beside the papers", menu="Beside the papers", needs_factors=True)
SECONDS_PER_YEAR = 365.25 * 24 * 3600
ABOUT = (
    "The published numbers that this report compares with, and those that it does not compute, by "
    "table; a question without an answer here has no rows. Only numbers over a whole grid of the "
    "paper are judged: as many steps, the same data, architecture and settings, all strengths, and "
    "nine of ten models. There, agreement means that the 95% interval of the difference holds 0. "
    "It follows from the intervals of both; where the paper's number allows none, it is taken to "
    "be as uncertain as ours. Of all other studies no agreement or disagreement is claimed."
)


def answer(results: Results) -> Answer:
    study = results.study
    text = (
        f"The papers train {METHODS} methods at {STRENGTHS} strengths with {SEEDS} seeds for "
        f"{PAPERS_STEPS:,} steps. This study: {plural(len(study.methods), 'method')}, "
        f"{plural(len(study.seed_list), 'seed')}, {plural(study.training.steps, 'step')}, "
        f"architecture “{' or '.join(study.values_of('architecture'))}”."
    )
    return Answer((Sentence(text), Sentence(ABOUT, "note")), tuple(_rows(results)))


def _rows(results: Results) -> Iterator[Published]:
    yield _years(results)
    for what, published, place, why in *OTHER_TABLES, *_tables_of_kinds(results):
        yield Published(
            what=what,
            ours=None,
            published=published,
            place=place,
            why_not=why,
            grid="not computed",
        )


def _tables_of_kinds(results: Results) -> Iterator[tuple[str, None, str, str]]:
    """Those that questions compare with in a study of the paper's pictures, for any other."""
    if all(choice.name != KINDS_DATA for choice in results.study.data):
        for table, what in KINDS_TABLES:
            yield what, None, f"{EASTWOOD}, Table {table}", f"no models on {data_name(KINDS_DATA)}"


def _years(results: Results) -> Published:
    """The time of all trainings. It is of other machines, so that it is never comparable."""
    population = Population(SEVEN)
    models = members(results.models, population)
    years, place = YEARS
    row = Published(
        what="Years of training, there on one GPU (NVIDIA P100), here on what the study ran on",
        ours=float(models["seconds"].sum()) / SECONDS_PER_YEAR if len(models) else None,
        published=years,
        place=place,
        n=len(models),
        why_not="no models of the paper's data sets and methods",
        digits=4,
        published_n=population.models,
    )
    row = with_grid(row, results.study, models, population)
    if row.why_not:
        return row
    return replace(row, grid="other settings", why_not="other machines")
