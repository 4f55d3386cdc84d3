"""How many latents does a model switch off?"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from tasks.report.comparable import why_not_comparable
from tasks.report.frames import groups
from tasks.report.labels import method_label
from tasks.report.published import SWITCHED_OFF
from tasks.report.questions import (
    Answer,
    Cell,
    Heading,
    Published,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Results
from tasks.words import number, plural, strength_text

QUESTION = Question(
    "Uninformative latents", section="quality", papers=(("duan-2020", "appendix A.10"),)
)


@dataclass(frozen=True)
class SwitchedOff:
    """Uninformative latents per model, over the models of a method or of all."""

    method: str  # empty: all methods
    mean: float
    deviation: float | None
    models: int

    @property
    def text(self) -> str:
        deviation = "" if self.deviation is None else f" ± {number(self.deviation, 2)}"
        return number(self.mean, 2) + deviation


def answer(results: Results) -> Answer:
    study = results.study
    off = switched_off(results.models, study.latents)
    if not off:
        return missing("No model has been compared yet, so its informative latents are not known.")
    why_not = why_not_comparable(study, results.models)
    mean, deviation = SWITCHED_OFF
    paper = (
        f"In {QUESTION.place}: {number(mean, 2)} ± {number(deviation, 2)} of 10 "
        "over the methods that switch latents off."
    )
    text = Markup(
        "Latents with a KL of at most {} nats, of {} per model: on average <b>{}</b> over {}. {}"
    ).format(
        strength_text(study.udr.kl_threshold),
        study.latents,
        off[0].text,
        plural(off[0].models, "model"),
        "" if why_not else paper,
    )
    published = Published(
        what="Uninformative latents per model",
        ours=off[0].mean,
        published=mean,
        place=QUESTION.place,
        n=off[0].models,
        why_not=why_not,
    )
    tables = (_table(off[1:], results),) if len(off) > 1 else ()
    return Answer((Sentence(text, "finding"), *tables), (published,))


def switched_off(models: pd.DataFrame, latents: int) -> list[SwitchedOff]:
    """Over all ranked models, then per method where there are several."""
    known = models.assign(off=latents - models["informative"]).dropna(subset=["off"])
    if known.empty:
        return []
    parts = [(method, part) for (method,), part in groups(known, ["method"])]
    every = [("", known), *parts] if len(parts) > 1 else parts
    return [
        SwitchedOff(
            method=method,
            mean=float(part["off"].mean()),
            deviation=float(part["off"].std()) if len(part) > 1 else None,
            models=len(part),
        )
        for method, part in every
    ]


def _table(off: list[SwitchedOff], results: Results) -> Table:
    headings = (
        Heading("Method"),
        Heading("Uninformative latents", numeric=True),
        Heading("Models", numeric=True),
    )
    rows = (
        Row(
            (
                Cell(method_label(one.method, results.styles), one.method, style="who"),
                Cell(one.text, one.mean),
                Cell(f"{one.models:,}", one.models),
            )
        )
        for one in off
    )
    return Table(headings, tuple(rows), style="tight")
