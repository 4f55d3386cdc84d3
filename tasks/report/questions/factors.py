"""Which factors are found, and by how many latents?

Means over factors hide that some are found well and others not at all (Carbonneau et al. 2022,
section 6.3). Every number is a median over trained models.

How many latents hold a factor is read from DCI's completeness c, which is 1 minus the entropy of
the latents' importances to the base of their number L: L to the power of 1 - c latents of equal
importance have that entropy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from tasks.report.frames import CELL, DATA_SET, groups, of_factors
from tasks.report.labels import method_label
from tasks.report.questions import Answer, Cell, Heading, Question, Row, Sentence, Table, missing
from tasks.report.results import Results
from tasks.words import MISSING, data_name, metric_name, number, plural

QUESTION = Question(
    "Which factors are found, and by how many latents?",
    menu="Factors",
    papers=(("carbonneau-2022", "section 6.3"),),
    needs_factors=True,
)
ABOUT = (
    "Medians over the models. Accuracy is that of predicting the factor from all latents: a factor "
    "of three values is guessed in a third of the cases. A gap is the best latent's lead over the "
    "second. The number of latents is that of equally important ones whose importances for the "
    "factor are as spread as the model's: 1 is best."
)


@dataclass(frozen=True)
class Measure:
    """A part of a metric that has a value per factor."""

    metric: str
    part: str
    title: str


FOUND = (  # how well a factor is found; the first that a study has orders the factors
    Measure("dci", "informativeness_test", "accuracy of trees"),
    Measure("explicitness", "explicitness", "explicitness"),
    Measure("dci_forest", "informativeness_test", "informativeness, forest"),
    Measure("dci_lasso", "informativeness_test", "informativeness, lasso"),
    Measure("mig", "gap", "MIG's gap"),
    Measure("sap", "gap", "SAP's gap"),
)
SPREAD = (
    Measure("dci", "completeness", "latents that hold it"),
    Measure("dci_forest", "completeness", "latents, forest"),
    Measure("dci_lasso", "completeness", "latents, lasso"),
)
MEASURES = (*FOUND, *SPREAD)


def answer(results: Results) -> Answer:
    values = factor_values(results)
    if values.empty:
        wanted = ", ".join(dict.fromkeys(metric_name(measure.metric) for measure in MEASURES))
        return missing(f"No model has scores per factor. These metrics give some: {wanted}.")
    content: list[Sentence | Table] = []
    for (data, source), rows in groups(values, DATA_SET):
        content += [_finding(data, rows), _table(data, source, rows), *_cells(data, rows, results)]
    return Answer((Sentence(ABOUT), *content))


def factor_values(results: Results) -> pd.DataFrame:
    """Keys of the model, measure (its place in MEASURES), factor and value; latents for SPREAD."""
    wanted = [(measure.metric, measure.part) for measure in MEASURES]
    rows = of_factors(results.store, results.models, wanted)
    places = {measure: place for place, measure in enumerate(wanted)}
    rows["measure"] = [places[key] for key in zip(rows["metric"], rows["part"], strict=True)]
    rows = results.models[["model_id", "latents", *CELL]].merge(rows, on="model_id")
    spread = rows["measure"] >= len(FOUND)
    rows["value"] = rows["value"].where(~spread, rows["latents"] ** (1 - rows["value"]))
    return rows.drop(columns="latents")


def medians(rows: pd.DataFrame) -> pd.DataFrame:
    """A row per factor, a column per measure that has values; the factor found best comes first."""
    table = rows.pivot_table("value", "factor", "measure", aggfunc="median")
    best_first = table[measures(table)[0]].sort_values(ascending=False, kind="stable")
    return table.loc[best_first.index]


def measures(table: pd.DataFrame) -> list[int]:
    """The places in MEASURES of its columns."""
    return [int(str(place)) for place in table.columns]


def _finding(data: str, rows: pd.DataFrame) -> Sentence:
    table = medians(rows)
    first = measures(table)[0]
    best, *others = (
        f"{factor} {number(value, 2)}" for factor, value in table[first].dropna().items()
    )
    text = Markup("<b>{}</b>, {}: {} is found best").format(
        data_name(data), MEASURES[first].title, best
    )
    if others:
        text += Markup("; then {}").format(", ".join(others))
    spread = [measure for measure in measures(table) if measure >= len(FOUND)]
    if spread:
        latents = table[spread[0]].sort_values()
        text += Markup(". The fewest latents hold {}, {}").format(
            latents.index[0], number(float(latents.iloc[0]), 1)
        )
        if len(latents) > 1:
            text += Markup("; the most hold {}, {}").format(
                latents.index[-1], number(float(latents.iloc[-1]), 1)
            )
    return Sentence(text + ".", "finding")


def _table(data: str, source: str, rows: pd.DataFrame) -> Table:
    table = medians(rows)
    headings = (
        Heading("Factor"),
        *(Heading(MEASURES[measure].title, numeric=True) for measure in measures(table)),
    )
    return Table(
        headings,
        tuple(
            Row((Cell(str(factor)), *(_cell(value) for value in table.loc[factor])))
            for factor in table.index
        ),
        id=f"factors-{data}-{source}",
        caption=f"{data_name(data)}, {plural(rows['model_id'].nunique(), 'model')}",
        row_headings=True,
    )


def _cells(data: str, rows: pd.DataFrame, results: Results) -> Iterator[Table]:
    """Per cell: how well each factor is found, and by how many latents; folded."""
    overall = medians(rows)
    first, *others = measures(overall)
    for measure in [first, *[place for place in others if place >= len(FOUND)][:1]]:
        of_measure = rows[rows["measure"] == measure]
        lines = []
        for (method, strength), part in groups(of_measure, ["method", "strength"]):
            values = part.groupby("factor")["value"].median().reindex(overall.index)
            label = method_label(method, results.styles, strength)
            lines.append(
                Row((Cell(label, method, style="who"), *(_cell(value) for value in values)))
            )
        title = MEASURES[measure].title
        yield Table(
            (Heading("Cell"), *(Heading(str(f), numeric=True) for f in overall.index)),
            tuple(lines),
            summary=f"{data_name(data)}, {title}, per cell",
            open=False,
            row_headings=True,
        )


def _cell(value: float) -> Cell:
    return Cell(MISSING) if pd.isna(value) else Cell(number(value, 2), float(value))
