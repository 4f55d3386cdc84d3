"""Which ranking without labels agrees best with labels, and what does choosing by it cost?

UDR by each similarity, ModelCentrality, CKA, CCA, training dynamics, ELBO, reconstruction and total
correlation beside each other: over the models of a data set, and over its cells, as the dynamics
are of a cell. No paper has such a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup

from tasks.report.dynamics import Scores, where
from tasks.report.figures.axes import limits
from tasks.report.figures.colours import SPARE
from tasks.report.figures.dot_rows import dot_rows
from tasks.report.figures.sparklines import legend_marker
from tasks.report.frames import DATA_SET, groups
from tasks.report.labels import data_label
from tasks.report.matrices import correlation_cell
from tasks.report.questions import (
    Answer,
    Cell,
    Figure,
    FigureGroup,
    Figures,
    Heading,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.ranking_averages import Average, averages
from tasks.report.results import Results
from tasks.report.side_by_side import (
    CELLS,
    DRAWS,
    MODELS,
    PLACE,
    RHO,
    Comparison,
    compare,
    interval_of,
)
from tasks.report.spearman import ENOUGH
from tasks.report.without_labels import STABILITY, absent, pools_text, rankings_of
from tasks.words import MISSING, data_name, number, plural

QUESTION = Question(
    "Which ranking without labels?", section="unlabelled_choice", needs_factors=True
)
ABOUT = (
    "Spearman's correlation of each ranking without labels with each score from labels. All signs "
    "are turned, so that 1 is agreement: more UDR, centrality, CKA, CCA and ELBO; less "
    "reconstruction error, total correlation and distance of training dynamics; and less where a "
    "score is better so. Over models, and over cells at the means of their models, because "
    "dynamics are of a cell; only those that every ranking of the data set has. A ranking's choice "
    "is the model or cell that it puts first, and its place is where the score of that is between "
    "the worst (0%) and the best (100%). Intervals are 95% of {} redraws of the seeds of each cell."
)


def answer(results: Results) -> Answer:
    compared = compare(results)
    if not compared:
        return missing(
            f"It needs a ranking without labels and a score from labels that differ over {ENOUGH} "
            "models or cells of a data set."
        )
    every = averages(compared)
    legend = tuple(
        (legend_marker(SPARE[place]), kind) for place, kind in enumerate(_kinds(compared))
    )
    return Answer(
        (
            *(_over_data_sets(average) for average in every if average.data_sets > 1),
            *(_finding(comparison) for comparison in _of_findings(compared)),
            Sentence(ABOUT.format(DRAWS)),
            *_notes(results, compared),
            *(_summary(unit, every, compared) for unit in (MODELS, CELLS) if _of(unit, compared)),
            Figures(tuple(_figures(compared)), legend),
            *(
                table
                for place, comparison in enumerate(compared)
                for table in _tables(comparison, opened=place == 0)
            ),
        )
    )


def _of(unit: str, compared: Sequence[Comparison]) -> list[Comparison]:
    return [comparison for comparison in compared if comparison.unit == unit]


def _kinds(compared: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(kind for comparison in compared for kind in comparison.kinds))


def _of_findings(compared: Sequence[Comparison]) -> Iterator[Comparison]:
    """Of each data set that over cells, if dynamics are among its rankings."""
    for key in dict.fromkeys(comparison.key for comparison in compared):
        of_data = {c.unit: c for c in compared if c.key == key}
        cells = of_data.get(CELLS)
        yield cells if cells and STABILITY in cells.rankings else next(iter(of_data.values()))


def _ordered(means: Scores) -> list[int]:
    """The places of the numbers, the highest first."""
    return [int(place) for place in np.argsort(-means, kind="stable") if np.isfinite(means[place])]


def _mean_text(mean: float, draws: Scores | None) -> str:
    interval = interval_of(draws, RHO)
    return f"ρ = {number(mean, 2)}" + (f" ({interval.text()})" if interval else "")


def _percent(place: float) -> str:
    return f"{100 * place:.0f}%"


def _over_data_sets(average: Average) -> Sentence:
    first, *others = _ordered(average.rho)
    text = Markup("Over {} and their {}, <b>{}</b> has the highest mean correlation with {}, {}")
    draws = average.rho_draws
    text = text.format(
        plural(average.data_sets, "data set"),
        average.unit + "s",
        average.titles[first],
        _scores_text(average.kind),
        _mean_text(average.rho[first], None if draws is None else draws[:, first]),
    )
    rest = [f"{average.titles[r]} {number(average.rho[r], 2)}" for r in others]
    return Sentence(text + (f"; then {', '.join(rest)}" if rest else "") + ".", "finding")


def _scores_text(kind: str) -> str:
    return f"the scores of {kind}" if kind == "disentanglement" else f"the {kind}"


def _finding(comparison: Comparison) -> Sentence:
    """The ranking that agrees most, dynamics, and what the choice is worth."""
    kind, part = next(iter(comparison.kinds.items()))
    rho, draws = comparison.means("rho", part)
    name, units = data_name(comparison.key[0]), plural(comparison.units, comparison.unit)
    ordered = _ordered(rho)
    if not ordered:
        return Sentence(
            f"{name}: no correlation with {_scores_text(kind)} over {units}.", "missing"
        )

    def mean_text(ranking: int) -> str:
        return _mean_text(float(rho[ranking]), None if draws is None else draws[:, ranking])

    first = ordered[0]
    text = Markup("<b>{}</b>: over {} <b>{}</b> agrees best with {}, mean {}").format(
        name, units, comparison.rankings[first].title, _scores_text(kind), mean_text(first)
    )
    if draws is not None and len(ordered) > 1:
        full = draws[np.isfinite(draws[:, ordered]).all(axis=1)][:, ordered]
        if len(full):
            share = _percent(float((full.argmax(axis=1) == 0).mean()))
            text += f", and is first in {share} of the redraws"
    titles = comparison.rankings
    text += "".join(
        f"; {titles[ranking].title.lower()}: {mean_text(ranking)}"
        for ranking in ordered[1:]
        if titles[ranking] == STABILITY
    )
    if len(ordered) > 1 and titles[ordered[-1]] != STABILITY:
        text += f"; {titles[ordered[-1]].title} agrees least, {mean_text(ordered[-1])}"
    return Sentence(text + "." + _choice_text(comparison, first, part), "finding")


def _choice_text(comparison: Comparison, ranking: int, part: slice) -> str:
    """Of MIG, or of the first score that the choice has."""
    known = [
        place
        for place in range(*part.indices(len(comparison.scores)))
        if np.isfinite(comparison.chosen[ranking, place])
    ]
    if not known:
        return ""
    score = next((p for p in known if comparison.scores[p].name == "mig"), known[0])
    places, _ = comparison.means("place", part)
    farthest = _ordered(places)[0]
    unit = comparison.unit
    return (
        f" The {unit} that it puts first has {comparison.scores[score].title} "
        f"{number(comparison.chosen[ranking, score])}, where the best has "
        f"{number(comparison.best[score])} and the median {number(comparison.median[score])}. "
        f"Over these scores the choice of {comparison.rankings[farthest].title} is best, at "
        f"{_percent(places[farthest])} of the way from the worst to the best on average."
    )


def _notes(results: Results, compared: Sequence[Comparison]) -> Iterator[Sentence]:
    there = [
        ranking
        for _, rows in groups(results.models, DATA_SET)
        for ranking in rankings_of(results, rows)
    ]
    if lacking := absent(there):
        yield Sentence(f"Not in this study: {'; '.join(lacking)}.", "note")
    if not any(comparison.tasks for comparison in compared):
        text = "`downstream_logistic`, `downstream_trees` and `fairness` in `metrics.names`"
        yield Sentence(f"No labelled task is scored: {text} would add them.", "note")
    if pools := pools_text(list(dict.fromkeys(there))):
        yield Sentence(f"Models are compared with those of a pool; {pools}.", "note")
    for comparison in compared:
        if comparison.units < comparison.of:
            yield Sentence(
                f"{data_name(comparison.key[0])}: {comparison.units:,} of "
                f"{plural(comparison.of, comparison.unit)} have every ranking.",
                "note",
            )


def _summary(unit: str, every: Sequence[Average], compared: Sequence[Comparison]) -> Table:
    """Means over scores: a row per ranking, a column per data set, and their mean."""
    of_unit = _of(unit, compared)
    titles = list(dict.fromkeys(r.title for c in of_unit for r in c.rankings))
    average_of = {a.kind: a for a in every if a.unit == unit and a.data_sets > 1}
    rows = []
    for kind in _kinds(of_unit):
        for title in titles:
            cells = [_of_data_set(comparison, title, kind) for comparison in of_unit]
            if average_of:
                cells.append(_of_average(average_of.get(kind), title))
            rows.append(Row((Cell(title), Cell(kind), *cells)))
    counts = {average.data_sets for average in average_of.values()}
    over = plural(min(counts), "data set") if len(counts) == 1 else "data sets"
    return Table(
        (
            Heading("Ranking"),
            Heading("Scores"),
            *(Heading(data_label(*comparison.key), numeric=True) for comparison in of_unit),
            *([Heading(f"Mean of {over} with all rankings", numeric=True)] if average_of else []),
        ),
        tuple(rows),
        style="tight heat",
        caption=f"Over {unit}s: mean correlation with the scores, and mean place of the choice",
        row_headings=True,
    )


def _of_data_set(comparison: Comparison, title: str, kind: str) -> Cell:
    titles = [ranking.title for ranking in comparison.rankings]
    if title not in titles or kind not in comparison.kinds:
        return Cell(MISSING, style="muted")
    row, part = titles.index(title), comparison.kinds[kind]
    (rho, draws), (place, _) = comparison.means("rho", part), comparison.means("place", part)
    return _mean_cell(rho[row], None if draws is None else draws[:, row], place[row])


def _of_average(average: Average | None, title: str) -> Cell:
    if average is None or title not in average.titles:
        return Cell(MISSING, style="muted")
    row, draws = average.titles.index(title), average.rho_draws
    of_row = None if draws is None else draws[:, row]
    return _mean_cell(average.rho[row], of_row, average.place[row])


def _mean_cell(rho: float, draws: Scores | None, place: float) -> Cell:
    interval = interval_of(draws, RHO) if np.isfinite(rho) else None
    below = (
        *([interval.text()] if interval else []),
        *([f"choice {_percent(place)}"] if np.isfinite(place) else []),
    )
    return correlation_cell(float(rho), below=below)


def _tables(comparison: Comparison, opened: bool) -> Iterator[Table]:
    """Of one data set: correlations, and what each ranking chooses."""
    name = f"{data_name(comparison.key[0])}, {plural(comparison.units, comparison.unit)}"
    titles = [ranking.title for ranking in comparison.rankings]
    rows = [
        Row((Cell(score.title), *(_rho_cell(comparison, r, s) for r in range(len(titles)))))
        for s, score in enumerate(comparison.scores)
    ]
    yield Table(
        (Heading("Score"), *(Heading(title, numeric=True) for title in titles)),
        tuple(rows),
        style="tight heat",
        caption=f"{name}: correlations of rankings without labels with scores",
        row_headings=True,
        summary=f"{name}: correlations",
        open=opened,
    )
    baselines = (Heading("Best", numeric=True), Heading("Median", numeric=True))
    yield Table(
        (Heading("Score"), *baselines, *(Heading(title, numeric=True) for title in titles)),
        (*_choice_rows(comparison), *_mean_places(comparison)),
        style="tight",
        caption=(
            f"{name}: the score of the {comparison.unit} that each ranking puts first, how far it "
            "is from the best, and its place between the worst (0%) and the best (100%)"
        ),
        row_headings=True,
        summary=f"{name}: choices",
        open=opened,
    )


def _rho_cell(comparison: Comparison, ranking: int, score: int) -> Cell:
    rho = float(comparison.once.rho[0, ranking, score])
    interval = comparison.rho_interval(ranking, score) if np.isfinite(rho) else None
    n = comparison.counts[score]
    fewer = [f"n = {n:,}"] if n < comparison.units else []
    return correlation_cell(rho, below=(*([interval.text()] if interval else []), *fewer))


def _choice_rows(comparison: Comparison) -> Iterator[Row]:
    for s, score in enumerate(comparison.scores):
        best, median = float(comparison.best[s]), float(comparison.median[s])
        middle = comparison.middle[s]
        cells = [
            Cell(number(best), best),
            Cell(number(median), median, (_percent(middle),) if np.isfinite(middle) else ()),
        ]
        for r in range(len(comparison.rankings)):
            chosen, place = float(comparison.chosen[r, s]), comparison.once.place[0, r, s]
            if np.isfinite(place):
                regret = f"{number(abs(best - chosen))} from the best"
                cells.append(Cell(number(chosen), chosen, (regret, _percent(place))))
            else:
                cells.append(Cell(MISSING, style="muted"))
        yield Row((Cell(score.title), *cells))


def _mean_places(comparison: Comparison) -> Iterator[Row]:
    for kind, part in comparison.kinds.items():
        place, draws = comparison.means("place", part)
        middle = comparison.middle[part]
        known = middle[np.isfinite(middle)]
        cells = [
            Cell("100%", 1.0),
            Cell(_percent(known.mean()), float(known.mean())) if len(known) else Cell(MISSING),
        ]
        for r, value in enumerate(place):
            interval = interval_of(None if draws is None else draws[:, r], PLACE)
            below = (interval.percent(),) if interval else ()
            is_known = np.isfinite(value)
            cells.append(Cell(_percent(value), float(value), below) if is_known else Cell(MISSING))
        yield Row((Cell(f"Mean place, {kind}"), *cells), style="mean")


def _figures(compared: Sequence[Comparison]) -> Iterator[FigureGroup]:
    for key in dict.fromkeys(comparison.key for comparison in compared):
        figures = tuple(_figure(comparison) for comparison in compared if comparison.key == key)
        yield FigureGroup(data_label(*key), figures)


def _figure(comparison: Comparison) -> Figure:
    """A row per ranking, the one that agrees most on top."""
    kinds = comparison.kinds
    of_kinds = [comparison.means("rho", part) for part in kinds.values()]
    rho = np.stack([means for means, _ in of_kinds], axis=1)
    spans = np.full((*rho.shape, 2), np.nan)
    for column, (_, draws) in enumerate(of_kinds):
        for row in range(len(rho)):
            if draws is not None and (interval := interval_of(draws[:, row], RHO)):
                spans[row, column] = interval
    first = rho[:, int(np.isfinite(rho).any(axis=0).argmax())]
    order = [*_ordered(first), *np.flatnonzero(~np.isfinite(first))]
    titles = [comparison.rankings[row].title for row in order]
    data = pd.DataFrame(
        {
            "ranking": title,
            "scores": kind,
            "rho": rho[row, column],
            "low": spans[row, column, 0],
            "high": spans[row, column, 1],
        }
        for title, row in zip(titles, order, strict=True)
        for column, kind in enumerate(kinds)
    )
    named = dict(zip(_kinds([comparison]), range(len(kinds)), strict=True))
    styles = [SPARE[0 if kind == "disentanglement" else 1] for kind in named]
    finite = [*rho[np.isfinite(rho)], *spans[np.isfinite(spans)], 0.0]
    units = plural(comparison.units, comparison.unit)
    return Figure(
        f"Mean correlation over {comparison.unit}s",
        f"Mean rank correlation of rankings without labels with scores from labels over {units} "
        f"of {data_name(comparison.key[0])}, with intervals of redrawn seeds.",
        dot_rows(
            titles,
            rho[order],
            styles,
            limits(pd.Series(finite)),
            f"which ranking {comparison.unit} {where(comparison.key)}",
            spans[order],
        ),
        data,
        f"{units}; a row for each ranking",
        models=comparison.models,
    )
