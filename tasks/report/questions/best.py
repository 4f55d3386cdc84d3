"""Which strength and which model are best, without labels?

Duan et al. 2020, section 4: strengths are compared within their cells, models within their method.
The interval of a median is of order statistics, exact for independent numbers. The UDRs of a cell
share comparisons, so it is a guide.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from models import METHODS
from tasks.best import best_first
from tasks.report.doubts import doubts_about_training, low_text
from tasks.report.every_model import model_link
from tasks.report.frames import DATA_SET, groups
from tasks.report.labels import data_label, method_label
from tasks.report.questions import Answer, Question, Sentence, missing
from tasks.report.questions.strengths import choosing
from tasks.report.results import Column, Results
from tasks.study.axes import method_of
from tasks.words import method_name, number, plural, ranking_name, strength_name, symbol

QUESTION = Question(
    "Which strength, which model?", menu="Which is best?", papers=(("duan-2020", "section 4"),)
)
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Median:
    """The median UDR of a strength and its interval; `exact` where that has the confidence, else it
    is from the lowest to the highest."""

    strength: float
    models: int
    median: float
    low: float
    high: float
    exact: bool


@dataclass(frozen=True)
class BestModel:
    model_id: str
    strength: float
    seed: int
    udr: float
    informative: int | None
    kl: float | None  # in nats, over all latents; None without a posterior


@dataclass(frozen=True)
class BestOfMethod:
    """The strengths of a method on a data set, best first, and its best model."""

    data: str
    source: str
    method: str
    strengths: tuple[Median, ...]
    model: BestModel | None
    strengths_by: str  # the similarity of the ranking that chooses the strength
    model_by: str  # and of that which chooses the model

    @property
    def comparable(self) -> tuple[Median, ...]:
        """The strengths with the two models at least that a choice needs."""
        return tuple(median for median in self.strengths if median.models > 1)


def answer(results: Results) -> Answer:
    by = choosing(results.columns, results.models)
    if by is None or results.udr is None:
        return missing("No answer yet: it needs UDR, and so two models that can be compared.")
    every = best_of_methods(results.models, by, results.udr)
    about = Markup(
        "By {}, which needs no labels: the strength with the highest median over seeds by “{}”, "
        "and the model with the highest value by “{}”. See what a model has learned with "
        "<code>{}</code> before you trust it."
    ).format(ranking_name(by.name), by.title, results.udr.title, _show(every, results))
    sentences = [Sentence(about), *(Sentence(_text(row, results), "finding") for row in every)]
    if any(len(row.comparable) > 1 for row in every):
        sentences.append(Sentence(_about_intervals(every), "note"))
    sentences += (Sentence(text, "note") for text in _about_methods(every))
    if results.models["method"].nunique() > 1:
        sentences += _among_methods(results)
    return Answer(tuple(sentences))


def _about_methods(every: Sequence[BestOfMethod]) -> Iterator[str]:
    """What UDR means of methods without a KL or without training steps."""
    names = dict.fromkeys(method_of(row.method) for row in every)
    known = {method_name(name): METHODS[name] for name in names if name in METHODS}
    if no_kl := [title for title, facts in known.items() if not facts.has_posterior]:
        yield (
            f"Methods without a posterior ({', '.join(no_kl)}) have no KL: UDR takes all of their "
            "latents as informative."
        )
    for title, facts in known.items():
        if not facts.has_steps:
            yield (
                f"{title} is fitted at once: its seeds hardly differ, so that its UDR is high "
                "whatever its latents are."
            )


def _show(every: Sequence[BestOfMethod], results: Results) -> str:
    """The command that shows the first of the best models."""
    model_id = next((row.model.model_id for row in every if row.model), "ID")
    return f"tolstoy show {model_id} --gif --store {shlex.quote(str(results.store))}"


def _among_methods(results: Results) -> list[Sentence]:
    """The best model of each data set, if models of all methods were compared."""
    rankings = (c for c in results.rankings if c.pool == "data")
    ranking = next((c for c in rankings if results.models[c.id].notna().any()), None)
    if ranking is None:
        text = (
            "Models of different methods were not compared with each other. To choose among "
            "methods, add the pool data (udr.pools)."
        )
        return [Sentence(text, "note")]
    sentences = []
    for (data, source), rows in groups(results.models.dropna(subset=[ranking.id]), DATA_SET):
        row = best_first(rows.to_dict("records"), ranking.id)[0]
        text = Markup("{}, all methods: the best model by “{}” is {} ({}): {} {}{}.")
        who = method_label(row["method"], results.styles, row["strength"])
        label = data_label(data, source)
        udr = float(row[ranking.id])
        value = ranking_name(ranking.name), number(udr), low_text(udr, ranking.name)
        text = text.format(label, ranking.title, model_link(row), who, *value)
        sentences.append(Sentence(text, "finding"))
    return sentences


def best_of_methods(models: pd.DataFrame, by: Column, udr: Column) -> list[BestOfMethod]:
    """Per data set and method that has any UDR: strengths by one ranking, the model by another."""
    every = []
    for (data, source, method), rows in groups(models, [*DATA_SET, "method"]):
        medians = [
            median_of(float(strength), of_strength[by.id])
            for (strength,), of_strength in groups(rows.dropna(subset=[by.id]), ["strength"])
        ]
        medians.sort(key=lambda one: (-one.median, one.strength))
        ranked = best_first(rows.dropna(subset=[udr.id]).to_dict("records"), udr.id)
        if medians or ranked:
            model = _model(ranked[0], udr) if ranked else None
            rankings = by.name, udr.name
            every.append(BestOfMethod(data, source, method, tuple(medians), model, *rankings))
    return every


def _model(row: Mapping[Any, Any], udr: Column) -> BestModel:
    informative, kl = row["informative"], row["kl"]
    return BestModel(
        model_id=str(row["model_id"]),
        strength=float(row["strength"]),
        seed=int(row["seed"]),
        udr=float(row[udr.id]),
        informative=None if pd.isna(informative) else int(informative),
        kl=None if pd.isna(kl) else float(kl),
    )


def median_of(strength: float, values: pd.Series[float]) -> Median:
    """The k-th lowest and highest value enclose the median of the distribution with a probability
    of 1 - 2 P(fewer than k of n are below it)."""
    ordered = np.sort(values.to_numpy(dtype=float)).tolist()
    n, k, below = len(ordered), 0, 0.0
    while 2 * (below + math.comb(n, k) / 2**n) <= 1 - CONFIDENCE:
        below += math.comb(n, k) / 2**n
        k += 1
    place = max(k, 1) - 1
    return Median(
        strength, n, float(np.median(ordered)), ordered[place], ordered[n - 1 - place], k > 0
    )


def _text(row: BestOfMethod, results: Results) -> Markup:
    """Of a method: its best strength, and its best model."""
    who = method_label(row.method, results.styles)
    what = Markup("{}, {}: {}").format(data_label(row.data, row.source), who, _strength_text(row))
    if row.model is None:
        return what
    text = what + Markup(" ") + _model_text(row, row.model)
    reasons = doubts_about_training(results.study, row.data, row.method, row.model.kl)
    return text + (f" Doubtful: {'; '.join(reasons)}." if reasons else "")


def _strength_text(row: BestOfMethod) -> str:
    if not symbol(row.method):
        return "the method has no strength."
    if not row.strengths:
        return "no strength has two models to compare."
    if len(row.strengths) == 1:
        name = ranking_name(row.strengths_by)
        return f"{_equation(row, row.strengths[0])} is the only strength with {name}."
    if not row.comparable:
        return "no choice of a strength: one model of each is no ground for a choice."
    best, *others = row.comparable
    if not others:
        return f"{_equation(row, best)} is the only strength with two models to compare."
    second = others[0]
    if best.median == second.median:
        return f"no choice, as several strengths have the highest median, {number(best.median)}."
    ranges = "intervals" if best.exact and second.exact else "ranges"
    overlap = f"; the {ranges} overlap" if second.high >= best.low else ""
    text = Markup("choose <b>{}</b>, with a median {} of {}{}; the next, {}, has {}{}.")
    value = _median_text(best), low_text(best.median, row.strengths_by)
    chosen = _equation(row, best), ranking_name(row.strengths_by), *value
    return text.format(*chosen, _equation(row, second), _median_text(second), overlap)


def _equation(row: BestOfMethod, of: Median | BestModel) -> str:
    return strength_name(row.method, of.strength).replace(" ", "\N{NO-BREAK SPACE}")


def _median_text(of: Median) -> str:
    extremes = "" if of.exact else ", lowest to highest"
    return f"{number(of.median)} ({number(of.low)} to {number(of.high)}{extremes})"


def _model_text(row: BestOfMethod, model: BestModel) -> Markup:
    latents = model.informative
    also = "" if latents is None else f", {plural(latents, 'informative latent')}"
    keys = {"data": row.data, "source": row.source, "method": row.method}
    link = model_link({**keys, "strength": model.strength, "model_id": model.model_id})
    which = ", ".join(filter(None, (_equation(row, model), f"seed {model.seed}")))
    value = ranking_name(row.model_by), number(model.udr), low_text(model.udr, row.model_by)
    text = Markup("The best model is {} ({}): {} {}{}{}.")
    return text.format(link, which, *value, also)


def _about_intervals(every: Sequence[BestOfMethod]) -> str:
    medians = [median for row in every for median in row.comparable]
    interval = f"{100 * CONFIDENCE:.0f}% interval of the median"
    extremes = "the lowest and the highest value"
    if all(median.exact for median in medians):
        brackets = f"the {interval}"
    elif any(median.exact for median in medians):
        brackets = f"the {interval}, or {extremes} of fewer than six models"
    else:
        brackets = f"{extremes}, as fewer than six models give no {interval}"
    return (
        f"In brackets: {brackets}. The models of a ranking share comparisons, so that intervals "
        "are a guide; where two overlap, more seeds may change the choice."
    )
