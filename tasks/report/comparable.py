"""Whether a study's numbers are comparable with the papers' numbers, and their common table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pandas as pd

from tasks.report.questions import (
    Answer,
    Cell,
    Heading,
    Published,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Column
from tasks.study.spec import Study
from tasks.words import number, plural

PAPERS_STEPS = 300_000  # Locatello et al. 2019, Table 4a
COMPARABLE_STEPS = 100_000  # below, models are far from what the papers trained
COMPARABLE_SOURCES = ("official", "redrawn")
MOST_OPEN_ROWS = 16


def enough_steps(study: Study) -> bool:
    return study.training.steps >= COMPARABLE_STEPS


def why_not_comparable(study: Study, models: pd.DataFrame) -> str:
    """Why numbers over these models are not comparable with the papers'; empty if they are."""
    if not enough_steps(study):
        return _too_few_steps(study)
    if not models["source"].isin(COMPARABLE_SOURCES).all():
        return "some of the pictures are not the paper's"
    return ""


def papers_data(models: pd.DataFrame) -> pd.DataFrame:
    """The models that are trained on the papers' own pictures."""
    return models[models["source"].isin(COMPARABLE_SOURCES)]


def papers_version(ranking: Column) -> tuple[str, str]:
    """The similarity and pool of Duan et al. 2020 that a ranking is. The paper's text has a
    cross-validated lasso, its code a fixed penalty: both are its lasso."""
    return ranking.name.removesuffix("_cv"), ranking.pool


def beside_the_paper(
    question: Question, about: str, rows: Iterable[Published], study: Study
) -> Answer:
    """The answer of a question that is a table of ours and the paper's numbers."""
    published = tuple(rows)
    if not published:
        return missing(
            f"The study shares no number with {question.place}: none of its data sets, methods "
            "and scores is among those of the table, or they have not been scored."
        )
    if not enough_steps(study):
        why_not = _too_few_steps(study)
        text = f"The numbers of {question.place} are not shown here: {why_not}."
        return replace(
            missing(text), published=tuple(replace(row, why_not=why_not) for row in published)
        )
    return Answer((Sentence(f"{question.place}. {about}", "note"), _table(published)), published)


def _too_few_steps(study: Study) -> str:
    return f"{plural(study.training.steps, 'training step')} are too few to compare with them"


def _table(rows: Sequence[Published]) -> Table:
    """Folded where it is long."""
    headings = (Heading("What"), Heading("Here", numeric=True), Heading("Published", numeric=True))
    cells = (Row((Cell(row.what), _ours(row), _theirs(row))) for row in rows)
    long = len(rows) > MOST_OPEN_ROWS
    summary = plural(len(rows), "number") if long else ""
    return Table(headings, tuple(cells), summary=summary, open=not long)


def _ours(row: Published) -> Cell:
    models = "" if row.n is None else f" (n = {row.n:,})"
    return Cell(_text(row, row.ours) + models, row.ours)


def _theirs(row: Published) -> Cell:
    return Cell(_text(row, row.published), row.published)


def _text(row: Published, value: float | None) -> str:
    if row.percent and value is not None:
        return f"{100 * value:.{row.digits}f}%"
    return number(value, row.digits)
