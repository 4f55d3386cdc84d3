"""What does each code change? Eastwood and Williams 2018, Figure 6: traversals ordered by factor.

Conventions:
- A code's factor is the one for which it is most important. Codes stand in the order of the
  factors, those of a factor by falling importance.
- A code that has less than a twentieth of all importance for its factor captures none. Such codes
  come last and are greyed.
- Importance is that of the forests; the lasso's where the store has no other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from tasks.report.figures.portraits import pictures_of
from tasks.report.kinds import IMPORTANCE, Kind, OfData, RegressorScores, by_data
from tasks.report.labels import data_label
from tasks.report.portrait import portrait
from tasks.report.questions import (
    Answer,
    Portrait,
    PortraitGroup,
    Portraits,
    Question,
    Sentence,
    missing,
)
from tasks.report.results import Results
from tasks.words import data_name

QUESTION = Question(
    "What does each code change?",
    section="kinds_of_models",
    papers=(("eastwood-2018", "Figure 6"),),
    needs_real_factors=True,
)
LEAST = 0.05  # of all importance for a factor
KIND = "traversal"
ABOUT = (
    "Each row moves one code over its range and leaves the others. Rows are ordered by the factor "
    "for which the forests find the code most important, and by how important it is; the factor is "
    "named. Codes with less than a twentieth of the importance for any factor are last and greyed. "
    "In a disentangled model a row changes what its factor says, and nothing else. The models are "
    "those of the first seed."
)
NONE = (
    "No model has both a traversal and the importance of its codes for each factor (dci_forest or "
    "dci_lasso)."
)


def answer(results: Results) -> Answer:
    sets = by_data(results)
    scores = RegressorScores(results, sets, [IMPORTANCE])
    collected = []
    for of_data in sets:
        if portraits := _portraits(of_data, scores, results):
            title = Markup("{} · codes by factor").format(data_label(of_data.data, of_data.source))
            collected.append(PortraitGroup(title, tuple(portraits)))
    if not collected:
        return missing(NONE)
    return Answer((Sentence(ABOUT), Portraits(tuple(collected))))


def captured(matrix: NDArray[np.float64]) -> list[tuple[int, int | None]]:
    """Of R (latents, factors): every latent in the order of the rows, and its factor or none."""
    sums = matrix.sum(axis=0)
    shares = np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)
    factor = matrix.argmax(axis=1)
    latents = range(len(matrix))
    captures = [shares[latent, factor[latent]] >= LEAST for latent in latents]

    def place(latent: int) -> tuple[bool, int, float]:
        if not captures[latent]:
            return True, 0, 0.0
        return False, int(factor[latent]), -float(matrix[latent, factor[latent]])

    return [(i, int(factor[i]) if captures[i] else None) for i in sorted(latents, key=place)]


def _portraits(of_data: OfData, scores: RegressorScores, results: Results) -> list[Portrait]:
    names = of_data.factors.names
    rows: dict[Kind, Sequence[tuple[int, int | None]]] = {}
    for kind in of_data.shown:
        if (matrix := scores.main_importance(kind.first, names)) is not None:
            rows[kind] = captured(matrix)
    orders = {
        str(kind.first["model_id"]): [i for i, _ in of_kind] for kind, of_kind in rows.items()
    }
    models = [kind.first for kind in rows]
    pictures = pictures_of(results.store, models, kinds=(KIND,), orders=orders) if rows else {}
    return [
        portrait(
            kind.title,
            f"Codes of {kind.title} on {data_name(of_data.data)}: a row per code, by factor",
            kind.first,
            (),
            results,
            pictures[str(kind.first["model_id"])],
            order="by the factor that they capture",
            captured={i: names[factor] for i, factor in of_kind if factor is not None},
        )
        for kind, of_kind in rows.items()
        if pictures[str(kind.first["model_id"])].get(KIND)
    ]
