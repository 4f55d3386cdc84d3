"""One self-contained HTML page of a study: read the tables, answer the questions, lay them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import jinja2

from infra.store import Store
from tasks.citations import references
from tasks.report.figures import colours
from tasks.report.header import header
from tasks.report.labels import data_label
from tasks.report.questions import QUESTIONS, Answer, Question, load
from tasks.report.results import Results, read_results
from tasks.study.spec import Study
from tasks.words import SOURCES, metric_name, number, plural


@dataclass(frozen=True)
class Part:
    """A question on the page."""

    name: str
    question: Question
    answer: Answer


def write_report(store: Store, study: Study, questions: Sequence[str] = QUESTIONS) -> str:
    """Write report/index.html from the store's tables; returns its path."""
    results = read_results(store, study)
    frames = results.frames
    page = _template().render(
        study=study,
        made=datetime.now(UTC).strftime("%-d %B %Y, %H:%M UTC"),
        header=header(study, frames),
        older=frames.older,
        outdated=[metric_name(name) for name in frames.outdated],
        sections=sections(results, questions),
        references=references(
            methods=list(results.styles),
            metrics=[metric.name for metric in results.metrics],
            data=dict.fromkeys([*(one.name for one in study.data), *frames.models["data"]]),
            ranked=bool(results.rankings),
        ),
    )
    store.write_bytes(page.encode(), "report", "index.html")
    return store.address("report", "index.html")


def sections(results: Results, questions: Sequence[str]) -> list[list[Part]]:
    """The questions by section, the one that opens it first.

    Where that one has no answer, its section says so once: questions without one are left out.
    """
    by_section: dict[str, list[Part]] = {}
    for name in questions:
        question, answer = load(name)
        part = Part(name, question, answer(results))
        section = by_section.setdefault(question.section or name, [])
        if not (section and section[0].answer.is_missing and part.answer.is_missing):
            section.append(part)
    return list(by_section.values())


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        css_variables=colours.css,
        data_label=data_label,
        number=number,
        plural=plural,
        sources=SOURCES,
    )
    return environment.get_template("page.html.j2")
