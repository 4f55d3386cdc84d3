"""What do samples from the prior look like? Holtz et al. 2022, Figure 1, for any study.

Conventions:
- Of each data set and method the lowest, the middle and the highest strength that was trained; of
  an even number of strengths the lower of the two in the middle. Of two strengths there are both.
- Of each strength the trained model of the first seed, whatever its scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tasks.report.figures.portraits import pictures_of
from tasks.report.frames import DATA_SET, groups
from tasks.report.labels import data_label
from tasks.report.portrait import portrait
from tasks.report.questions import (
    Answer,
    Picture,
    PortraitGroup,
    Portraits,
    Question,
    Sentence,
    missing,
)
from tasks.report.results import Results
from tasks.words import method_name, strength_name

QUESTION = Question(
    "What do samples from the prior look like?",
    section="pictures",
    papers=(("holtz-2022", "Figure 1"),),
)
KIND = "samples"
ABOUT = (
    "Each picture is what a model's decoder makes of samples of the prior: the same samples, in "
    "the same places, for all models with as many latents. Of each data set and method there are "
    "the lowest, the middle and the highest strength that was trained, each with its first seed. "
    "Where samples look like pictures of the data set, the decoder knows what to make of all that "
    "the prior may draw; in Holtz et al. samples are noisy, missing or unrealistic where β does "
    "not suit the data (0.1, 10 and 100). They do not say whether latents are disentangled."
)


def answer(results: Results) -> Answer:
    chosen = {
        key: first_of_strengths(rows) for key, rows in groups(results.models, [*DATA_SET, "method"])
    }
    models = [model for of_group in chosen.values() for model in of_group]
    pictures = pictures_of(results.store, models, kinds=(KIND,)) if models else {}
    collected = []
    for (data, source, method), of_group in chosen.items():
        drawn = [model for model in of_group if pictures[str(model["model_id"])].get(KIND)]
        if drawn:
            title = data_label(data, source) + f" · {method_name(method)}"
            collected.append(_group(title, drawn, pictures, results))
    if not collected:
        return missing(
            "No pictures of samples from the prior: no model has been trained, or the table "
            "“pictures” lacks them, as in stores of older versions."
        )
    return Answer((Sentence(ABOUT), Portraits(tuple(collected))))


def first_of_strengths(models: pd.DataFrame) -> list[Mapping[Any, Any]]:
    """The first seed at the lowest, the middle and the highest strength."""
    strengths = sorted(models["strength"].unique())
    chosen = dict.fromkeys((strengths[0], strengths[(len(strengths) - 1) // 2], strengths[-1]))
    first = [models[models["strength"] == s].sort_values("seed").iloc[0] for s in chosen]
    return [row.to_dict() for row in first]


def _group(
    title: str,
    models: list[Mapping[Any, Any]],
    pictures: Mapping[str, Mapping[str, Picture | None]],
    results: Results,
) -> PortraitGroup:
    portraits = []
    for model in models:
        method = model["method"]
        heading = strength_name(method, model["strength"]) or method_name(method)
        of_model = pictures[str(model["model_id"])]
        portraits.append(portrait(heading, "", model, (), results, of_model))
    return PortraitGroup(title, tuple(portraits), columns=3)
