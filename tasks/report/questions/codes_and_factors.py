"""How does a factor depend on the codes that matter most for it?

Eastwood and Williams 2018, Figure 5: each factor against its most important code, and a factor on a
circle against its three most important ones, for 5,000 pictures.

Conventions:
- Importance is that of the forests, which see dependences of any form; the lasso's where the store
  has no other. The paper says R, which is of both.
- The pictures are the first of the probe, which are drawn from those that models are trained on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from numpy.typing import NDArray

from infra.store import Store
from tasks.report.figures.densities import Panel, density_panels
from tasks.report.kinds import IMPORTANCE, Kind, OfData, RegressorScores, by_data
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
    "How does a factor depend on the codes that matter most for it?",
    section="kinds_of_models",
    papers=(("eastwood-2018", "Figure 5"),),
    needs_real_factors=True,
)
POINTS = 5000
OF_A_CIRCLE = 3  # codes; one angle needs two at least
ABOUT = (
    f"Up to {POINTS:,} pictures of those that models are trained on: upwards the factor, across "
    "its most important code; of a factor on a circle, such as an azimuth, the three most "
    "important ones. The stronger the colour, the more pictures. Where a line or a curve only "
    "rises or falls, the code alone tells the factor; two waves that are shifted against each "
    "other tell an angle together. Importance R is that of the forests. Each figure is of the "
    "first seed."
)
NONE = (
    "No model has both the importance of its codes (dci_forest or dci_lasso) and the factors of "
    "its representation, which stores of older versions lack."
)
Numbers = NDArray[np.float64]


def answer(results: Results) -> Answer:
    sets = by_data(results)
    scores = RegressorScores(results, sets, [IMPORTANCE])
    drawn = []
    for of_data in sets:
        if figures := tuple(_figures(of_data, scores, results)):
            drawn.append(FigureGroup(data_label(of_data.data, of_data.source), figures))
    return Answer((Sentence(ABOUT), Figures(tuple(drawn)))) if drawn else missing(NONE)


def chosen_codes(matrix: Numbers, of_data: OfData) -> list[tuple[int, int]]:
    """Factor and code of each panel: the most important code first."""
    return [
        (factor, int(code))
        for factor, name in enumerate(of_data.factors.names)
        for code in np.argsort(-matrix[:, factor], kind="stable")[
            : OF_A_CIRCLE if name in of_data.factors.periodic else 1
        ]
    ]


def read_points(store: Store, model_id: str) -> tuple[Numbers, Numbers] | None:
    """Codes and factors of the first pictures of the probe; None where either is missing."""
    rows = store.read(
        "representations", ["row", "mean", "factors"], [model_id], pc.field("row") < POINTS
    )
    if not len(rows) or rows["factors"].null_count:
        return None
    columns = (rows[name].combine_chunks().flatten() for name in ("mean", "factors"))
    codes, factors = (
        column.to_numpy(zero_copy_only=False).reshape(len(rows), -1).astype(float)
        for column in columns
    )
    return codes, factors


def _figures(of_data: OfData, scores: RegressorScores, results: Results) -> Iterator[Figure]:
    for kind in of_data.shown:
        matrix = scores.main_importance(kind.first, of_data.factors.names)
        points = read_points(results.store, str(kind.first["model_id"]))
        if matrix is not None and points is not None:
            yield _figure(of_data, kind, matrix, points, results)


def _figure(
    of_data: OfData, kind: Kind, matrix: Numbers, points: tuple[Numbers, Numbers], results: Results
) -> Figure:
    codes, factors = points
    names, places = of_data.factors.names, chosen_codes(matrix, of_data)
    panels = [
        Panel(
            codes[:, code],
            factors[:, factor],
            (float(factors[:, factor].min()), float(factors[:, factor].max())),
            f"{names[factor]} by z{code}",
            f"R = {number(float(matrix[code, factor]), 2)}",
        )
        for factor, code in places
    ]
    of_model = (of_data.data, of_data.source, kind.method, kind.strength)
    variable = results.styles[kind.method].variable
    drawing = density_panels(panels, variable, " ".join(map(str, ("codes", *of_model))))
    columns = {name: factors[:, factor] for factor, name in enumerate(names)}
    columns |= {f"z{code}": codes[:, code] for code in sorted({code for _, code in places})}
    pairs = ", ".join(f"{panel.title} ({panel.subtitle})" for panel in panels)
    return Figure(
        kind.title,
        f"Factors of {data_name(of_data.data)} against the codes of {kind.title}, seed "
        f"{kind.first['seed']}, that matter most for them: {pairs}.",
        drawing,
        pd.DataFrame(columns).astype(np.float32).round(4),
        f"seed {kind.first['seed']}, {len(codes):,} pictures",
        models=pd.Series([kind.first["model_id"]]),
        among=("model_id",),
    )
