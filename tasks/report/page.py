"""The report of a study: read the tables, answer the questions, write a folder of pages.

index.html holds the findings and needs no other file, so that it can be sent alone. The other pages
need the files around them: a page per question, per data set and per cell, and a table of all
models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from infra.store import Store
from infra.tables import KEYS, TABLES
from tasks.citations import references
from tasks.report.cells import cell_pages
from tasks.report.coverage import Counts
from tasks.report.data_pages import Finding, data_pages
from tasks.report.every_model import every_model
from tasks.report.extra_files import PUBLISHED, ExtraFiles, published_table
from tasks.report.figures import colours
from tasks.report.frames import DATA_SET, groups
from tasks.report.header import header
from tasks.report.labels import data_label, data_page, without_links
from tasks.report.ours_and_theirs import with_all_published
from tasks.report.point_links import PointLinks
from tasks.report.progress import progress
from tasks.report.provenance import provenance
from tasks.report.questions import QUESTIONS, Answer, Question, Sentence, load
from tasks.report.real_factors import has_real_factors
from tasks.report.results import Results, read_results
from tasks.study.axes import method_of
from tasks.study.spec import Study
from tasks.words import SOURCES, metric_name, number, plural

FOLDER = "report"
WRITTEN = "files.json"  # the names of all files that the last report wrote
MOST_FINDINGS = 3  # of a question, on the first page
BRACKETS = (
    "Numbers in brackets are 95% intervals, unless they say otherwise. They come from a stratified "
    "bootstrap, which draws seeds again within each cell (method and strength on a data set); "
    "those of a rank correlation ρ are Bonett and Wright's, those of a share of models Wilson's."
)
TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Part:
    """A question with its answer; `name` is its anchor."""

    name: str
    question: Question
    answer: Answer

    @property
    def findings(self) -> list[Sentence]:
        content = self.answer.content
        return [c for c in content if isinstance(c, Sentence) and c.kind == "finding"]


def write_report(store: Store, study: Study, questions: Sequence[str] = QUESTIONS) -> str:
    """Write the report from the store's tables; returns the path of its first page."""
    results = read_results(store, study)
    extra = ExtraFiles()
    files = _Files(store, extra)
    answered = sections(results, questions)
    common: dict[str, Any] = {
        "study": study,
        "made": datetime.now(UTC).strftime("%-d %B %Y, %H:%M UTC"),
        "sections": answered,
        "files": extra,
        "counts": Counts(results),
        "alone": False,
        "progress": progress(results),
        "provenance": provenance(results),
        "data_names": [data_page(*key) for key, _ in groups(results.frames.models, DATA_SET)],
    }
    files.write("report.css", _css())
    for name in ("report.js", "points.js", "models.js"):
        files.write(name, (TEMPLATES / name).read_bytes())
    for section in answered:
        first = section[0]
        page: dict[str, Any] = {"root": "../", "current": first.name, "title": first.question.title}
        files.write(f"questions/{first.name}.html", _part(common, page, section))
    for name, title, answers in data_pages(results, _findings(answered)):
        page = {"root": "../", "current": name, "title": title}
        parts = [Part(f"part-{i}", Question(t), a) for i, (t, a) in enumerate(answers.items(), 1)]
        files.write(f"data/{name}.html", _part(common, page, parts))
    for name, title, answer in cell_pages(results):
        page = {"root": "../", "current": name, "title": title}
        part = Part("cell", Question(title), answer)
        files.write(f"cells/{name}.html", _part(common, page, [part]))
    page = {"root": "", "current": "models", "title": "All models"}
    files.write("models.html", _render("models", common, page, models=every_model(results)))
    published = [
        (p.name, row) for section in answered for p in section for row in p.answer.published
    ]
    files.write(PUBLISHED, published_table(published))
    first_page = _first_page(results, answered, bool(published))
    page = {"root": "", "current": "", "title": "", "alone": True}
    files.write("index.html", _render("index", common, page, **first_page))
    files.end()
    return store.address(FOLDER, "index.html")


def sections(results: Results, questions: Sequence[str]) -> list[list[Part]]:
    """The questions by section, the one that opens it first.

    Where that one has no answer, its section says so once: questions without one are left out.
    """
    by_section: dict[str, list[Part]] = {}
    for name in questions:
        question, answer = load(name)
        opens = load(question.section)[0] if question.section else question
        asked = (question, opens)
        if any(q.needs_factors for q in asked) and not results.has_factors:
            continue
        if any(q.needs_real_factors for q in asked) and not has_real_factors(results.study):
            continue
        part = Part(name, question, answer(results))
        section = by_section.setdefault(question.section or name, [])
        if not (section and section[0].answer.is_missing and part.answer.is_missing):
            section.append(part)
    return _with_all_published(list(by_section.values()))


def _with_all_published(answered: list[list[Part]]) -> list[list[Part]]:
    """The sections, where the page of the papers has the published numbers of all of them."""
    changed = with_all_published(
        [[(part.name, part.answer) for part in section] for section in answered]
    )
    return [
        [replace(part, answer=changed.get(part.name, part.answer)) for part in section]
        for section in answered
    ]


def _findings(answered: Sequence[Sequence[Part]]) -> list[Finding]:
    """Of all questions, as a page in a folder links them."""
    link = Markup('<a href="../questions/{}.html#{}">{}</a>')
    return [
        (link.format(section[0].name, part.name, part.question.title), sentence)
        for section in answered
        for part in section
        for sentence in part.findings
    ]


def _first_page(
    results: Results, answered: Sequence[Sequence[Part]], has_published: bool
) -> dict[str, Any]:
    frames, study = results.frames, results.study
    return {
        "header": header(study, frames),
        "older": frames.older,
        "outdated": [metric_name(name) for name in frames.outdated],
        "has_published": has_published,
        # what was run is no finding about the models: it comes last
        "findings": sorted(answered, key=lambda section: section[0].name == "run"),
        "css": _css().decode(),
        "tables": list(TABLES),
        "keys": [key.name for key in KEYS],
        "references": references(
            methods=list(dict.fromkeys(map(method_of, results.styles))),
            metrics=[metric.name for metric in results.metrics],
            data=dict.fromkeys([*(one.name for one in study.data), *frames.models["data"]]),
            ranked=bool(results.rankings),
            similarities=list(dict.fromkeys(ranking.name for ranking in results.rankings)),
        ),
    }


def on_first_page(text: str) -> str:
    """A text with links from a page in a folder, with links from the first page."""
    if not isinstance(text, Markup):
        return text
    return Markup(str(text).replace('href="../', 'href="'))


class _Files:
    """The files of the report. What an older report wrote and this one does not is removed.

    Each is replaced whole, after the pictures and numbers that it shows: people read while a report
    is renewed.
    """

    def __init__(self, store: Store, extra: ExtraFiles) -> None:
        self.store, self.extra = store, extra
        self.names: set[str] = set()

    def write(self, name: str, content: str | bytes) -> None:
        for other, its_content in self.extra.taken():
            if other not in self.names:  # a picture may be on several pages
                self._write(other, its_content)
        self._write(name, content)

    def _write(self, name: str, content: str | bytes) -> None:
        data = content.encode() if isinstance(content, str) else content
        self.store.write_bytes(data, FOLDER, *name.split("/"))
        self.names.add(name)

    def end(self) -> None:
        for name in self._older() - self.names:
            self.store.remove(FOLDER, *name.split("/"))
        self.store.write_json(sorted(self.names), FOLDER, WRITTEN)

    def _older(self) -> set[str]:
        if not self.store.exists(FOLDER, WRITTEN):
            return set()
        return set(self.store.read_json(FOLDER, WRITTEN))


def _css() -> bytes:
    return (colours.css() + "\n" + (TEMPLATES / "report.css").read_text(encoding="utf-8")).encode()


def _part(common: dict[str, Any], page: dict[str, Any], parts: Sequence[Part]) -> str:
    return _render("part", common, page, parts=parts, point_links=PointLinks())


def _render(template: str, common: dict[str, Any], page: dict[str, Any], **more: Any) -> str:
    text: str = _template(f"{template}.html.j2").render(**{**common, **page, **more})
    return text


@lru_cache(maxsize=4)
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        data_label=data_label,
        without_links=without_links,
        number=number,
        on_first_page=on_first_page,
        plural=plural,
        sources=SOURCES,
        MOST_FINDINGS=MOST_FINDINGS,
        PUBLISHED=PUBLISHED,
        BRACKETS=BRACKETS,
    )
    return environment.get_template(name)
