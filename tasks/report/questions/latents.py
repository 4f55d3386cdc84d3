"""How many latents does a model switch off?"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from models import STUDY_2019
from tasks.report.comparable import (
    PAPERS_LATENTS,
    Population,
    members,
    why_not_quoted,
    with_grid,
)
from tasks.report.frames import groups
from tasks.report.intervals import of_mean
from tasks.report.labels import method_label
from tasks.report.published import DUAN_DATA, NEVER_OFF, SWITCHED_OFF
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
from tasks.study.axes import method_of
from tasks.words import method_name, plural, strength_text, with_deviation

QUESTION = Question(
    "Uninformative latents", section="ranking", papers=(("duan-2020", "appendix A.10"),)
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
        return with_deviation(self.mean, self.deviation)


def answer(results: Results) -> Answer:
    study = results.study
    off = switched_off(results.models)
    if not off:
        return missing(
            "No model with a KL per latent has been compared yet, so that no number of informative "
            "latents is known."
        )
    is_papers = study.values_of("latents") == (PAPERS_LATENTS,)
    is_quoted = is_papers and not why_not_quoted(study, results.models)
    paper = (
        f"In {QUESTION.place}: {with_deviation(*SWITCHED_OFF)} of 10 "
        f"over all methods but {method_name(NEVER_OFF)}, which switches off no latent."
    )
    without = of_models(results.models[results.models["method"].map(method_of) != NEVER_OFF])
    text = Markup(
        "Latents with a KL of at most {} nats, of {} per model: on average <b>{}</b> over {}{}. {}"
    ).format(
        strength_text(study.udr.kl_threshold),
        " or ".join(map(str, study.values_of("latents"))),
        off[0].text,
        plural(off[0].models, "model"),
        _without(without) if without and without.models < off[0].models else "",
        paper if is_quoted and without else "",
    )
    published = _published(results)
    tables = (_table(off, without, results),) if len(off) > 1 else ()
    return Answer((Sentence(text, "finding"), *tables), (published,))


def _published(results: Results) -> Published:
    """The means are compared as if models were independent: their interval is the normal one."""
    mean, deviation = SWITCHED_OFF
    methods = tuple(name for name in STUDY_2019 if name != NEVER_OFF)
    population = Population(DUAN_DATA, methods)
    models, n = members(results.models, population), population.models
    ours = of_models(models)
    row = Published(
        what=f"Uninformative latents per model, all methods but {method_name(NEVER_OFF)}",
        ours=ours.mean if ours else None,
        published=mean,
        place=QUESTION.place,
        n=ours.models if ours else 0,
        why_not=f"no method but {method_name(NEVER_OFF)}",
        deviation=deviation,
        published_n=n,
        interval=of_mean(ours.mean, ours.deviation, ours.models) if ours else None,
        published_interval=of_mean(mean, deviation, n),
    )
    return with_grid(row, results.study, models, population)


def _without(off: SwitchedOff) -> Markup:
    return Markup("; <b>{}</b> over {} of all methods but {}").format(
        off.text, plural(off.models, "model"), method_name(NEVER_OFF)
    )


def switched_off(models: pd.DataFrame) -> list[SwitchedOff]:
    """Over all ranked models, then per method where there are several."""
    by_method = [of_models(part, method) for (method,), part in groups(models, ["method"])]
    rows = [row for row in by_method if row]
    every = of_models(models)
    return [every, *rows] if every and len(rows) > 1 else rows


def of_models(models: pd.DataFrame, method: str = "") -> SwitchedOff | None:
    """Over the ranked ones of these models; None without any."""
    off = (models["latents"] - models["informative"]).dropna()
    if off.empty:
        return None
    deviation = float(off.std()) if len(off) > 1 else None
    return SwitchedOff(method, float(off.mean()), deviation, len(off))


def _table(off: list[SwitchedOff], without: SwitchedOff | None, results: Results) -> Table:
    """A row per method, then all of them, and all but the one that the paper leaves out."""
    headings = (
        Heading("Method"),
        Heading("Uninformative latents", numeric=True),
        Heading("Models", numeric=True),
    )
    every, *methods = off
    named = [(method_label(one.method, results.styles), one) for one in methods]
    means: list[tuple[str, SwitchedOff]] = [("All methods", every)]
    if without and without.models < every.models:
        means.append((f"All but {method_name(NEVER_OFF)}", without))
    return Table(
        headings,
        (*(_row(*one) for one in named), *(_row(*one, style="mean") for one in means)),
        style="tight",
    )


def _row(label: str, off: SwitchedOff, style: str = "") -> Row:
    cells = (
        Cell(label, off.method, style="" if style else "who"),
        Cell(off.text, off.mean),
        Cell(f"{off.models:,}", off.models),
    )
    return Row(cells, style=style)
