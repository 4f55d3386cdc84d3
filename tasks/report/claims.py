"""What a paper says in words, what this study finds of it, and whether the two are comparable.

As of numbers, only of a whole grid of the paper is said whether it holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from tasks.report.comparable import PapersModels, Population, grid_of
from tasks.report.published import SEVEN
from tasks.report.questions import Cell, Heading, Row, Table
from tasks.study.spec import Study

HOLDS, FAILS = "holds here, too", "does not hold here"
NO_MEASURE = "in words only, so no verdict"
ALL = Population(SEVEN)


@dataclass(frozen=True)
class Claim:
    text: str
    place: str  # in the paper
    finding: str  # empty: nothing here bears on it
    holds: bool | None  # None: the claim has no measure
    models: pd.DataFrame  # behind the finding
    population: PapersModels = ALL  # behind the claim


def claims_table(
    claims: Iterable[Claim], study: Study, paper: str = "Locatello et al. 2019"
) -> list[Table]:
    """One table, or none where the study has nothing that bears on a claim."""
    rows = tuple(_row(claim, study) for claim in claims if claim.finding)
    if not rows:
        return []
    headings = (
        Heading(paper, style="wrap"),
        Heading("Here", style="wrap"),
        Heading("Comparable", style="wrap"),
    )
    return [Table(headings, rows, style="tight", row_headings=True, summary="What the paper says")]


def _row(claim: Claim, study: Study) -> Row:
    return Row(
        (
            Cell(claim.text, below=(claim.place,), style="wrap"),
            Cell(claim.finding, style="wrap"),
            Cell(verdict(claim, study), style="wrap"),
        )
    )


def verdict(claim: Claim, study: Study) -> str:
    _, why_not = grid_of(study, claim.models, claim.population)
    if why_not:
        return f"not comparable: {why_not}"
    if claim.holds is None:
        return NO_MEASURE
    return HOLDS if claim.holds else FAILS
