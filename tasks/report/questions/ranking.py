"""Which models are the best without labels?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from tasks.best import best_first
from tasks.report.every_model import model_link
from tasks.report.frames import DATA_SET, groups
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
from tasks.report.results import Column, Results
from tasks.words import MISSING, number, plural, strength_name

QUESTION = Question("The ranking", menu="Ranking")
FIRST, LAST = 10, 3  # of each data set
MOST_OPEN = 3  # data sets


@dataclass(frozen=True)
class RankedModel:
    """One row of the ranking."""

    place: int
    model_id: str
    method: str
    strength: float
    latents: int
    seed: int
    informative: int | None
    collapsed: bool
    scores: tuple[float | None, ...]


@dataclass(frozen=True)
class Ranking:
    """The models of a data set: all of them, or the first and the last."""

    data: str
    source: str
    columns: tuple[Column, ...]
    models: tuple[RankedModel, ...]
    all: int


def answer(results: Results) -> Answer:
    if results.udr is None:
        return missing("No ranking yet: there is no UDR.")
    text = Markup(
        "Models best first by “{}”, which needs no labels. A model with few informative latents "
        "may score high, since UDR does not ask how many factors were found. All models are in the "
        "table <code>ranks</code>."
    )
    every = rankings(results.models, results.columns, results.udr)
    tables = (
        _table(ranking, results, opened=len(every) <= MOST_OPEN or place == 0)
        for place, ranking in enumerate(every)
    )
    return Answer((Sentence(text.format(results.udr.title)), *tables))


def rankings(models: pd.DataFrame, columns: Sequence[Column], udr: Column) -> list[Ranking]:
    """Per data set, by the main ranking."""
    per_data_set = []
    for (data, source), rows in groups(models.dropna(subset=[udr.id]), DATA_SET):
        others = (c for c in columns if c is not udr and rows[c.id].notna().any())
        shown = (udr, *sorted(others, key=lambda column: not column.is_udr))
        ordered = list(enumerate(best_first(rows.to_dict("records"), udr.id), 1))
        if len(ordered) > FIRST + LAST:
            ordered = [*ordered[:FIRST], *ordered[-LAST:]]
        ranked = tuple(
            RankedModel(
                place=place,
                model_id=str(row["model_id"]),
                method=str(row["method"]),
                strength=float(row["strength"]),
                latents=int(row["latents"]),
                seed=int(row["seed"]),
                informative=None if pd.isna(row["informative"]) else int(row["informative"]),
                collapsed=bool(row["collapsed"]),
                scores=tuple(_known(row[column.id]) for column in shown),
            )
            for place, row in ordered
        )
        per_data_set.append(Ranking(data, source, shown, ranked, len(rows)))
    return per_data_set


def _keys(ranking: Ranking, model: RankedModel) -> dict[str, str | float]:
    return {
        "data": ranking.data,
        "source": ranking.source,
        "method": model.method,
        "strength": model.strength,
        "model_id": model.model_id,
    }


def _known(value: float) -> float | None:
    return None if pd.isna(value) else float(value)


def _table(ranking: Ranking, results: Results, opened: bool) -> Table:
    models = plural(ranking.all, "ranked model")
    caption = models
    if len(ranking.models) < ranking.all:
        caption = f"The first and the last of {models}"
    first, *others = (Heading(column.title, numeric=True) for column in ranking.columns)
    headings = (
        Heading("Place", numeric=True),
        Heading("model_id", style="pin"),
        Heading("Method"),
        Heading("Strength"),
        Heading("Seed", numeric=True),
        first,
        Heading("Informative latents", numeric=True),
        *others,
    )
    return Table(
        headings,
        tuple(_rows(ranking, results)),
        style="tight",
        caption=caption,
        summary=data_label(ranking.data, ranking.source),
        open=opened,
    )


def _rows(ranking: Ranking, results: Results) -> Iterator[Row]:
    before = 0
    for model in ranking.models:
        if model.place > before + 1:
            yield Row(across=f"{plural(model.place - before - 1, 'model')} between")
        before = model.place
        latents = MISSING
        if model.informative is not None:
            latents = f"{model.informative} of {model.latents}"
        latents += ", collapsed" if model.collapsed else ""
        strength = strength_name(model.method, model.strength)
        udr, *scores = model.scores
        yield Row(
            (
                Cell(str(model.place), model.place),
                Cell(model_link(_keys(ranking, model)), model.model_id, style="pin"),
                Cell(method_label(model.method, results.styles), model.method, style="who"),
                Cell(strength or MISSING, model.strength if strength else None),
                Cell(str(model.seed), model.seed),
                Cell(Markup("<b>{}</b>").format(number(udr)), udr),
                Cell(latents, model.informative),
                *(Cell(number(score), score) for score in scores),
            )
        )
