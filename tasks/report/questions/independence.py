"""Do stronger methods have more independent latents?

Locatello et al. 2019, section 5.1: the objectives reduce the total correlation of the sampled
representation; the mean representation, which all scores read, need not follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pandas as pd
from markupsafe import Markup

from models import STUDY_2019
from tasks.report import intervals
from tasks.report.claims import ALL, Claim, claims_table
from tasks.report.comparable import Population, members
from tasks.report.figures.axes import limits
from tasks.report.figures.lines import strength_lines
from tasks.report.figures.scatter import scatter_plot
from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.labels import data_label, method_label, method_legend
from tasks.report.published import SEVEN
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
from tasks.report.results import Column, Results
from tasks.report.spearman import Agreement, spearman
from tasks.report.sweeps import medians, sweep_of
from tasks.words import MISSING, data_name, number, plural

QUESTION = Question(
    "Do stronger methods have more independent latents?",
    menu="Independence",
    papers=(("locatello-2019", "Figures 8 to 10 and 24 to 27"),),
)


def _column(part: str, title: str) -> Column:
    return Column("unsupervised", title, direction=0, part=part)


MEAN = _column("gaussian_total_correlation_mean", "Total correlation, mean codes")
SAMPLED = _column("gaussian_total_correlation_sampled", "Total correlation, sampled codes")
COLUMNS = (
    SAMPLED,
    MEAN,
    _column("mutual_information_sampled", "Mutual information, sampled codes"),
    _column("mutual_information", "Mutual information, mean codes"),
)
ABOUT = (
    "Total correlation is 0 where latents are independent (of a Gaussian fitted to the codes, in "
    "nats); mutual information is the mean over pairs of latents. Every point of a line is a "
    "median over seeds. Strengths of different methods are not comparable: only their order is "
    "drawn. ρ is Spearman's rank correlation of a strength's place with the median."
)
LOG = "log10 "


@dataclass(frozen=True)
class SweepRow:
    """How the quantities of one method move with its strength, and which codes have more."""

    data: str
    source: str
    method: str
    trends: tuple[Agreement, ...]  # of each of COLUMNS
    above: int  # models whose mean codes have more total correlation than their sampled codes
    models: int


def answer(results: Results) -> Answer:
    models = results.with_parts(COLUMNS)
    models = models[models[[column.id for column in COLUMNS]].notna().any(axis=1)]
    if models.empty:
        return missing(
            "No total correlation or mutual information of latents yet: the metric "
            "“unsupervised” measures both."
        )
    rows = trends(models)
    findings = [
        _finding(data, list(part))
        for (data, _), part in groupby(rows, key=lambda row: (row.data, row.source))
    ]
    legend = method_legend(results.styles)
    return Answer(
        (
            Sentence(ABOUT),
            *findings,
            _table(rows, results),
            *claims_table(independence_claims(models), results.study),
            Figures(_figures(models, results), legend),
        )
    )


def trends(models: pd.DataFrame) -> list[SweepRow]:
    rows = []
    for (data, source), of_data in groups(models, DATA_SET):
        table = medians(of_data, [column.id for column in COLUMNS])
        for (method,), part in groups(of_data, ["method"]):
            sweep = table[table["method"] == method]
            both = part[[MEAN.id, SAMPLED.id]].dropna()
            rows.append(
                SweepRow(
                    data,
                    source,
                    method,
                    tuple(spearman(sweep["place"], sweep[column.id]) for column in COLUMNS),
                    int((both[MEAN.id] > both[SAMPLED.id]).sum()),
                    len(both),
                )
            )
    return rows


def _finding(data: str, rows: Sequence[SweepRow]) -> Sentence:
    above, models = sum(row.above for row in rows), sum(row.models for row in rows)
    parts = []
    if share := intervals.of_share(above, models):
        parts.append(
            f"the mean codes have more total correlation than the sampled ones in "
            f"{100 * above / models:.0f}% of {plural(models, 'model')} ({share.percent()})"
        )
    known = [row for row in rows if row.trends[0].rho is not None]
    if known:
        falls = sum((row.trends[0].rho or 0) < 0 for row in known)
        rises = sum((row.trends[1].rho or 0) > 0 for row in known)
        parts.append(
            f"with growing strength it falls for the sampled codes of {falls} of "
            f"{plural(len(known), 'method')}, and rises for the mean codes of {rises}"
        )
    text = Markup("<b>{}</b>: ").format(data_name(data))
    if not parts:
        return Sentence(text + "no total correlation of mean and sampled codes.", "missing")
    return Sentence(text + "; ".join(parts) + ".", "finding")


def independence_claims(models: pd.DataFrame) -> Iterator[Claim]:
    """What the paper says of its data sets, methods and strengths, and what is so here."""
    models = members(models, ALL)
    rows = trends(models)
    betas = Population(SEVEN, ("beta_vae", "beta_tcvae"))
    of_betas = models[models["method"].isin(betas.methods)]
    for column, falls in ((SAMPLED, True), (MEAN, False)):
        place = COLUMNS.index(column)
        known = [
            trend.rho
            for row in rows
            if row.method in betas.methods and (trend := row.trends[place]).rho is not None
        ]
        count = sum((rho < 0) == falls and rho != 0 for rho in known)
        way = "falls" if falls else "rises"
        yield Claim(
            f"{column.title}: with growing strength it {way} for β-VAE and β-TCVAE on all data.",
            "Figure 8" if falls else "Figure 9",
            f"It {way} in {count} of {plural(len(known), 'case')}." if known else "",
            count == len(known),
            of_betas,
            betas,
        )
    highest = _weakest_is_highest(models)
    names = ", ".join(data_name(data) for data, first in highest.items() if not first)
    yield Claim(
        "β-VAE with β = 1 has the highest total correlation of sampled codes, AnnealedVAE apart, "
        "on all data but SmallNORB.",
        "Figure 8",
        f"On {sum(highest.values())} of {plural(len(highest), 'data set')}"
        f"{', not on ' + names if names else ''}."
        if highest
        else "",
        all(first for data, first in highest.items() if data != "smallnorb"),
        models[models["method"] != "annealed_vae"],
        Population(SEVEN, tuple(name for name in STUDY_2019 if name != "annealed_vae")),
    )
    above, count = sum(row.above for row in rows), sum(row.models for row in rows)
    share = intervals.of_share(above, count)
    yield Claim(
        "For a large number of models the mean codes have more total correlation than the sampled.",
        "Figure 10",
        f"For {100 * above / count:.0f}% of {plural(count, 'model')} ({share.percent()})."
        if share
        else "",
        None,
        models,
    )


def _weakest_is_highest(models: pd.DataFrame) -> dict[str, bool]:
    """Per data set that has β-VAE at 1 and anything else: whether its median is the highest."""
    found = {}
    for (data, _), rows in groups(models[models["method"] != "annealed_vae"], DATA_SET):
        table = medians(rows, [SAMPLED.id]).dropna(subset=[SAMPLED.id])
        plain = table[(table["method"] == "beta_vae") & (table["strength"] == 1)]
        if len(plain) and len(table) > 1:
            found[data] = bool(plain[SAMPLED.id].iloc[0] == table[SAMPLED.id].max())
    return found


def _table(rows: Sequence[SweepRow], results: Results) -> Table:
    headings = (
        Heading("Data set"),
        Heading("Method"),
        *(Heading(f"ρ, {column.title.lower()}", numeric=True) for column in COLUMNS),
        Heading("Mean above sampled", numeric=True),
    )
    return Table(
        headings,
        tuple(
            Row(
                (
                    Cell(data_label(row.data, row.source)),
                    Cell(method_label(row.method, results.styles)),
                    *(_trend(trend) for trend in row.trends),
                    _share(row),
                )
            )
            for row in rows
        ),
        style="tight",
        id="independence-table",
    )


def _trend(trend: Agreement) -> Cell:
    if trend.rho is None:
        few = f"{plural(trend.n, 'strength')}: too few" if trend.n else MISSING
        return Cell(few, style="muted")
    return Cell(number(trend.rho, 2), trend.rho)


def _share(row: SweepRow) -> Cell:
    if not row.models:
        return Cell(MISSING)
    share = row.above / row.models
    return Cell(f"{100 * share:.0f}%", share, below=(f"n = {row.models:,}",))


def _figures(models: pd.DataFrame, results: Results) -> tuple[FigureGroup, ...]:
    models = models.assign(**{LOG + column.id: _log(models[column.id]) for column in COLUMNS})
    collected = []
    for (data, source), rows in groups(models, DATA_SET):
        figures = []
        table = medians(rows, [LOG + column.id for column in COLUMNS])
        for column in COLUMNS:
            sweep = sweep_of(table, LOG + column.id)
            if len(sweep):
                drawing = strength_lines(
                    sweep,
                    LOG + column.id,
                    limits(table[LOG + column.id]),
                    results.styles,
                    name=f"sweep {data} {source} {column.id}",
                    title=column.title,
                    powers=True,
                )
                about = f"{column.title} on {data_name(data)}, median per strength."
                values = sweep.assign(**{column.id: 10 ** sweep[LOG + column.id]})
                values = values.drop(columns=LOG + column.id)
                subtitle = "median over seeds, logarithmic"
                ids = rows.loc[rows[LOG + column.id].notna(), "model_id"]
                figures.append(Figure(column.title, about, drawing, values, subtitle, ids))
        if rows[[MEAN.id, SAMPLED.id]].notna().all(axis=1).any():
            figures.append(_mean_against_sampled(rows, data, source, results))
        if figures:
            collected.append(FigureGroup(data_label(data, source), tuple(figures)))
    return tuple(collected)


def _mean_against_sampled(rows: pd.DataFrame, data: str, source: str, results: Results) -> Figure:
    across, up = LOG + SAMPLED.id, LOG + MEAN.id
    scale = limits(pd.concat([rows[across], rows[up]]))
    drawing = scatter_plot(
        models=rows,
        across=across,
        up=up,
        scales=(scale, scale),
        across_title="sampled codes",
        styles=results.styles,
        name=f"mean against sampled {data} {source}",
        diagonal=True,
        powers=True,
        up_title="mean codes",
    )
    agreement = str(spearman(rows[SAMPLED.id], rows[MEAN.id]))
    about = (
        f"Total correlation of mean codes against that of sampled codes on {data_name(data)}; "
        f"on the line they are equal. {agreement}."
    )
    title = "Total correlation: mean codes against sampled"
    data_of = rows[["model_id", *CELL, "seed", SAMPLED.id, MEAN.id]]
    ids = rows.loc[rows[[across, up]].notna().all(axis=1), "model_id"]
    return Figure(title, about, drawing, data_of, f"{agreement}; both axes logarithmic", ids)


def _log(values: pd.Series[float]) -> pd.Series[float]:
    """The power of 10; none of what is not above 0."""
    return pd.Series(np.log10(values.where(values > 0)), index=values.index)
