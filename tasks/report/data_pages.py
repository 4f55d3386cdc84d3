"""A page per data set: what it is, what was found on it, its cells, and what has no weights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

import data as known_data
from data.base.pixels import SIDE
from tasks.citations import PAPERS
from tasks.reasons import shortened
from tasks.report.every_model import model_link
from tasks.report.figures.portraits import first_rows, pictures_of
from tasks.report.frames import DATA_SET, groups
from tasks.report.labels import data_label, data_page, method_label
from tasks.report.provenance import checksums
from tasks.report.questions import (
    Answer,
    Cell,
    Content,
    Facts,
    Heading,
    Row,
    Sentence,
    Sheet,
    Table,
)
from tasks.report.questions.scores import cell_rows, score_table
from tasks.report.results import Results
from tasks.study.data_choice import DataChoice
from tasks.study.model import TRAINED
from tasks.what_was_read import Factor, doubts_about, pictures_text
from tasks.words import SOURCES, data_name, plural

MOST_LOST = 50  # models without weights; the others are in the table of all models
MOST_FACTORS = 40

# A sentence of a question, and a link to it.
Finding = tuple[Markup, Sentence]


def data_pages(
    results: Results, findings: Sequence[Finding]
) -> Iterator[tuple[str, str, dict[str, Answer]]]:
    """The page's name, its title and its parts by their headings, of every data set with a model.

    `findings` are those of all questions.
    """
    keys = [key for key, _ in groups(results.frames.models, DATA_SET)]
    choices = {choice.name: choice for choice in results.study.data}
    for data, source in keys:
        here = results.of_data(data, source)
        parts: dict[str, list[Content]] = {
            "": [*_about(data, source, choices.get(data)), *_sheet(here)],
            "Findings": _findings(data, source, findings, alone=len(keys) == 1),
            "Cells": [*_counts(data, source, here), *_cells(here)],
            "Models without weights": _lost(data, here),
        }
        answers = {title: Answer(tuple(content)) for title, content in parts.items() if content}
        yield data_page(data, source), f"{data_name(data)}, {source}", answers


def _about(data: str, source: str, choice: DataChoice | None) -> Iterator[Content]:
    """What is known of the pictures and their factors."""
    facts = [("Source", f"{source}: {SOURCES[source]}" if source in SOURCES else source)]
    factors: list[Factor] = []
    if choice is not None and choice.read is not None:
        facts.append(("Read", pictures_text(choice)))
        factors = [Factor(*factor) for factor in choice.read.factors]
    elif data in known_data.DATA_SETS and source in known_data.sources(data):
        what = known_data.describe(data, source)
        number = "unlimited: each is newly drawn" if what.pictures is None else f"{what.pictures:,}"
        in_part = pictures_text(choice) if choice is not None else ""
        facts.append(("Pictures", in_part or number))
        facts.append(("Size", f"{SIDE} × {SIDE}, {plural(what.channels, 'channel')}"))
        factors = [
            Factor(name, None if place in what.continuous else size)
            for place, (name, size) in enumerate(
                zip(what.factor_names, what.factor_sizes, strict=True)
            )
        ]
    yield Facts((*facts, *_checksums(data, source, choice), *_papers(data)))
    for doubt in doubts_about(choice) if choice is not None else []:
        yield Sentence(f"{doubt[0].upper()}{doubt[1:]}.", "note")
    if factors:
        yield _factor_table(factors)


def _checksums(data: str, source: str, choice: DataChoice | None) -> Iterator[tuple[str, Markup]]:
    for name, checksum in checksums(data, source, choice):
        yield f"Checksum, {name}", Markup("<code>{}</code>").format(checksum)


def _papers(data: str) -> Iterator[tuple[str, Markup]]:
    """To be cited."""
    known = known_data.DATA_SETS.get(data)
    links = [
        Markup('<a href="{}">{}</a>').format(PAPERS[key].url, PAPERS[key].text)
        for key in (known.papers if known else ())
    ]
    if links:
        yield "Cite", Markup("<br>").join(links)


def _factor_table(factors: Sequence[Factor]) -> Table:
    rows = tuple(
        Row((Cell(f.name), Cell("real numbers" if f.values is None else f"{f.values:,}")))
        for f in factors[:MOST_FACTORS]
    )
    if len(factors) > MOST_FACTORS:
        rows = (*rows, Row(across=f"and {len(factors) - MOST_FACTORS} more"))
    headings = (Heading("Factor"), Heading("Values", numeric=True))
    return Table(headings, rows, row_headings=True, style="tight")


def _sheet(here: Results) -> Iterator[Sheet]:
    """The originals of one model's reconstructions: all models have the same."""
    for model in here.models.head(1).to_dict("records"):
        pictures = pictures_of(here.store, [model])[str(model["model_id"])]
        if picture := first_rows(pictures.get("reconstruction"), SIDE):
            name = data_name(str(model["data"]))
            yield Sheet(picture, f"Pictures of {name}, drawn at random.")


def _findings(data: str, source: str, findings: Sequence[Finding], alone: bool) -> list[Content]:
    return [
        Sentence(Markup("{} {}").format(link, sentence.text))
        for link, sentence in findings
        if alone or concerns(sentence.text, data, source)
    ]


def concerns(text: str, data: str, source: str) -> bool:
    """Whether a sentence names the data set: by its label, or by its name alone."""
    if str(data_label(data, source)) in str(Markup.escape(text)):
        return True
    # labels of others may contain its name: they are taken out
    words = Markup(re.sub(r"<a [^>]*>.*?</a>", "", str(Markup.escape(text)))).striptags()
    return bool(re.search(rf"(?<![\w-]){re.escape(data_name(data))}(?![\w-])", words))


def _counts(data: str, source: str, here: Results) -> Iterator[Sentence]:
    ended = here.frames.models
    address = "../models.html#" + urlencode({"data": data, "source": source})
    link = Markup('<a href="{}">In the table of all models</a>').format(address)
    counts = ended["status"].value_counts()
    lost = [f"{counts[name]:,} {name}" for name in ("diverged", "failed") if name in counts]
    text = Markup("{} of {} trained{}. {}.").format(
        f"{int(counts.get(TRAINED, 0)):,}",
        plural(len(ended), "model"),
        "".join(f", {part}" for part in lost),
        link,
    )
    yield Sentence(text)


def _cells(here: Results) -> Iterator[Content]:
    """Medians of all scores."""
    if here.models.empty or not here.columns:
        return
    rows = cell_rows(here.frames, here.models, here.columns, best_of_method=True)
    marks = '. The best median of each method is <span class="marked">marked</span>.'
    about = "A row per cell: the median over seeds, with the lowest and the highest below it"
    yield Sentence(Markup(about + marks))
    yield score_table(here, rows)


def _lost(data: str, here: Results) -> list[Content]:
    rows = here.frames.models[here.frames.models["status"] != TRAINED]
    if rows.empty:
        return []
    headings = (
        *(Heading(text) for text in ("Model", "Method", "Seed", "Ended")),
        Heading("After steps", numeric=True),
        Heading("Reason"),
    )
    table = Table(
        headings,
        tuple(_lost_row(row, here) for row in rows.head(MOST_LOST).to_dict("records")),
        caption=f"Models without weights on {data_name(data)}",
    )
    if len(rows) <= MOST_LOST:
        return [table]
    more = f"And {len(rows) - MOST_LOST:,} more, in the table of all models."
    return [table, Sentence(more, "note")]


def _lost_row(row: Mapping[Any, Any], here: Results) -> Row:
    label = method_label(str(row["method"]), here.styles, float(str(row["strength"])))
    steps = int(str(row["steps"]))
    return Row(
        (
            Cell(model_link(row)),
            Cell(label, style="who"),
            Cell(str(row["seed"])),
            Cell(str(row["status"]), style="ill"),
            Cell(f"{steps:,}", steps),
            Cell(shortened(str(row["reason"] or "no reason recorded"))),
        )
    )
