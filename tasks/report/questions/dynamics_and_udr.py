"""Does the ranking by training dynamics agree with UDR, and with fairness?

Holtz et al. 2022, Table 4, first column: Spearman's correlation over specifications with
unfairness, of which less is better. The paper's numbers are negative where more of a metric goes
with less unfairness, also that of its own score: its sign is turned here, so that more is more
stable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

from tasks.report import intervals
from tasks.report.comparable import with_grid, with_rho
from tasks.report.dynamics import NOT_COMPARED, Cells, compared_cells, where
from tasks.report.dynamics_figures import unit_of
from tasks.report.frames import CELL, DATA_SET
from tasks.report.labels import data_label, method_legend
from tasks.report.matrices import correlation_cell
from tasks.report.published import DYNAMICS_WITH_UNFAIRNESS, METRICS_WITH_UNFAIRNESS
from tasks.report.questions import (
    Answer,
    Cell,
    Content,
    Figure,
    FigureGroup,
    Figures,
    Heading,
    Published,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.questions.strengths import choosing
from tasks.report.results import Column, Results
from tasks.report.score_scatter import score_scatter
from tasks.report.spearman import Agreement, spearman
from tasks.report.swept_grids import HOLTZ
from tasks.words import MISSING, data_name, metric_name

QUESTION = Question(
    "Does the ranking by dynamics agree with UDR and fairness?",
    section="dynamics",
    papers=(("holtz-2022", "Table 4"),),
)
STABILITY = Column("dynamics", "Stability of dynamics", part="turned")
SCORE = Column("dynamics", "Score of dynamics", direction=-1, part="of a cell")
UNFAIRNESS = Column("fairness", "Unfairness")
ABOUT = (
    "Spearman's correlation over cells, each at the mean over the models that were compared, with "
    "the interval of Bonett and Wright. Stability is minus the score of dynamics, and scores of "
    "which less is better have their sign turned: above 0 a row agrees with UDR. Unfairness is as "
    "it is, less is better: below 0 a row prefers fair cells, as in the paper."
)


def answer(results: Results) -> Answer:
    scored = [metric for metric in results.metrics if metric.direction]
    rankings = [r for r in results.rankings if results.models[r.id].notna().any()]
    cells = with_stability(compared_cells(results, [*rankings, *scored]))
    if not len(cells.table):
        return missing(NOT_COMPARED)
    unfairness = [m for m in scored if m.name == UNFAIRNESS.name]
    others = [*rankings, *unfairness]
    published = tuple(_published(cells, scored, results))
    if not others:
        text = "There is neither UDR nor a score of fairness (the metric `fairness`)."
        return Answer((Sentence(text, "missing"),), published)
    main = choosing(results.columns, results.models)
    rows = [STABILITY, *rankings, *(m for m in scored if m not in unfairness)]
    findings = [
        sentence
        for key, part in cells.groups(DATA_SET)
        for sentence in _findings(key, part, main, unfairness)
    ]
    drawn = tuple(_figures(cells, main, results)) if main else ()
    content: list[Content] = [*findings, Sentence(ABOUT), _table(cells, rows, others)]
    if drawn:
        here = set(cells.table["method"])
        styles = {method: style for method, style in results.styles.items() if method in here}
        content.append(Figures(drawn, method_legend(styles, "larger marker: greater strength")))
    return Answer(tuple(content), published)


def with_stability(cells: Cells) -> Cells:
    return replace(cells, table=cells.table.assign(**{STABILITY.id: -cells.table["dynamics"]}))


def agreement(cells: Cells, row: Column, column: Column) -> Agreement:
    """Over the cells that have both; more of the row is better, the column is as it is."""
    of_row = cells.table[row.id] * (-1 if row.direction < 0 else 1)
    return spearman(of_row, cells.table[column.id])


def _findings(
    key: tuple[str, ...], cells: Cells, udr: Column | None, unfairness: Sequence[Column]
) -> Iterator[Sentence]:
    others = [*([udr] if udr else []), *unfairness]
    for other in others:
        found = agreement(cells, STABILITY, other)
        if found.rho is not None:
            text = Markup("<b>{}</b>: the stability of dynamics and {}, over {} cells: {}.")
            rho = intervals.rho_text(found.rho, found.n)
            name = f"“{other.title}”" if other.is_udr else "unfairness (less is better)"
            yield Sentence(text.format(data_name(key[0]), name, found.n, rho), "finding")


def _table(cells: Cells, rows: Sequence[Column], columns: Sequence[Column]) -> Table:
    headings = (
        Heading("Data set"),
        Heading("Cells ranked by"),
        *(Heading(column.title, numeric=True) for column in columns),
    )
    return Table(
        headings,
        tuple(
            Row(
                (
                    Cell(data_label(*key)),
                    Cell(row.title, below=("sign turned",) if row.direction < 0 else ()),
                    *(_cell(part, row, column) for column in columns),
                )
            )
            for key, part in cells.groups(DATA_SET)
            for row in rows
        ),
        style="tight",
        summary="Rank correlations over cells",
    )


def _cell(cells: Cells, row: Column, column: Column) -> Cell:
    if row == column:
        return Cell(MISSING, style="muted")
    found = agreement(cells, row, column)
    if found.rho is None:
        return Cell(found.reason if found.n else MISSING, style="muted")
    interval = intervals.of_rank_correlation(found.rho, found.n)
    below = (f"{interval.text()}, n = {found.n}",) if interval else ()
    return correlation_cell(found.rho, below=below)


def _figures(cells: Cells, udr: Column, results: Results) -> Iterator[FigureGroup]:
    for key, part in cells.groups(DATA_SET):
        rows = part.table.dropna(subset=[udr.id])
        if len(rows):
            yield FigureGroup(
                data_label(*key), (_figure(key, part.some(rows.index), udr, results),)
            )


def _figure(key: tuple[str, ...], cells: Cells, udr: Column, results: Results) -> Figure:
    unit = unit_of(cells.table)
    figure = score_scatter(
        cells.table.assign(**{SCORE.id: cells.table["dynamics"] * 10.0**unit.power}),
        udr,
        SCORE,
        "Score of dynamics against UDR",
        f"by cell on {data_name(key[0])}",
        results.styles,
        f"dynamics and udr {where(key)}",
        across_title=f"{udr.title} ({unit.title} of dynamics upwards)",
        models=cells.model_ids,
    )
    return replace(
        figure,
        data=cells.table[[*CELL, udr.id, "dynamics"]],
        subtitle=f"stability and UDR: {agreement(cells, STABILITY, udr)}",
    )


def _published(cells: Cells, scored: Sequence[Column], results: Results) -> Iterator[Published]:
    """The first column of Table 4, over the paper's cells."""
    theirs = cells.some(HOLTZ.members(cells.table).index)
    models = results.models[results.models["model_id"].isin(set(theirs.model_ids))]
    by_name = {metric.name: metric for metric in scored}
    unfairness = by_name.get(UNFAIRNESS.name)
    ours = {"stability of dynamics": (STABILITY, DYNAMICS_WITH_UNFAIRNESS)}
    for name, rho in METRICS_WITH_UNFAIRNESS.items():
        ours[metric_name(name)] = (by_name.get(name, Column(name, "")), rho)
    for name, (column, published) in ours.items():
        row = Published(
            what=f"Rank correlation of unfairness and {name}",
            ours=None,
            published=published,
            place=QUESTION.place,
            why_not="not scored" if unfairness is None else "no cells of the paper with both",
            published_n=len(HOLTZ.strengths) * len(HOLTZ.latents),
        )
        if unfairness is not None and column.id in theirs.table:
            row = with_rho(row, agreement(theirs, column, unfairness))
        yield with_grid(row, results.study, models, HOLTZ)
