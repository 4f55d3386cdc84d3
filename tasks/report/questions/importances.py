"""Which code matters for which factor? Hinton diagrams, Eastwood and Williams 2018, Figure 3."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from markupsafe import Markup

from tasks.report.figures.hinton import hinton_diagram
from tasks.report.frames import CELL
from tasks.report.kinds import IMPORTANCE, REGRESSORS, Kind, OfData, RegressorScores, by_data
from tasks.report.labels import data_label
from tasks.report.questions import (
    Answer,
    Figure,
    FigureGroup,
    Figures,
    Question,
    Sentence,
    missing,
)
from tasks.report.results import Results
from tasks.words import data_name, number

QUESTION = Question(
    "Which code matters for which factor?",
    section="kinds_of_models",
    papers=(("eastwood-2018", "Figure 3"),),
    needs_real_factors=True,
)
ABOUT = (
    "A row is a code, a column a factor, and the side of a square is how much the code matters for "
    "predicting the factor: the size of its coefficient in the lasso, or its share of the fall in "
    "squared error in the forest. A disentangled code has one large square in its row, and a factor"
    " that is captured completely has one in its column; a row without squares is a dead code. Each"
    " diagram is of the first seed; those of a regressor have one scale. The order of codes says "
    "nothing."
)
NONE = (
    "No model has the importance of each code for each factor: the scores lack the parts "
    f"“{IMPORTANCE} N” of dci_lasso and dci_forest, as in stores of older versions."
)
MODEL = ["model_id", *CELL, "seed"]


def answer(results: Results) -> Answer:
    sets = by_data(results)
    scores = RegressorScores(results, sets, [IMPORTANCE])
    drawn = []
    for of_data in sets:
        for regressor, word in REGRESSORS.items():
            if figures := tuple(_figures(of_data, scores, regressor, word)):
                title = Markup("{} · {}").format(data_label(of_data.data, of_data.source), word)
                drawn.append(FigureGroup(title, figures))
    return Answer((Sentence(ABOUT), Figures(tuple(drawn)))) if drawn else missing(NONE)


def importances(
    of_data: OfData, kind: Kind, scores: RegressorScores, regressor: str
) -> pd.DataFrame:
    """R of a kind's first seed: a row per code, a column per factor; empty where there is none."""
    names = list(of_data.factors.names)
    matrix = scores.importance(kind.first, regressor, names)
    return pd.DataFrame() if matrix is None else pd.DataFrame(matrix, columns=names)


def _figures(
    of_data: OfData, scores: RegressorScores, regressor: str, word: str
) -> Iterator[Figure]:
    tables = {
        kind: table
        for kind in of_data.shown
        if not (table := importances(of_data, kind, scores, regressor)).empty
    }
    largest = max((float(table.to_numpy().max()) for table in tables.values()), default=0.0)
    for kind, table in tables.items():
        yield _figure(of_data, kind, table, largest, regressor, word)


def _figure(
    of_data: OfData, kind: Kind, table: pd.DataFrame, largest: float, regressor: str, word: str
) -> Figure:
    codes = [f"z{latent}" for latent in table.index]
    of_model = (of_data.data, of_data.source, kind.method, kind.strength)
    drawing = hinton_diagram(
        codes,
        list(table.columns),
        table.to_numpy(float),
        largest,
        " ".join(map(str, ("importance", *of_model, regressor))),
    )
    numbers = table.assign(code=codes, **{name: kind.first[name] for name in MODEL})
    matter = "; ".join(
        f"{factor}: {codes[int(table[factor].argmax())]}" for factor in table.columns
    )
    return Figure(
        kind.title,
        f"Importance of the codes of {kind.title}, seed {kind.first['seed']}, for each factor of "
        f"{data_name(of_data.data)}, by {word}. Most important for {matter}.",
        drawing,
        numbers[[*MODEL, "code", *table.columns]],
        f"a full square is {number(largest, 2)}",
        among=("model_id",),
    )
