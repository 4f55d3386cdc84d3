"""Every question answers whatever a store has: with numbers, or with what is missing."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from infra.store import Store
from models import METHODS, NO_STRENGTH, STUDY_2019
from tasks.citations import PAPERS
from tasks.report.coverage import drawn_models
from tasks.report.page import sections, write_report
from tasks.report.published import KINDS_DATA, SIX
from tasks.report.questions import (
    ON_REQUEST,
    QUESTIONS,
    Answer,
    Figures,
    FilterBar,
    Portraits,
    Published,
    Question,
    Sentence,
    Table,
    load,
)
from tasks.report.real_factors import has_real_factors
from tasks.report.results import Results, read_results
from tasks.report.verdicts import verdict
from tests.tasks.report.conftest import (
    Grid,
    blank_column,
    fill,
    fill_dynamics,
    fill_pairs,
    without,
)
from tests.tasks.report.parsed import checked

PAPERS_GRID = Grid(
    data=("dsprites", "noisy_dsprites"),
    methods={name: METHODS[name].strengths for name in STUDY_2019},
    seeds=3,
    steps=300_000,
    metrics=(*SIX, "downstream_logistic", "downstream_trees", "fairness", "unsupervised"),
    label_noise=("low", "medium", "high"),
    diverged={("dsprites", "beta_vae", 16.0, 1): "loss is not finite at step 61"},
)
SMALL = replace(PAPERS_GRID, data=("dsprites",), methods={"beta_vae": (1.0, 4.0)}, diverged={})
# They list published numbers whatever there is of ours.
BESIDE = ("variance_explained", "metrics_agree", "udr_with_mig", "transfer")
OF_SWEPT_LATENTS = ("model_selection",)
OF_REAL_FACTORS = (
    "kinds_of_models",
    "importances",
    "codes_and_factors",
    "traversals_by_factor",
    "zero_shot",
)
TWO_METHODS = ("beta_vae", "dip_vae_i")
MINE = replace(SMALL, data=("mine",), sources={"mine": "user"}, seeds=6)


def nothing(store: Store) -> None:
    """No damage."""


def without_labels(store: Store) -> None:
    blank_column(store, "scores", "value", None)
    blank_column(store, "scores", "reason", "the pictures have no factors")


def all_collapsed(store: Store) -> None:
    for table, column, value in (
        ("ranks", "collapsed", True),
        ("ranks", "udr", 0.0),
        ("ranks", "informative", 0),
        ("models", "kl", 0.0),
        ("pairs", "udr", None),
    ):
        blank_column(store, table, column, value)


def with_gaps(store: Store) -> None:
    """Every second part of scores is gone, and every third has no values."""
    for place, part in enumerate(store.parts("scores")):
        if place % 2:
            store.remove_part("scores", part)
        elif not place % 3:
            rows = store.read("scores", keys=[part]).to_pylist()
            columns = {name: [row[name] for row in rows] for name in rows[0]}
            store.write_part("scores", part, columns | {"value": [None] * len(rows)})


CASES: dict[str, tuple[Grid, Callable[[Store], None]]] = {
    "full grid": (PAPERS_GRID, nothing),
    "one model": (replace(SMALL, methods={"beta_vae": (4.0,)}, seeds=1), nothing),
    "one cell": (replace(SMALL, methods={"beta_vae": (4.0,)}, seeds=8), nothing),
    "no labels": (MINE, without_labels),
    "all collapsed": (replace(SMALL, seeds=6), all_collapsed),
    "missing scores": (
        replace(SMALL, methods={name: PAPERS_GRID.methods[name] for name in TWO_METHODS}, seeds=2),
        with_gaps,
    ),
    "few steps": (replace(SMALL, seeds=6, steps=120), nothing),
    "every model failed": (
        replace(
            SMALL, diverged={("dsprites", "beta_vae", s, n): "" for s in (1, 4) for n in (0, 1, 2)}
        ),
        nothing,
    ),
    "empty store": (
        SMALL,
        without("models", "scores", "ranks", "pairs", "curves", "pictures", "dynamics"),
    ),
    "latents swept": (
        replace(
            PAPERS_GRID,
            data=("cars3d", "dsprites"),
            methods={"beta_vae": (1.0, 4.0, 16.0)},
            latents=(2, 4),
            diverged={},
        ),
        nothing,
    ),
    "kinds of models": (
        replace(
            PAPERS_GRID,
            data=(KINDS_DATA,),
            sources={KINDS_DATA: "look-alike"},
            methods={"pca": (NO_STRENGTH,), "beta_vae": (1.0, 6.0), "infogan": (6.0,)},
            metrics=("dci_lasso", "dci_forest", *SIX),
            diverged={},
        ),
        nothing,
    ),
    "agents": (
        replace(
            PAPERS_GRID,
            data=("scene",),
            sources={"scene": "look-alike"},
            methods={"beta_vae": (0.0, 0.01, 0.1, 1.0)},
            metrics=(*SIX, "clustering"),
            diverged={},
        ),
        nothing,
    ),
}


ResultsOf = Callable[[str], Results]
Answers = Callable[[str, str], Answer]


@pytest.fixture(scope="module")
def results_of(tmp_path_factory: pytest.TempPathFactory) -> ResultsOf:
    @cache
    def make(case: str) -> Results:
        grid, damage = CASES[case]
        store = Store(Path(tmp_path_factory.mktemp("store")))
        fill(store, grid)
        if len(grid.diverged) < 6:
            fill_pairs(store)
            fill_dynamics(store)
        damage(store)
        return read_results(store, grid.study())

    return make


@pytest.fixture(scope="module")
def answers(results_of: ResultsOf) -> Answers:
    @cache
    def answer(case: str, name: str) -> Answer:
        return load(name)[1](results_of(case))

    return answer


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def check_sentence(sentence: Sentence) -> None:
    assert sentence.text.strip().endswith("."), sentence.text


def check_table(table: Table) -> None:
    assert table.rows
    for row in table.rows:
        assert bool(row.across) != bool(row.cells)
        assert len(row.cells) in (0, len(table.headings))
        for cell in row.cells:
            assert cell.text
            assert not isinstance(cell.value, float) or math.isfinite(cell.value)
    assert not table.filters or table.id
    assert not table.filters or {f.key for f in table.filters} <= table.rows[0].keys.keys()
    assert table.open or table.summary, "a table that is folded has a summary to open it by"


def check_figures(figures: Figures) -> None:
    for group in figures.groups:
        assert group.title
        for figure in group.figures:
            assert figure.title and figure.description and len(figure.data)
            assert figure.drawing.svg.startswith("<svg")
            assert len(drawn_models(figure)), f"{figure.title} names no model that it covers"
            points = figure.drawing.points
            of_models = points is not None and points.are_models
            assert not of_models or "model_id" in figure.data, figure.title
    names = [figure.drawing.name for group in figures.groups for figure in group.figures]
    assert len(set(names)) == len(names) and all(names), "links to figures stay the same"


def check_portraits(portraits: Portraits) -> None:
    for group in portraits.groups:
        assert group.title and group.portraits
        for portrait in group.portraits:
            assert portrait.heading and portrait.facts


def check_published(row: Published) -> None:
    assert row.what and row.place
    assert row.published is None or math.isfinite(row.published)
    assert row.why_not or (row.ours is not None and math.isfinite(row.ours))


def check(answer: Answer) -> None:
    assert answer.content, "an answer names at least what is missing"
    for content in answer.content:
        if isinstance(content, Sentence):
            check_sentence(content)
        elif isinstance(content, FilterBar):
            assert content.filters and content.tables
        elif isinstance(content, Table):
            check_table(content)
        elif isinstance(content, Figures):
            check_figures(content)
        else:
            check_portraits(content)
    for row in answer.published:
        check_published(row)


@pytest.mark.parametrize("case", CASES)
def test_every_question_answers_whatever_there_is(answers: Answers, case: str) -> None:
    for name in QUESTIONS:
        check(answers(case, name))


@pytest.mark.parametrize("case", [case for case in CASES if case != "full grid"])
def test_there_is_a_page_of_whatever_there_is(
    results_of: ResultsOf, answers: Answers, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answered(name: str) -> tuple[Question, Callable[[Results], Answer]]:
        return load(name)[0], lambda _: answers(case, name)

    results = results_of(case)
    monkeypatch.setattr("tasks.report.page.load", answered)  # each question is asked once
    page = checked(write_report(results.store, results.study))
    asked = [load(name)[0] for name in QUESTIONS]
    wanted = {
        q.menu
        for q in asked
        if q.menu
        and (results.has_factors or not q.needs_factors)
        and (has_real_factors(results.study) or not q.needs_real_factors)
    }
    menu = {part.question.menu for part, *_ in sections(results, QUESTIONS)}
    assert menu == wanted
    assert {name for name, q in zip(QUESTIONS, asked, strict=True) if q.menu in wanted} <= set(
        page.ids
    )


def test_the_full_grid_answers_every_question(answers: Answers) -> None:
    cases = dict.fromkeys(OF_SWEPT_LATENTS, "latents swept")
    cases |= dict.fromkeys(OF_REAL_FACTORS, "kinds of models") | {"clustering": "agents"}
    for name in QUESTIONS:
        answer = answers(cases.get(name, "full grid"), name)
        assert not answer.is_missing, name


def test_of_a_small_grid_no_agreement_is_claimed(answers: Answers) -> None:
    """Of three seeds, whatever else is as in the papers."""
    rows = [row for name in QUESTIONS for row in answers("full grid", name).published]
    assert "partial grid" in {row.grid for row in rows}
    for row in rows:
        assert row.why_not and verdict(row).startswith("not co"), row


def test_an_empty_store_answers_none_but_what_was_planned(answers: Answers) -> None:
    answered = {name for name in QUESTIONS if not answers("empty store", name).is_missing}
    assert answered == {"run", "papers", *BESIDE}


def test_too_few_steps_are_never_comparable(answers: Answers) -> None:
    for name in QUESTIONS:
        for row in answers("few steps", name).published:
            assert row.why_not and verdict(row).startswith("not co"), row
            assert row.ours is None or "120 " in row.why_not, row


def test_every_question_names_its_papers_and_its_section() -> None:
    for name in QUESTIONS:
        question, _ = load(name)
        assert question.title, name
        assert {paper for paper, _ in question.papers} <= PAPERS.keys(), name
        assert bool(question.menu) != bool(question.section), name
        if question.section:
            assert QUESTIONS.index(question.section) < QUESTIONS.index(name), name
            assert not load(question.section)[0].section, f"{name}: sections are not nested"


def test_every_file_of_the_folder_is_on_the_page() -> None:
    folder = Path(load.__code__.co_filename).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert files == {*QUESTIONS, *ON_REQUEST}
