"""Where did the hours and the memory go, and which tries gave no model?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd

from infra.peak_memory import MEGABYTE
from tasks.reasons import shortened
from tasks.report.every_model import model_link
from tasks.report.failed_tries import FailedTries, failed_tries
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
from tasks.words import (
    MISSING,
    data_name,
    duration,
    method_name,
    metric_name,
    plural,
    size_text,
)

QUESTION = Question("Where did the hours and the memory go?", section="run")
ABOUT = (
    "Wall time of the workers: of training over all tries, and of each metric without the encoding "
    "of pictures. Comparing for UDR is not in the tables."
)
ABOUT_MEMORY = (
    "Memory is the most that a worker's process had resident during a model's last try, with "
    "Python and its packages; pages that processes share count in each. A try is one worker that "
    "began to train a model; the next continues from its checkpoint."
)
LONGEST_LIST = 5
MOST_REASONS = 12
WORTH_NAMING = 60.0  # seconds


def answer(results: Results) -> Answer:
    models = results.frames.models.assign(
        seconds=results.frames.models["seconds"].fillna(0.0).astype(float)
    )
    if models.empty or not models["seconds"].sum():
        return missing("Nothing has been timed yet.")
    scoring = scoring_seconds(results.frames)
    content: list[Sentence | Table] = [Sentence(ABOUT), *_findings(models, scoring)]
    content.append(_by_method("Training", models, results))
    if not scoring.empty:
        of_models = models.drop(columns="seconds").merge(scoring, on="model_id")
        content += [_by_method("Metrics", of_models, results), _by_metric(scoring)]
    content.append(_top("that took longest", "Training", "seconds", duration, models))
    sized = models.dropna(subset=["memory_mb"])
    tries = failed_tries(results.store, models)
    if len(sized) or tries.known:
        content.append(Sentence(ABOUT_MEMORY))
    if len(sized):
        content.append(_by_method("Memory, median", sized, results, "memory_mb", "median", _size))
        content.append(_top("that took most memory", "Memory", "memory_mb", _size, sized))
    return Answer((*content, *_tries(tries, models)))


def _size(megabytes: float) -> str:
    return size_text(megabytes * MEGABYTE)


def _findings(models: pd.DataFrame, scoring: pd.DataFrame) -> Iterator[Sentence]:
    training, scored = float(models["seconds"].sum()), float(scoring["seconds"].sum())
    text = f"Training took {duration(training)}, {duration(training / len(models))} per model"
    if scored >= WORTH_NAMING:
        metric = scoring.groupby("metric")["seconds"].sum()
        most = str(metric.idxmax())
        text += (
            f"; the metrics {duration(scored)}, of which {metric_name(most)} "
            f"{100 * float(metric.max()) / scored:.0f}%"
        )
    yield Sentence(text + ".", "finding")
    memory = models["memory_mb"].dropna()
    if len(memory):
        yield Sentence(
            f"The largest of {plural(len(memory), 'model')} took {_size(memory.max())} of memory, "
            f"the median {_size(memory.median())}.",
            "finding",
        )


def _by_method(
    title: str,
    models: pd.DataFrame,
    results: Results,
    column: str = "seconds",
    statistic: str = "sum",
    text: Callable[[float], str] = duration,
) -> Table:
    """A row per method and a column per data set."""
    sets = [key for key, _ in groups(models, DATA_SET)]
    headings = (
        Heading(title),
        *(Heading(data_label(*key), numeric=True) for key in sets),
    )
    values = models.groupby([*DATA_SET, "method"])[column].agg(statistic)
    rows = []
    for method in results.styles:
        cells = [Cell(method_label(method, results.styles), method, style="who")]
        for key in sets:
            value = float(values.get((*key, method), 0.0))
            cells.append(Cell(text(value) if value else MISSING, value))
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


def _top(
    which: str, title: str, column: str, text: Callable[[float], str], models: pd.DataFrame
) -> Table:
    """The models with the largest values."""
    largest = models.sort_values(column, ascending=False, kind="stable").head(LONGEST_LIST)
    rows = tuple(
        Row(
            (
                Cell(model_link(row)),
                Cell(f"{method_name(str(row['method']))} on {data_name(str(row['data']))}"),
                Cell(text(float(row[column])), float(row[column])),
            )
        )
        for row in largest.to_dict("records")
    )
    return Table(
        (Heading("Model"), Heading(""), Heading(title, numeric=True)),
        rows,
        caption=f"The {plural(len(rows), 'model')} {which}",
        style="tight",
    )


def _tries(tries: FailedTries, models: pd.DataFrame) -> Iterator[Sentence | Table]:
    if not tries.known:
        yield Sentence("The store has no logs of tries.", "note")
        return
    if not tries.count:
        some = ", as far as logs were read" if tries.unread else ""
        yield Sentence(f"Every try to train a model ended with its weights{some}.")
        return
    counted = plural(tries.known, "try", "tries")
    yield Sentence(f"{tries.count:,} of {counted} ended without weights.")
    by_id = models.set_index("model_id", drop=False)
    rows = tuple(
        Row(
            (
                Cell(shortened(reason.reason)),
                Cell(f"{reason.tries:,}", reason.tries),
                Cell(f"{reason.models:,}", reason.models),
                Cell(model_link(by_id.loc[reason.example].to_dict())),
            )
        )
        for reason in tries.reasons[:MOST_REASONS]
    )
    headings = (
        Heading("How it ended"),
        Heading("Tries", numeric=True),
        Heading("Models", numeric=True),
        Heading("Such as"),
    )
    yield Table(headings, rows, caption="Tries that ended without weights")
    more = [f"{len(tries.reasons) - MOST_REASONS} more reasons"] * (len(rows) < len(tries.reasons))
    if tries.unread:
        more.append(f"the logs of {plural(tries.unread, 'more model')}, which were not read")
    if more:
        yield Sentence(f"Not in this table: {' and '.join(more)}.", "note")
