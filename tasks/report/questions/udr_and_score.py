"""Where do UDR and a supervised score disagree, and how do such models look?

Duan et al. 2020, Figure 9: UDR and DCI of the β-VAEs on dSprites, and traversals of six of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from tasks.report.figures.axes import limits
from tasks.report.figures.coloured import coloured_scatter, step_legend
from tasks.report.figures.portraits import pictures_of
from tasks.report.frames import DATA_SET, groups
from tasks.report.labels import data_label
from tasks.report.portrait import portrait
from tasks.report.questions import (
    Answer,
    Figure,
    FigureGroup,
    Figures,
    PortraitGroup,
    Portraits,
    Question,
    Sentence,
    missing,
)
from tasks.report.questions.quality import disentanglement
from tasks.report.results import Column, Results, signed_so_more_is_better
from tasks.report.spearman import spearman
from tasks.words import data_name, method_name, symbol

QUESTION = Question(
    "Where UDR and a score disagree", section="udr", papers=(("duan-2020", "Figure 9"),)
)
FIRST_CHOICE = "beta_vae"  # the paper's method
FIRST_METRIC = "dci"
HIGHER, LOWER, LOW = 3, 2, 1  # models of each kind
MODELS = HIGHER + LOWER + LOW


@dataclass(frozen=True)
class Subject:
    """The models of one data set and method that have both numbers."""

    data: str
    source: str
    method: str
    metric: Column
    models: pd.DataFrame

    @property
    def where(self) -> str:
        return f"{method_name(self.method)} on {data_name(self.data)}"


def answer(results: Results) -> Answer:
    udr = results.udr
    if udr is None:
        return missing("No UDR yet, so nothing that a score could disagree with.")
    subject = subject_of(results, udr)
    if subject is None:
        return missing(
            f"It needs {MODELS} models of one data set and method that have both UDR and a score "
            "of disentanglement."
        )
    chosen = six(subject.models, udr, subject.metric)
    ids = [model_id for _, model_id in chosen]
    title = subject.metric.title
    about = Markup(
        "{} models of {} on {}: “{}” against {}, {}. Numbers mark the models whose traversals are "
        "below: up to three that UDR ranks higher than {} does, by most ranks; two that {} ranks "
        "higher; and the one whose two ranks are lowest together."
    ).format(
        len(subject.models),
        method_name(subject.method),
        data_label(subject.data, subject.source),
        udr.title,
        title,
        spearman(subject.models[udr.id], subject.models[subject.metric.id]),
        title,
        title,
    )
    strength = symbol(subject.method)
    kinds = [("strength", f"strength {strength}")] if strength else []
    if subject.models["informative"].notna().any():
        kinds.append(("informative", "informative latents"))
    figures = tuple(_figure(subject, udr, by, name, ids) for by, name in kinds)
    drawn = Figures((FigureGroup(f"UDR against {title}, {subject.where}", figures),))
    portraits = Portraits((_group(subject, chosen, results, udr),))
    return Answer((Sentence(about), *([drawn] if figures else []), portraits))


def subject_of(results: Results, udr: Column) -> Subject | None:
    """The paper's method and metric where they are, else the first that have enough models."""
    metrics = sorted(disentanglement(results.columns), key=lambda m: m.name != FIRST_METRIC)
    subjects = [
        Subject(data, source, method, metric, both)
        for metric in metrics
        for (data, source, method), rows in groups(results.models, [*DATA_SET, "method"])
        if len(both := rows.dropna(subset=[udr.id, metric.id])) >= MODELS
    ]
    best = [s for s in subjects if s.metric == subjects[0].metric and s.method == FIRST_CHOICE]
    return next(iter([*best, *subjects]), None)


def six(models: pd.DataFrame, udr: Column, metric: Column) -> list[tuple[str, str]]:
    """Why each model is chosen, and its model_id; no model twice, equals in the models' order."""
    signed = signed_so_more_is_better(models, [metric]).set_index("model_id")
    ranks = signed[[udr.id, metric.id]].rank()
    differ, total = ranks[udr.id] - ranks[metric.id], ranks.sum(axis=1)
    chosen: list[str] = []
    for count, order in ((HIGHER, -differ), (LOWER, differ), (LOW, total)):
        chosen.extend(order.drop(chosen).sort_values(kind="stable").index[:count])
    reasons = [_ranked_higher(differ[model_id], metric) for model_id in chosen[:-LOW]]
    return list(zip([*reasons, "both rank it low"], map(str, chosen), strict=True))


def _ranked_higher(ranks: float, metric: Column) -> str:
    if ranks == 0:
        return "both rank it alike"
    return f"{'UDR' if ranks > 0 else metric.title} ranks it higher"


def _figure(subject: Subject, udr: Column, by: str, name: str, ids: Sequence[str]) -> Figure:
    models, metric = subject.models, subject.metric
    drawing = coloured_scatter(
        models,
        metric.id,
        udr.id,
        by,
        (limits(models[metric.id]), limits(models[udr.id])),
        metric.title,
        ids,
        f"disagree {subject.data} {subject.method} {by}",
    )
    places = {model_id: place for place, model_id in enumerate(ids, 1)}
    keys = ["model_id", "data", "source", "method", "strength", "seed"]
    data = models[list(dict.fromkeys([*keys, metric.id, udr.id, by]))]
    data = data.assign(number=data["model_id"].map(places))
    description = (
        f"UDR against {metric.title}, {subject.where}, a point per model, coloured by "
        f"{name}; {len(ids)} models are numbered."
    )
    legend = step_legend(models[by])
    return Figure(
        f"UDR, coloured by {name}",
        description,
        drawing,
        data,
        legend,
        models=models["model_id"],
        among=("data", "source", "method"),
    )


def _group(
    subject: Subject, chosen: Sequence[tuple[str, str]], results: Results, udr: Column
) -> PortraitGroup:
    by_id = subject.models.set_index("model_id", drop=False)
    models = [by_id.loc[model_id].to_dict() for _, model_id in chosen]
    pictures = pictures_of(results.store, models, kinds=("traversal",))
    return PortraitGroup(
        "The numbered models",
        tuple(
            portrait(
                f"{place}: {why}",
                f"Traversal of model {place}, {subject.where}",
                model,
                (udr, subject.metric),
                results,
                pictures[str(model["model_id"])],
            )
            for place, ((why, _), model) in enumerate(zip(chosen, models, strict=True), 1)
        ),
        columns=3,
    )
