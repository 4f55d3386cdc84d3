"""Which version of UDR agrees best with the scores from labels?

Duan et al. 2020, Tables 1 and 7 and Figure 6: the similarity by which latents are compared, and the
models that are compared with each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from tasks.report.frames import DATA_SET, groups
from tasks.report.labels import data_label, method_label
from tasks.report.matrices import correlation_cell
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
from tasks.report.questions.quality import disentanglement
from tasks.report.results import Column, Results
from tasks.report.spearman import correlation_matrix
from tasks.words import data_name, number, plural, with_deviation

QUESTION = Question(
    "Which version of UDR?", section="quality", papers=(("duan-2020", "Tables 1 and 7, Figure 6"),)
)
MOST_OPEN = 2  # data sets


@dataclass(frozen=True)
class VersionRows:
    """Of a data set and method: rank correlations of every version with every score."""

    data: str
    source: str
    method: str
    rho: NDArray[np.float64]  # (versions, scores); NaN where there is none
    models: int


def answer(results: Results) -> Answer:
    versions, scores = results.udr_versions, disentanglement(results.columns)
    every = of_versions(results.models, versions, scores) if versions and scores else []
    known = [rows for rows in every if np.isfinite(rows.rho).any()]
    if not known:
        return missing("No rank correlation of any version of UDR with a score from labels.")
    text = (
        "Spearman's rank correlation of each version with each score over the models of a data set "
        "and method, and its mean over the scores with the deviation of these correlations."
    )
    tables = []
    for place, key in enumerate(dict.fromkeys((rows.data, rows.source) for rows in known)):
        of_data = [rows for rows in known if (rows.data, rows.source) == key]
        tables.append(_table(of_data, versions, scores, results, opened=place < MOST_OPEN))
    return Answer((*_findings(known, versions), Sentence(text), *tables))


def of_versions(
    models: pd.DataFrame, versions: Sequence[Column], scores: Sequence[Column]
) -> list[VersionRows]:
    collected = []
    for (data, source, method), rows in groups(models, [*DATA_SET, "method"]):
        rho, n = correlation_matrix(rows[[column.id for column in (*versions, *scores)]])
        some = rho[: len(versions), len(versions) :]
        count = int(n[: len(versions), len(versions) :].max())
        collected.append(VersionRows(data, source, method, some, count))
    return collected


def _findings(known: Sequence[VersionRows], versions: Sequence[Column]) -> list[Sentence]:
    """The best version on average, and how often it beats the second: only over the cases that
    all versions have, as others may be easier."""
    rho = np.concatenate([rows.rho.T for rows in known])  # (data sets, methods, scores; versions)
    rho = rho[:, np.isfinite(rho).any(axis=0)]
    names = [v for v, there in zip(versions, _there(known), strict=True) if there]
    rho = rho[np.isfinite(rho).all(axis=1)]
    if len(names) < 2 or not len(rho):
        return []
    means = rho.mean(axis=0)
    best, second = np.argsort(-means, kind="stable")[:2]
    wins = float(np.mean(rho[:, best] > rho[:, second]))
    text = Markup(
        "<b>{}</b> has the highest mean rank correlation with the scores from labels, {} over {}; "
        "the next is {}, with {}. The first is higher than the second in {} of the cases; the "
        "means of the versions differ by {} at most."
    ).format(
        names[best].title,
        _mean_text(rho[:, best]),
        plural(len(rho), "data set, method and score", "cases"),
        names[second].title,
        _mean_text(rho[:, second]),
        f"{100 * wins:.0f}%",
        number(max(abs(a - b) for a, b in combinations(means.tolist(), 2)), 2),
    )
    return [Sentence(text, "finding")]


def _there(known: Sequence[VersionRows]) -> NDArray[np.bool_]:
    """Which versions have any correlation."""
    there: NDArray[np.bool_] = np.any([np.isfinite(rows.rho).any(axis=1) for rows in known], axis=0)
    return there


def _mean_text(values: NDArray[np.float64]) -> str:
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return with_deviation(float(np.mean(values)), deviation)


def _table(
    of_data: Sequence[VersionRows],
    versions: Sequence[Column],
    scores: Sequence[Column],
    results: Results,
    opened: bool,
) -> Table:
    """Versions below each other within a method; last the mean over methods."""
    headings = (
        Heading("Method"),
        Heading("Version"),
        *(Heading(score.title, numeric=True) for score in scores),
        Heading("Mean", numeric=True),
    )
    rows = []
    for of_method in of_data:
        label = Cell(method_label(of_method.method, results.styles), of_method.method, style="who")
        for version, values in zip(versions, of_method.rho, strict=True):
            below = (f"n = {of_method.models:,}",)
            rows.append(Row((label, Cell(version.title), *_cells(values), _mean(values, below))))
    if len(of_data) > 1:
        every = np.stack([of_method.rho for of_method in of_data])
        for place, version in enumerate(versions):
            cells = (_mean(every[:, place, score]) for score in range(len(scores)))
            mean = _mean(every[:, place].ravel())
            rows.append(
                Row((Cell("Mean of methods"), Cell(version.title), *cells, mean), style="mean")
            )
    first = of_data[0]
    return Table(
        headings,
        tuple(rows),
        style="tight heat",
        caption=f"{data_name(first.data)}: rank correlations of versions of UDR with scores",
        summary=data_label(first.data, first.source),
        open=opened,
    )


def _cells(values: NDArray[np.float64]) -> Iterator[Cell]:
    return (correlation_cell(float(value)) for value in values)


def _mean(values: NDArray[np.float64], below: tuple[str, ...] = ()) -> Cell:
    known = values[np.isfinite(values)]
    mean = float(np.mean(known)) if len(known) else float("nan")
    return correlation_cell(mean, _mean_text(known) if len(known) else "", below)
