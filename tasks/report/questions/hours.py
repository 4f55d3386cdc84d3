"""Where did the hours go?"""

from __future__ import annotations

import pandas as pd

from tasks.report.every_model import model_link
from tasks.report.frames import DATA_SET, groups, scoring_seconds
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
from tasks.report.results import Results
from tasks.words import MISSING, data_name, duration, method_name, metric_name, plural

QUESTION = Question("Where did the hours go?", section="run")
ABOUT = (
    "Wall time of the workers: of training over all tries, and of each metric without the encoding "
    "of pictures. Comparing for UDR is not in the tables."
)
SLOWEST = 5
WORTH_NAMING = 60.0  # seconds


def answer(results: Results) -> Answer:
    models = results.frames.models.assign(
        seconds=results.frames.models["seconds"].fillna(0.0).astype(float)
    )
    if models.empty or not models["seconds"].sum():
        return missing("Nothing has been timed yet.")
    scoring = scoring_seconds(results.frames)
    content: list[Sentence | Table] = [Sentence(ABOUT), _finding(models, scoring)]
    content.append(_by_method(models, results))
    if not scoring.empty:
        content.append(_by_metric(scoring))
    content.append(_slowest(models, results))
    return Answer(tuple(content))


def _finding(models: pd.DataFrame, scoring: pd.DataFrame) -> Sentence:
    training, scored = float(models["seconds"].sum()), float(scoring["seconds"].sum())
    text = f"Training took {duration(training)}, {duration(training / len(models))} per model"
    if scored >= WORTH_NAMING:
        metric = scoring.groupby("metric")["seconds"].sum()
        most = str(metric.idxmax())
        text += (
            f"; the metrics {duration(scored)}, of which {metric_name(most)} "
            f"{100 * float(metric.max()) / scored:.0f}%"
        )
    return Sentence(text + ".", "finding")


def _by_method(models: pd.DataFrame, results: Results) -> Table:
    sets = [key for key, _ in groups(models, DATA_SET)]
    headings = (
        Heading("Training"),
        *(Heading(data_label(*key), numeric=True) for key in sets),
    )
    seconds = models.groupby([*DATA_SET, "method"])["seconds"].sum()
    rows = []
    for method in results.styles:
        cells = [Cell(method_label(method, results.styles), method, style="who")]
        for key in sets:
            value = float(seconds.get((*key, method), 0.0))
            cells.append(Cell(duration(value) if value else MISSING, value))
        rows.append(Row(tuple(cells)))
    return Table(headings, tuple(rows), row_headings=True, style="tight")


def _by_metric(scoring: pd.DataFrame) -> Table:
    seconds = scoring.groupby("metric")["seconds"].agg(["sum", "median"])
    rows = tuple(
        Row(
            (
                Cell(metric_name(str(metric)), str(metric)),
                Cell(duration(float(total)), float(total)),
                Cell(duration(float(median)), float(median)),
            )
        )
        for metric, total, median in seconds.sort_values("sum", ascending=False).itertuples()
    )
    headings = (Heading("Metric"), Heading("In all", numeric=True), Heading("Median", numeric=True))
    return Table(headings, rows, row_headings=True, style="tight")


def _slowest(models: pd.DataFrame, results: Results) -> Table:
    rows = []
    slowest = models.sort_values("seconds", ascending=False, kind="stable").head(SLOWEST)
    for row in slowest.to_dict("records"):
        rows.append(
            Row(
                (
                    Cell(model_link(row)),
                    Cell(f"{method_name(str(row['method']))} on {data_name(str(row['data']))}"),
                    Cell(duration(float(row["seconds"])), float(row["seconds"])),
                )
            )
        )
    return Table(
        (Heading("Model"), Heading(""), Heading("Training", numeric=True)),
        tuple(rows),
        caption=f"The {plural(len(rows), 'model')} that took longest",
        style="tight",
    )
