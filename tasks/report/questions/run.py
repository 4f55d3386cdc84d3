"""How much of the grid is trained?"""

from __future__ import annotations

from tasks.report.header import DataSet, data_sets
from tasks.report.labels import data_label, method_label
from tasks.report.questions import Answer, Cell, Heading, Question, Row, Sentence, Table
from tasks.report.results import Results
from tasks.words import MISSING, plural, strength_text, symbol

QUESTION = Question("What was run", menu="What was run")


def answer(results: Results) -> Answer:
    study = results.study
    columns = data_sets(study, results.frames.models)
    seeds = plural(len(study.seed_list), "seed")
    about = f"Trained models of those planned, per method and data set. Each strength has {seeds}."
    headings = (
        Heading("Method"),
        Heading("Strengths"),
        *(Heading(data_label(one.name, one.source), numeric=True) for one in columns),
    )
    rows = tuple(_row(method, results, columns) for method in results.styles)
    return Answer((Sentence(about), Table(headings, rows, row_headings=True)))


def _row(method: str, results: Results, columns: tuple[DataSet, ...]) -> Row:
    study, models = results.study, results.frames.models
    of_method = models[models["method"] == method]
    swept = study.sweeps.get(method, ())
    strengths = sorted({float(strength) for strength in of_method["strength"]} | set(swept))
    cells = []
    for data_set in columns:
        here = of_method[
            (of_method["data"] == data_set.name) & (of_method["source"] == data_set.source)
        ]
        in_study = data_set.name in [choice.name for choice in study.data]
        planned = max(len(swept) * len(study.seed_list) if in_study else 0, len(here))
        trained = int((here["status"] == "trained").sum())
        style = "short" if trained < planned else ""
        cells.append(Cell(f"{trained:,} of {planned:,}", trained, style=style))
    values = ", ".join(strength_text(strength) for strength in strengths)
    method_cell = Cell(method_label(method, results.styles), method, style="who")
    text = f"{symbol(method)} = {values}" if symbol(method) else MISSING
    return Row((method_cell, Cell(text), *cells))
