"""Does UDR choose the same strength as the scores from labels?

Duan et al. 2020, Figure 2: the strength with the highest median over seeds is the most promising.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup

from tasks.report.frames import DATA_SET, groups
from tasks.report.intervals import of_share
from tasks.report.labels import data_label, method_label
from tasks.report.questions import (
    Answer,
    Cell,
    Heading,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Column, Results, signed_so_more_is_better
from tasks.report.spearman import ENOUGH, spearman
from tasks.words import MISSING, UDR, number, plural, ranking_name, strength_text, symbol

QUESTION = Question(
    "Do the scores choose UDR's strength?",
    section="quality",
    papers=(("duan-2020", "Figures 2 and 7"),),
)
MOST_OPEN_ROWS = 20


@dataclass(frozen=True)
class StrengthRow:
    """Chosen strengths of a data set and method, per score; several where medians are equal."""

    data: str
    source: str
    method: str
    strengths: int  # between which there is a choice
    chosen: tuple[tuple[float, ...], ...]
    agrees: tuple[bool | None, ...]  # with UDR; None where either makes no choice


@dataclass(frozen=True)
class Choices:
    """The rows, the scores of their columns, the ranking that chooses, and how often all agree."""

    rows: tuple[StrengthRow, ...]
    columns: tuple[Column, ...]
    udr: Column
    same: int
    compared: int
    by_chance: float  # how many would be the same if strengths were drawn
    seeds: int  # in the smallest cell


def answer(results: Results) -> Answer:
    choices = chosen_strengths(results.models, results.columns)
    if choices is None:
        return missing(
            "No choice to compare: it needs several strengths of a method, with UDR and scores "
            "from labels that are not all equal."
        )
    lowest = any(column.direction < 0 for column in choices.columns)
    few = choices.seeds < ENOUGH
    text = Markup(
        "A score from labels and “{}” choose the same strength of a method in <b>{} of {}</b> "
        "cases ({}); by chance it would be {}. Each chooses the strength with the best median over "
        "seeds{}."
    ).format(
        choices.udr.title,
        choices.same,
        choices.compared,
        f"{100 * choices.same / choices.compared:.0f}%",
        f"{100 * choices.by_chance / choices.compared:.0f}%",
        f"; some of these medians are of {plural(choices.seeds, 'model')} only" if few else "",
    )
    about = Markup(
        "The table has the strength that each score and each ranking without labels chooses: the "
        "one with the highest median over seeds{}. A strength is "
        '<span class="marked">marked</span> where a score from labels chooses the same as “{}”.'
    ).format(" (the lowest where less is better)" if lowest else "", choices.udr.title)
    orders = orders_of_strengths(results.models, choices.columns, choices.udr)
    findings = [Sentence(text, "finding"), *_of_orders(orders)]
    return Answer((*findings, Sentence(about), _table(choices, results)))


def orders_of_strengths(
    models: pd.DataFrame, columns: Sequence[Column], udr: Column
) -> dict[Column, list[float]]:
    """By column other than `udr`: rank correlations of its medians with those of `udr` over the
    strengths of a data set and method; of those with enough strengths and different medians."""
    others = [column for column in columns if column != udr]
    correlations: dict[Column, list[float]] = {column: [] for column in others}
    for _, rows in groups(signed_so_more_is_better(models, columns), [*DATA_SET, "method"]):
        medians = rows.groupby("strength")[[column.id for column in columns]].median()
        for column in others:
            rho = spearman(medians[udr.id], medians[column.id]).rho
            if rho is not None:
                correlations[column].append(rho)
    return {column: rhos for column, rhos in correlations.items() if rhos}


def _of_orders(orders: dict[Column, list[float]]) -> list[Sentence]:
    """Means over data sets and methods, the scores from labels and the other rankings."""
    parts = []
    by_udr = all(ranking_name(c.name) == UDR for c in orders if c.is_udr)
    others = "other versions of UDR" if by_udr else "other rankings without labels"
    for is_udr, what in ((False, "scores from labels"), (True, others)):
        rhos = [rho for c, values in orders.items() if c.is_udr == is_udr for rho in values]
        if rhos:
            agree = sum(rho > 0 for rho in rhos)
            interval = of_share(agree, len(rhos))
            parts.append(
                Markup("<b>{}</b> with the {}, above 0 in {} of {} cases{}").format(
                    number(float(np.mean(rhos)), 2),
                    what,
                    agree,
                    len(rhos),
                    f" ({interval.percent()})" if interval else "",
                )
            )
    if not parts:
        return []
    text = Markup(
        "UDR puts the strengths of a method in an order whose rank correlation is, on average, {}. "
        'The distributions behind it are on the page <a href="../questions/distributions.html">'
        "Distributions</a>."
    )
    return [Sentence(text.format(Markup("; ").join(parts)), "finding")]


def choosing(columns: Sequence[Column], models: pd.DataFrame) -> Column | None:
    """Within a cell, if there is such a ranking: for strengths the paper prefers it (section 4)."""
    rankings = [c for c in columns if c.is_udr and models[c.id].notna().any()]
    return next((c for c in rankings if c.pool == "cell"), next(iter(rankings), None))


def chosen_strengths(models: pd.DataFrame, scores: Sequence[Column]) -> Choices | None:
    """Per data set and method with several strengths; None where UDR or labels choose nothing."""
    udr = choosing(scores, models)
    columns = tuple(c for c in scores if c.direction and models[c.id].notna().any())
    if udr is None or all(column.is_udr for column in columns):
        return None
    rows, chances, seeds = [], 0.0, []
    for (data, source, method), of_method in groups(models, [*DATA_SET, "method"]):
        by_strength = signed_so_more_is_better(of_method, columns).groupby("strength")
        medians = by_strength[[column.id for column in columns]].median()
        chosen = tuple(_highest(medians[column.id]) for column in columns)
        # a score that some strengths lack is compared with UDR over the others
        both = {c: medians[[udr.id, c.id]].dropna() for c in columns if not c.is_udr}
        agrees = tuple(_agree(both[c], udr, c) if c in both else None for c in columns)
        if len(medians) > 1 and any(chosen):
            rows.append(StrengthRow(data, source, method, len(medians), chosen, agrees))
            compared = zip(columns, agrees, strict=True)
            chances += sum(1 / len(both[c]) for c, agreement in compared if agreement is not None)
            seeds.append(int(by_strength.size().min()))
    answers = [agreement for row in rows for agreement in row.agrees if agreement is not None]
    if not answers:
        return None
    return Choices(tuple(rows), columns, udr, sum(answers), len(answers), chances, min(seeds))


def _agree(medians: pd.DataFrame, udr: Column, score: Column) -> bool | None:
    by_udr, by_score = (set(_highest(medians[column.id])) for column in (udr, score))
    return bool(by_udr & by_score) if by_udr and by_score else None


def _highest(medians: pd.Series[float]) -> tuple[float, ...]:
    """Nothing where there is no choice: fewer than two medians, or all equal."""
    known = medians.dropna()
    if known.nunique() < 2:
        return ()
    return tuple(float(strength) for strength in known.index[known == known.max()])


def _table(choices: Choices, results: Results) -> Table:
    headings = (
        Heading("Data set"),
        Heading("Method"),
        *(Heading(column.title, numeric=True) for column in choices.columns),
    )
    rows = []
    for row in choices.rows:
        method = method_label(row.method, results.styles) + f", {symbol(row.method)}"
        strengths = (
            Cell(
                ", ".join(strength_text(s) for s in chosen) or MISSING,
                style="agrees" if agrees else "",
            )
            for chosen, agrees in zip(row.chosen, row.agrees, strict=True)
        )
        first = Cell(data_label(row.data, row.source)), Cell(method, row.method, style="who")
        rows.append(Row((*first, *strengths)))
    return Table(
        headings,
        tuple(rows),
        id="strength-table",
        style="tight",
        summary="Chosen strengths",
        open=len(rows) <= MOST_OPEN_ROWS,
    )
