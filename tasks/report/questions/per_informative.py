"""Which model is best for each number of informative latents?

UDR does not ask how many factors a model found, so that models with equally many are compared.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from tasks.best import BestOfNumber, best_per_informative
from tasks.report.every_model import cell_page, model_link
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
from tasks.words import data_name, number, plural, strength_text

QUESTION = Question("The best model for each number of informative latents", section="ranking")
MOST_OPEN = 3  # data sets
Best = BestOfNumber[dict[Any, Any]]


def answer(results: Results) -> Answer:
    udr = results.udr
    if udr is None:
        return missing("No model is known for any number of informative latents: there is no UDR.")
    content: list[Sentence | Table] = []
    for _, rows in groups(results.models, DATA_SET):
        best = best_per_informative(rows.to_dict("records"), udr.id)
        if best:
            opened = len(content) <= 2 * MOST_OPEN
            content += [_finding(best, udr), _table(best, udr, results, opened)]
    if not content:
        return missing("No ranked model has an informative latent.")
    about = (
        f"By “{udr.title}”, among the models of a data set that have equally many latents with a "
        f"KL above {strength_text(results.study.udr.kl_threshold)} nats."
    )
    return Answer((Sentence(about), *content))


def _finding(best: list[Best], udr: Column) -> Sentence:
    highest = max(best, key=lambda row: (row.best[udr.id], row.informative))
    text = Markup("<b>{}</b>: {} has the highest UDR, {}, and {}").format(
        data_name(highest.best["data"]),
        model_link(highest.best),
        number(highest.best[udr.id], 2),
        plural(highest.informative, "informative latent"),
    )
    most = best[-1]
    if most is not highest:
        text += Markup("; of the models with {} the best is {}, with a UDR of {}").format(
            plural(most.informative, "informative latent"),
            model_link(most.best),
            number(most.best[udr.id], 2),
        )
    return Sentence(text + ".", "finding")


def _table(best: list[Best], udr: Column, results: Results, opened: bool) -> Table:
    headings = (
        Heading("Informative latents", numeric=True),
        Heading("Models", numeric=True),
        Heading("Best model"),
        Heading("Cell"),
        Heading("Seed", numeric=True),
        Heading(udr.title, numeric=True),
    )
    first = best[0].best
    return Table(
        headings,
        tuple(_row(of_number, udr, results) for of_number in best),
        style="tight",
        summary=data_label(first["data"], first["source"]),
        open=opened,
    )


def _row(of_number: Best, udr: Column, results: Results) -> Row:
    best = of_number.best
    label = method_label(best["method"], results.styles, best["strength"])
    cell = Markup('<a href="../cells/{}.html">{}</a>').format(cell_page(best), label)
    return Row(
        (
            Cell(f"{of_number.informative} of {best['latents']}", of_number.informative),
            Cell(f"{of_number.models:,}", of_number.models),
            Cell(model_link(best), best["model_id"]),
            Cell(cell, best["method"], style="who"),
            Cell(str(best["seed"]), best["seed"]),
            Cell(number(best[udr.id]), best[udr.id]),
        )
    )
