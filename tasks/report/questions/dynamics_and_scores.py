"""Do stable training dynamics go with good scores, and how many seeds does that take?

Holtz et al. 2022, Table 1: Spearman's correlation over specifications between the ranking by
dynamics and the mean score, for 5, 10 and 25 seeds. A lower score of dynamics is better, so that
its sign is turned, as is that of metrics of which less is better: above 0 means agreement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from markupsafe import Markup

from tasks.report import intervals
from tasks.report.comparable import with_grid
from tasks.report.dynamics import (
    NOT_COMPARED,
    Cells,
    compared_cells,
    where,
)
from tasks.report.dynamics_correlations import DRAWS, Ranked, correlations
from tasks.report.frames import DATA_SET
from tasks.report.intervals import Interval
from tasks.report.labels import data_label
from tasks.report.published import DYNAMICS_WITH_SCORES
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
from tasks.report.results import Column, Results
from tasks.report.spearman import ENOUGH
from tasks.report.swept_grids import HOLTZ
from tasks.words import MISSING, data_name, method_name, metric_name, number, plural, with_deviation

QUESTION = Question(
    "Do stable dynamics go with good scores?",
    section="dynamics",
    papers=(("holtz-2022", "Table 1"),),
    needs_factors=True,
)
EVERY_METHOD = ""
ABOUT = (
    "Spearman's correlation over cells, between the stability of their dynamics (minus their "
    "score) and the mean of a score from labels over the same models; the sign is turned where "
    "less is better. Above 0 the two agree. For fewer seeds than a cell has, so many different "
    "ones of each cell are drawn, for both numbers: the mean and the deviation (±) over {} draws. "
    "With all seeds it is the correlation itself, and ± and the interval are of a bootstrap over "
    "seeds. The paper says neither what its ± is nor how its seeds were drawn."
)


def answer(results: Results) -> Answer:
    metrics = [metric for metric in results.metrics if metric.direction]
    cells = compared_cells(results, metrics)
    if not len(cells.table):
        return missing(NOT_COMPARED)
    if not metrics:
        return missing("No score says which model is better, so none can agree with dynamics.")
    found = {
        (key, metric): correlations(part, metric, where(key))
        for key, part in _populations(cells)
        for metric in metrics
    }
    findings = [*_findings(found)]
    published = tuple(_published(cells, metrics, results))
    if not findings:
        text = f"A rank correlation needs {ENOUGH} cells of a data set with scores that differ."
        return Answer((Sentence(text, "missing"),), published)
    about = Sentence(ABOUT.format(DRAWS))
    return Answer((*findings, about, _table(found)), published)


def _populations(cells: Cells) -> Iterator[tuple[tuple[str, ...], Cells]]:
    """Per data set all cells, and those of each method where there are several methods."""
    for key, of_data in cells.groups(DATA_SET):
        yield (*key, EVERY_METHOD), of_data
        methods = [*of_data.groups(["objective"])]
        if len(methods) > 1:
            for (objective,), part in methods:
                yield (*key, objective), part


Found = dict[tuple[tuple[str, ...], Column], list[Ranked]]


def _findings(found: Found) -> Iterator[Sentence]:
    """Of each data set, over all methods, the metrics that agree most and least with dynamics."""
    by_data: dict[tuple[str, ...], list[tuple[float, str, Ranked]]] = {}
    for (key, metric), ranked in found.items():
        last = ranked[-1]
        if key[-1] == EVERY_METHOD and last.rho is not None:
            by_data.setdefault(key, []).append((last.rho, metric.title, last))
    for key, of_metrics in by_data.items():
        ordered = sorted(of_metrics, key=lambda one: -one[0])
        _, best, most = ordered[0]
        text = Markup("<b>{}</b>: over {} the stability of dynamics agrees most with {}, {}")
        text = text.format(data_name(key[0]), plural(most.cells, "cell"), best, _rho(most))
        if len(ordered) > 1:
            _, worst, least = ordered[-1]
            mean = float(np.mean([rho for rho, *_ in ordered]))
            text += f", and least with {worst}, {_rho(least)}"
            text += f"; the mean over {len(ordered)} scores is {number(mean, 2)}"
        if most.interval:
            text += " (intervals of redrawn seeds)"
        yield Sentence(text + ".", "finding")


def _rho(ranked: Ranked) -> str:
    return f"ρ = {number(ranked.rho, 2)}" + (
        f" ({ranked.interval.text()})" if ranked.interval else ""
    )


def _table(found: Found) -> Table:
    """A column per number of seeds; all seeds are the last of those that a row has."""
    numbers = sorted(
        {one.seeds for ranked in found.values() for one in ranked if one.rho is not None}
    )
    rows = []
    for (key, metric), ranked in found.items():
        by_seeds = {one.seeds: one for one in ranked}
        method = method_name(key[-1]) if key[-1] != EVERY_METHOD else "all methods"
        rows.append(
            Row(
                (
                    Cell(data_label(key[0], key[1])),
                    Cell(method),
                    Cell(metric.title),
                    *(_cell(by_seeds.get(seeds)) for seeds in numbers),
                )
            )
        )
    return Table(
        (
            *(Heading(text) for text in ("Data set", "Method", "Score")),
            *(Heading(plural(seeds, "seed"), numeric=True) for seeds in numbers),
        ),
        tuple(rows),
        style="tight",
        summary="Rank correlations by number of seeds",
    )


def _cell(ranked: Ranked | None) -> Cell:
    if ranked is None or ranked.rho is None:
        return Cell(MISSING, style="muted")
    below = [ranked.interval.text()] if ranked.interval else []
    every = "all seeds, " if ranked.every else ""
    below.append(f"{every}{plural(ranked.cells, 'cell')}")
    return Cell(with_deviation(ranked.rho, ranked.deviation), ranked.rho, tuple(below))


def _published(cells: Cells, metrics: Sequence[Column], results: Results) -> Iterator[Published]:
    """Table 1, over the paper's cells."""
    by_name = {metric.name: metric for metric in metrics}
    theirs = cells.some(HOLTZ.members(cells.table).index)
    ids = set(theirs.model_ids)
    models = results.models[results.models["model_id"].isin(ids)]
    for name, of_seeds in DYNAMICS_WITH_SCORES.items():
        metric = by_name.get(name)
        ranked = correlations(theirs, metric, "published") if metric and len(ids) else []
        for seeds, (published, deviation) in of_seeds.items():
            ours = next((one for one in ranked if one.seeds == seeds), None)
            row = Published(
                what=f"Rank correlation of dynamics and {_title(name, metric)}, {seeds} seeds",
                ours=ours.rho if ours else None,
                published=published,
                place=QUESTION.place,
                n=ours.cells if ours and ours.rho is not None else None,
                why_not="" if ours and ours.rho is not None else _lacking(metric, ranked, seeds),
                deviation=deviation,
                published_n=len(HOLTZ.strengths) * len(HOLTZ.latents),
                interval=ours.interval if ours else None,
                published_interval=_normal(published, deviation),
            )
            yield with_grid(row, results.study, models, HOLTZ)


def _normal(mean: float, deviation: float) -> Interval:
    """Of a number that the paper gives with its deviation over draws."""
    half = intervals.NORMAL * deviation
    return Interval(mean - half, min(1.0, mean + half))


def _title(name: str, metric: Column | None) -> str:
    return metric.title if metric else metric_name(name)


def _lacking(metric: Column | None, ranked: Sequence[Ranked], seeds: int) -> str:
    if metric is None:
        return "not scored"
    if not ranked or ranked[-1].rho is None:
        return "too few of the paper's cells"
    return f"the smallest cell has {plural(ranked[-1].seeds, 'model')}, not {seeds}"
