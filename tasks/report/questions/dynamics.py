"""Which cells learn alike whatever their seed? Holtz et al. 2022, section 3 and Figure 4a.

The score of a cell is the mean MMD² between the training dynamics of every two of its models: lower
is more stable, and by the paper better disentangled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from tasks.citations import PAPERS
from tasks.report import intervals
from tasks.report.claims import Claim, claims_table
from tasks.report.dynamics import (
    NOT_COMPARED,
    Cells,
    Scores,
    cell_text,
    compared_cells,
    has_latents,
    where,
)
from tasks.report.figures.axes import Limits, limits
from tasks.report.figures.swept_lines import SweptLine, line_legend, swept_lines
from tasks.report.frames import CELL, DATA_SET
from tasks.report.intervals import Interval
from tasks.report.kendall import tau_between
from tasks.report.labels import data_label
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
from tasks.report.results import Results
from tasks.report.swept_grids import HOLTZ
from tasks.words import MISSING, data_name, method_name, number, plural, strength_text, symbol

QUESTION = Question(
    "Which cells learn alike, whatever their seed?",
    menu="Training dynamics",
    papers=(("holtz-2022", "section 3 and Figure 4a"),),
)
ABOUT = (
    "The score of a cell is the mean MMD² between the training dynamics of every two of its "
    "models, which differ in their seed only: lower is more stable. Its interval is of a bootstrap "
    "over seeds. A cell whose models have collapsed may be stable because its decoders ignore "
    "their input."
)
DRAWS = 500
BY = [*DATA_SET, "objective"]
MOST_OPEN_ROWS = 40
GROUND_TRUTH = 4  # generative factors of dSprites, by the paper


@dataclass(frozen=True)
class Trend:
    """Kendall's tau of strength and score, at each number of latents and on average."""

    taus: dict[int, float]  # by the number of latents
    mean: float
    interval: Interval | None

    @property
    def rising(self) -> int:
        return sum(tau > 0 for tau in self.taus.values())


@dataclass(frozen=True)
class Smallest:
    """Over the strengths that all numbers of latents have: which of these has the lowest mean."""

    latents: int
    share: float | None  # of redrawn seeds by which it is the same one
    strengths: int


def answer(results: Results) -> Answer:
    cells = compared_cells(results)
    if not len(cells.table):
        return missing(NOT_COMPARED)
    with_latents = has_latents(cells)
    findings = [_most_stable(key, part, with_latents) for key, part in cells.groups(DATA_SET)]
    findings += [s for key, part in cells.groups(BY) for s in _of_method(key, part)]
    return Answer(
        (
            *findings,
            Sentence(ABOUT),
            *claims_table(_claims(cells, results), results.study, PAPERS["holtz-2022"].short),
            *_figures(cells),
            _table(cells, with_latents),
        )
    )


def _most_stable(key: tuple[str, ...], cells: Cells, with_latents: bool) -> Sentence:
    table = cells.table.sort_values("dynamics", kind="stable")
    records = table.to_dict("records")
    best, worst = records[0], records[-1]
    text = Markup("<b>{}</b>: the most stable cell is {}, {}").format(
        data_name(key[0]), cell_text(best, with_latents), _score_text(best)
    )
    if best["collapsed"]:
        text += f", of whose {plural(best['models'], 'model')} {best['collapsed']} collapsed"
    if len(table) > 1:
        text += Markup("; the least stable is {}, {}").format(
            cell_text(worst, with_latents), _score_text(worst)
        )
    return Sentence(text + ".", "finding")


def _score_text(cell: Mapping[Any, Any]) -> str:
    interval = _interval(cell)
    return number(cell["dynamics"]) + (f" ({interval.text(3)})" if interval else "")


def _interval(cell: Mapping[Any, Any]) -> Interval | None:
    return Interval(cell["low"], cell["high"]) if pd.notna(cell["low"]) else None


def _of_method(key: tuple[str, ...], cells: Cells) -> Iterator[Sentence]:
    """What strength and latents do to the scores of one method on one data set."""
    objective = key[-1]
    of = Markup("<b>{}</b>, {}").format(data_name(key[0]), method_name(objective))
    if trend := trend_of(cells, where(key)):
        name = symbol(objective)
        text = Markup("{}: Kendall's τ of {} and the score is {}{}").format(
            of,
            name,
            number(trend.mean, 2),
            f" ({trend.interval.text()})" if trend.interval else "",
        )
        if len(trend.taus) > 1:
            text += (
                f", the mean over {len(trend.taus)} numbers of latents; at {trend.rising} of them "
                f"the score rises with {name}"
            )
        yield Sentence(text + ".", "finding")
    if smallest := smallest_of(cells, where(key)):
        text = Markup("{}: the mean score over {} is lowest with {}").format(
            of,
            plural(smallest.strengths, "strength"),
            plural(smallest.latents, "latent"),
        )
        if smallest.share is not None:
            text += f"; with redrawn seeds it is so in {100 * smallest.share:.0f}% of draws"
        yield Sentence(text + ".", "finding")


def trend_of(cells: Cells, name: str) -> Trend | None:
    """Whether scores rise with strength at a fixed number of latents; None without two strengths
    or where all scores are equal."""
    parts = [(int(latents), part) for (latents,), part in cells.groups(["latents"])]
    taus = {
        latents: float(tau)
        for latents, part in parts
        if np.isfinite(tau := _tau(part, part.table["dynamics"].to_numpy(float)[None])[0])
    }
    if not taus:
        return None
    interval = None
    if cells.fewest_models >= intervals.FEWEST_SEEDS:
        stream = intervals.stream("dynamics trend", name)
        redrawn = np.stack(
            [_tau(part, part.redrawn(DRAWS, stream)) for latents, part in parts if latents in taus]
        )
        known = np.isfinite(redrawn).any(axis=0)
        means = np.nanmean(redrawn[:, known], axis=0)
        if len(means):
            interval = Interval(*map(float, np.quantile(means, intervals.LEVEL)))
    return Trend(taus, float(np.mean(list(taus.values()))), interval)


def _tau(cells: Cells, scores: Scores) -> Scores:
    """Of each row of scores with the strengths."""
    return tau_between(scores, cells.table["strength"].to_numpy(float)[None])[:, 0]


def smallest_of(cells: Cells, name: str) -> Smallest | None:
    """Only where two numbers of latents share a strength."""
    table = cells.table
    numbers = table["latents"].nunique()
    shared = table.groupby("strength")["latents"].nunique() == numbers
    both = table[table["strength"].isin(shared[shared].index)]
    if numbers < 2 or both.empty:
        return None
    latents = both["latents"].to_numpy()
    of_each = np.unique(latents)
    is_of = (latents == of_each[:, None]).astype(float)
    strengths = int(shared.sum())

    def lowest(scores: Scores) -> NDArray[np.int64]:
        chosen: NDArray[np.int64] = of_each[(scores @ is_of.T).argmin(axis=1)]
        return chosen

    best = int(lowest(both["dynamics"].to_numpy(float)[None])[0])
    share = None
    if cells.fewest_models >= intervals.FEWEST_SEEDS:
        drawn = cells.some(both.index).redrawn(DRAWS, intervals.stream("dynamics smallest", name))
        drawn = drawn[np.isfinite(drawn).all(axis=1)]
        share = float((lowest(drawn) == best).mean()) if len(drawn) else None
    return Smallest(best, share, strengths)


def _claims(cells: Cells, results: Results) -> Iterator[Claim]:
    """What section 3.3 says of the β-VAEs on dSprites in Figure 4a."""
    for key, part in cells.some(HOLTZ.members(cells.table).index).groups(BY):
        ids = set(part.model_ids)
        models = results.models[results.models["model_id"].isin(ids)]
        smallest, trend = smallest_of(part, where(key)), trend_of(part, where(key))
        yield Claim(
            "The scores are smallest with as many latents as generative factors (4).",
            "section 3.3, Figure 4a",
            f"The mean over strengths is lowest with {smallest.latents}." if smallest else "",
            smallest is not None and smallest.latents == GROUND_TRUTH,
            models,
            HOLTZ,
        )
        yield Claim(
            "For a fixed number of latents the scores generally increase with β.",
            "section 3.3, Figure 4a",
            f"They do at {trend.rising} of {len(trend.taus)}, mean τ {number(trend.mean, 2)}."
            if trend
            else "",
            trend is not None and trend.mean > 0,
            models,
            HOLTZ,
        )


def _figures(cells: Cells) -> Iterator[Figures]:
    collected = []
    for key, of_data in cells.groups(DATA_SET):
        bounds = of_data.table[["dynamics", "low", "high"]].to_numpy(float).ravel()
        scale = limits(pd.Series(bounds))
        figures = tuple(
            figure
            for of_method, part in of_data.groups(BY)
            for figure in _of_sweeps(of_method, part, scale)
        )
        if figures:
            collected.append(FigureGroup(data_label(*key), figures))
    if collected:
        yield Figures(tuple(collected))


def _of_sweeps(key: tuple[str, ...], cells: Cells, scale: Limits) -> Iterator[Figure]:
    """The score against latents and against strength; against what varies only."""
    table, objective = cells.table, key[-1]
    latents, strengths = (sorted(table[name].unique()) for name in ("latents", "strength"))
    of_latents = ("latents", latents, [str(n) for n in latents], "latents")
    of_strength = ("strength", strengths, [strength_text(s) for s in strengths], symbol(objective))
    for across, lines in ((of_latents, of_strength), (of_strength, of_latents)):
        column, swept, texts, title = across
        if len(swept) < 2:
            continue
        by, values, names, legend = lines
        drawn = []
        for value, name in zip(values, names, strict=True):
            rows = table[table[by] == value].sort_values(column)
            places = [swept.index(one) for one in rows[column]]
            drawn.append(SweptLine(name, rows.assign(place=places)))
        drawing = swept_lines(
            drawn, "dynamics", texts, scale, title, f"dynamics {where(key)} {column}", "Score"
        )
        described = "; ".join(
            f"{legend} {line.value}: " + ", ".join(number(v) for v in line.cells["dynamics"])
            for line in drawn
        )
        method = method_name(objective)
        yield Figure(
            f"{method}: score against {title}",
            f"Score of training dynamics against {title}, {method} on {data_name(key[0])}; "
            f"{described}.",
            drawing,
            table[[*CELL, "objective", "latents", "dynamics", "low", "high", "models"]],
            line_legend(legend, names),
            models=cells.model_ids,
            among=("data", "source", "method"),
        )


def _table(cells: Cells, with_latents: bool) -> Table:
    """Of each data set the most stable first."""
    headings = (
        Heading("Data set"),
        Heading("Cell"),
        Heading("Score", numeric=True),
        Heading("Interval", numeric=True),
        Heading("Models", numeric=True),
        Heading("Collapsed", numeric=True),
    )
    rows = []
    for key, part in cells.groups(DATA_SET):
        for one in part.table.sort_values("dynamics", kind="stable").to_dict("records"):
            interval = _interval(one)
            rows.append(
                Row(
                    (
                        Cell(data_label(*key)),
                        Cell(cell_text(one, with_latents), style="who"),
                        Cell(number(one["dynamics"]), float(one["dynamics"])),
                        Cell(interval.text(3) if interval else MISSING),
                        Cell(str(one["models"]), int(one["models"])),
                        Cell(str(one["collapsed"]), int(one["collapsed"])),
                    )
                )
            )
    return Table(
        headings,
        tuple(rows),
        id="dynamics-table",
        style="tight",
        summary="Cells, the most stable first",
        open=len(rows) <= MOST_OPEN_ROWS,
    )
