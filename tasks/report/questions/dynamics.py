"""Which cells learn alike whatever their seed? Holtz et al. 2022, section 3 and Figure 4a.

The score of a cell is the mean MMD² between the training dynamics of every two of its models: lower
is more stable, and by the paper better disentangled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from tasks.citations import PAPERS
from tasks.report.claims import Claim, claims_table
from tasks.report.dynamics import (
    BY,
    NOT_COMPARED,
    Cells,
    cell_text,
    compared_cells,
    has_latents,
    where,
)
from tasks.report.dynamics_figures import dynamics_figures
from tasks.report.dynamics_trends import smallest_of, trend_of
from tasks.report.frames import DATA_SET
from tasks.report.intervals import Interval
from tasks.report.labels import data_label
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
from tasks.report.swept_grids import HOLTZ
from tasks.words import MISSING, data_name, method_name, number, plural, significant, symbol

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
MOST_OPEN_ROWS = 40
GROUND_TRUTH = 4  # generative factors of dSprites, by the paper


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
            *dynamics_figures(cells),
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
    return significant(cell["dynamics"]) + (f" ({_ends(interval)})" if interval else "")


def _ends(interval: Interval) -> str:
    return f"{significant(interval.low)} to {significant(interval.high)}"


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
                        Cell(significant(one["dynamics"]), float(one["dynamics"])),
                        Cell(_ends(interval) if interval else MISSING),
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
