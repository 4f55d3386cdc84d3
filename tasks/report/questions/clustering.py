"""Do better representations need fewer steps to learn a task?

Duan et al. 2020, appendix A.8 and Figure 11 (right); Holtz et al. 2022, Table 4, second column:
Spearman's correlation with the steps that agents need until they sort sprites by colour. An agent
that did not learn the task counts with its whole budget, so that models of which no agent learned
it share the last rank. Columns are turned so that more is better: below 0 means fewer steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from tasks.report import intervals
from tasks.report.comparable import with_grid, with_rho
from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.labels import data_label, method_label, method_legend
from tasks.report.published import CLUSTERING, UDR_WITH_CLUSTERING
from tasks.report.questions import (
    Answer,
    Cell,
    Figure,
    FigureGroup,
    Figures,
    GridKind,
    Heading,
    Published,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.questions.strengths import choosing
from tasks.report.results import Column, Results, signed_so_more_is_better
from tasks.report.score_scatter import score_scatter
from tasks.report.spearman import Agreement, spearman
from tasks.study.spec import Study
from tasks.words import MISSING, data_name, metric_name, number, plural

QUESTION = Question(
    "Do better representations need fewer steps to learn a task?",
    section="downstream",
    papers=(
        ("duan-2020", "appendix A.8 and Figure 11 (right)"),
        ("holtz-2022", "Table 4"),
    ),
)
STEPS = Column("clustering", "Steps to learn clustering", direction=-1)
LEARNED, SUCCESS, OTHER_HUES, BUDGET = (
    Column("clustering", title, part=part)
    for title, part in (
        ("Agents that learned it", "learned"),
        ("Success", "success"),
        ("Success, other hues", "success other hues"),
        ("Budget", "budget"),
    )
)
PARTS = (LEARNED, SUCCESS, OTHER_HUES, BUDGET)
BY_CHANCE = 0.049  # success of random clicks (tests/tasks/clustering/test_scenes.py)
ABOUT = (
    "Agents learn to move sprites by clicks until those of similar hues are together. The list of "
    "sprites is given, and the model encodes each of them alone: a reduction of the papers' "
    "agents, whose MONet also finds the sprites in a picture. So this says nothing about finding "
    "objects, and no number here is comparable with the papers'. A model's steps are the mean over "
    "its agents of the rewarded steps until nine of ten new scenes succeed; an agent that did not "
    "get there counts with its budget. Correlations are Spearman's, over models, with the interval "
    "of Bonett and Wright; scores of which less is better have their sign turned, so that below 0 "
    "a better score goes with fewer steps. Models of a cell share the stability of their training "
    "dynamics, so that it has no interval."
)


@dataclass(frozen=True)
class Agents:
    """The models of a paper: seeds of a MONet at each of these strengths."""

    strengths: tuple[float, ...]
    seeds: int = 10

    @property
    def models(self) -> int:
        return len(self.strengths) * self.seeds

    def members(self, models: pd.DataFrame) -> pd.DataFrame:
        return models[models["method"].eq("beta_vae") & models["strength"].isin(self.strengths)]

    def reasons(self, study: Study, models: pd.DataFrame) -> Iterator[tuple[GridKind, str]]:
        yield "other architecture", "VAEs that see each sprite alone, the paper's are MONets"
        if len(models) < self.models:
            yield "partial grid", f"{len(models)} of {plural(self.models, 'model')} of the paper"


DUAN, HOLTZ = Agents((0.01, 0.1, 1)), Agents((0, 0.01, 0.1, 1))


def answer(results: Results) -> Answer:
    if STEPS.id not in results.models or results.models[STEPS.id].isna().all():
        lacking = missing(
            "No agent has learned a task with these models: it needs the data set `scene` and the "
            "metric `clustering`, as in the preset `duan-2020-clustering`."
        )
        return Answer(lacking.content, tuple(_published(results, results.models.iloc[:0], None)))
    models = results.with_parts(PARTS)
    models = models[models[STEPS.id].notna()]
    udr = choosing(results.columns, results.models)
    rows = [*results.rankings, *([results.dynamics] if results.dynamics else [])]
    rows += [m for m in results.metrics if m.direction and m.name != STEPS.name]
    figures = tuple(_figures(models, udr, results)) if udr else ()
    legend = method_legend(results.styles, "larger marker: greater strength")
    return Answer(
        (
            *(_finding(key, rows_, udr) for key, rows_ in groups(models, DATA_SET)),
            Sentence(ABOUT),
            _cells(models, udr, results),
            *([_correlations(models, rows)] if rows else []),
            *([Figures(figures, legend)] if figures else []),
        ),
        tuple(_published(results, models, udr)),
    )


def agreement(models: pd.DataFrame, column: Column, outcome: Column = STEPS) -> Agreement:
    """Of the steps, or of success, with a column that is turned so that more is better."""
    return spearman(signed_so_more_is_better(models, [column])[column.id], models[outcome.id])


def reduction(models: pd.DataFrame, ranking: Column) -> tuple[float, float] | None:
    """Steps of the models that the ranking puts last and first, means where several are equal; none
    where all are equal."""
    there = models.dropna(subset=[ranking.id])
    low, high = there[ranking.id].min(), there[ranking.id].max()
    if not low < high:
        return None
    last, first = (there.loc[there[ranking.id] == end, STEPS.id].mean() for end in (low, high))
    return float(last), float(first)


def _finding(key: tuple[str, ...], models: pd.DataFrame, udr: Column | None) -> Sentence:
    never = models[LEARNED.id] == 0
    budget = f"{models[BUDGET.id].max():,.0f} steps"
    text = Markup("<b>{}</b>: agents learned the task with {} of {} within {}").format(
        data_name(key[0]), len(models) - int(never.sum()), plural(len(models), "model"), budget
    )
    if udr is None:
        return Sentence(text + "; there is no UDR to compare with.", "finding")
    of_udr = agreement(models, udr)
    if of_udr.rho is None:
        of_success = agreement(models, udr, SUCCESS)
        least, most = models[SUCCESS.id].min(), models[SUCCESS.id].max()
        text += (
            f". UDR and steps: {of_udr.reason}. In the last test {least:.0%} to {most:.0%} of the "
            f"scenes of a model succeeded (of random clicks {BY_CHANCE:.0%}); UDR and this "
            f"success: {of_success}{_in_brackets(of_success)}."
        )
        return Sentence(text, "finding")
    text += Markup("; UDR and steps have a rank correlation of <b>{}</b>{}").format(
        number(of_udr.rho, 2), _in_brackets(of_udr)
    )
    ends = reduction(models, udr)
    if ends:
        last, first = ends
        change = f"{abs(1 - first / last):.0%}" + (" fewer" if first <= last else " more")
        text += (
            f"; the model with the highest UDR needs {change} than that with the lowest"
            f" ({first:,.0f} and {last:,.0f})"
        )
    return Sentence(text + ".", "finding")


def _in_brackets(of: Agreement) -> str:
    interval = intervals.of_rank_correlation(of.rho, of.n) if of.rho is not None else None
    return f" ({interval.text()})" if interval else ""


def _cells(models: pd.DataFrame, udr: Column | None, results: Results) -> Table:
    """A row per cell: mean steps with their interval over seeds."""
    columns = [*([udr] if udr else []), LEARNED, SUCCESS, OTHER_HUES]
    rows = []
    for key, cell in groups(models, CELL):
        data, source, method, strength = key
        interval = intervals.bootstrap(
            cell[STEPS.id].to_numpy(float)[None],
            lambda drawn: drawn.mean(axis=(1, 2)),
            intervals.stream("clustering", *map(str, key)),
        )
        below = (interval.text(0),) if interval else ()
        means = [float(cell[column.id].mean()) for column in columns]
        mean = float(cell[STEPS.id].mean())
        rows.append(
            Row(
                (
                    Cell(data_label(data, source)),
                    Cell(method_label(method, results.styles, strength), style="who"),
                    Cell(str(len(cell)), len(cell)),
                    Cell(f"{mean:,.0f}", mean, below),
                    *(Cell(number(m, 2), m) if m == m else Cell(MISSING) for m in means),
                )
            )
        )
    numeric = ("Models", STEPS.title, *(column.title for column in columns))
    return Table(
        (Heading("Data set"), Heading("Cell"), *(Heading(text, numeric=True) for text in numeric)),
        tuple(rows),
        style="tight",
        caption="Means over the models of a cell, with the interval of redrawn seeds",
    )


def _correlations(models: pd.DataFrame, rows: Sequence[Column]) -> Table:
    data_sets = list(groups(models, DATA_SET))
    return Table(
        (
            Heading("Score"),
            *(
                Heading(Markup("{}: {}").format(data_label(*key), outcome), numeric=True)
                for key, _ in data_sets
                for outcome in ("steps", "success")
            ),
        ),
        tuple(
            Row(
                (
                    Cell(column.title),
                    *(
                        _rho(agreement(of_data, column, outcome), column)
                        for _, of_data in data_sets
                        for outcome in (STEPS, SUCCESS)
                    ),
                )
            )
            for column in rows
        ),
        style="tight",
        caption="Rank correlation with the steps to learn the task (below 0: better, fewer steps) "
        "and with success in the last test (above 0: better, more success)",
    )


def _rho(of: Agreement, column: Column) -> Cell:
    if of.rho is None:
        return Cell(of.reason if of.n else MISSING, style="muted")
    interval = None if column.name == "dynamics" else intervals.of_rank_correlation(of.rho, of.n)
    below = f"{interval.text()}, n = {of.n:,}" if interval else f"n = {of.n:,}"
    return Cell(number(of.rho, 2), of.rho, (below,))


def _figures(models: pd.DataFrame, udr: Column, results: Results) -> Iterator[FigureGroup]:
    """Steps against UDR; success in the last test where no agent learned the task."""
    for (data, source), rows in groups(models.dropna(subset=[udr.id]), DATA_SET):
        outcome = STEPS if rows[LEARNED.id].gt(0).any() else SUCCESS
        figure: Figure = score_scatter(
            rows,
            udr,
            outcome,
            f"{outcome.title} against UDR",
            f"on {data_name(data)}",
            results.styles,
            f"clustering {data} {source}",
            across_title=f"{udr.title} ({outcome.title.lower()} upwards)",
        )
        yield FigureGroup(data_label(data, source), (figure,))


def _published(results: Results, models: pd.DataFrame, udr: Column | None) -> Iterator[Published]:
    """Duan et al. correlate UDR with data efficiency, which is turned steps; Holtz et al. have
    steps, and turn the sign of their own score, as is done here."""
    duan, holtz = (place for _, place in QUESTION.papers)
    by_name = {metric.name: metric for metric in results.metrics}
    ours = [("UDR", udr, UDR_WITH_CLUSTERING, DUAN, f"Duan et al. 2020, {duan}")]
    for name, rho in CLUSTERING.items():
        column = results.dynamics if name == "dynamics" else by_name.get(name)
        title = "stable dynamics" if name == "dynamics" else metric_name(name)
        ours.append((title, column, rho, HOLTZ, f"Holtz, Mishne and Cloninger 2022, {holtz}"))
    for what, column, published, population, place in ours:
        members = population.members(models)
        row = Published(
            what=f"Rank correlation of {what} with steps to learn clustering",
            ours=None,
            published=published,
            place=place,
            why_not="no agent has learned the task" if column else "not scored",
            published_n=population.models,
        )
        if column is not None and len(members):
            row = with_rho(row, agreement(members, column))
        yield with_grid(row, results.study, members, population)
