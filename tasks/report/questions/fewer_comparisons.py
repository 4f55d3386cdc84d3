"""How good is UDR from fewer comparisons?

Duan et al. 2020, Table 2 and Figure 8; appendix A.5: 20 sets of P partners.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

from tasks.report.comparable import (
    Population,
    members,
    papers_version,
    why_not_quoted,
    with_grid,
)
from tasks.report.fewer_curves import (
    COMPARISONS,
    DRAWS,
    Curve,
    FewerRow,
    averaged,
    curves_of_versions,
    version_rows,
)
from tasks.report.fewer_figures import figures_of_methods, figures_of_versions
from tasks.report.intervals import of_rank_correlation
from tasks.report.labels import method_legend
from tasks.report.published import FEWER_COMPARISONS, FOUR
from tasks.report.questions import (
    Answer,
    Cell,
    Figures,
    Heading,
    Published,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.questions.quality import disentanglement
from tasks.report.results import Column, Results
from tasks.report.spearman import ENOUGH
from tasks.words import MISSING, number, plural, with_deviation

QUESTION = Question(
    "With fewer comparisons", section="quality", papers=(("duan-2020", "Table 2 and Figure 8"),)
)
PLACE = "Duan et al. 2020, Table 2"
MOST_OPEN_ROWS = 20
MOST_DRAWN = 4  # metrics


def answer(results: Results) -> Answer:
    collected = curves_of_versions(results)
    if not collected:
        return missing(
            f"No curve: it needs the table of pairs, {ENOUGH} scored models of a data set and "
            f"method, and more than {COMPARISONS[0]} partners for most of them."
        )
    why_not = why_not_quoted(results.study, results.models)
    about = (
        "The same rank correlation when each model is compared with P partners only: mean of "
        f"{DRAWS} random choices of partners, ± their deviation, averaged over data sets and "
        "methods that have so many."
    )
    metrics = disentanglement(results.columns)
    drawn = _drawn_metrics(metrics)
    by_version = version_rows(collected, metrics)
    content: list[Sentence | Table | Figures] = [Sentence(about)]
    content += [_finding(by_version), _table(by_version, "Versions of UDR")] if by_version else []
    figures, legend = figures_of_versions(collected, drawn, results)
    if figures:
        text = (
            "A line per version of UDR, averaged over the methods of a data set and "
            f"{', '.join(metric.title for metric in drawn)}; with a band of ± one deviation. The "
            "short bar at the right is the correlation with all comparisons."
        )
        content += [Sentence(text), Figures(figures, legend)]
    content.append(_table(fewer_rows(collected, with_published=not why_not), "Every score"))
    main = [c for c in collected if results.udr and c.ranking.name == results.udr.name]
    figures = figures_of_methods(main, drawn, results)
    if figures:
        text = "By method: a line for each, drawn in the same way."
        if not {curve.metric for curve in main} <= {*drawn}:
            text += " The other scores are only in the table."
        content += [Sentence(text), Figures(figures, method_legend(results.styles))]
    return Answer(tuple(content), tuple(_published(results)))


def _finding(rows: Sequence[FewerRow]) -> Sentence:
    """How much of each version's correlation its first P keeps."""
    parts = []
    for row in rows:
        p, first = next((p, c) for p, c in zip(COMPARISONS, row.cells, strict=True) if c)
        parts.append(
            Markup("{}: <b>{}</b> with {} comparisons, {} with all").format(
                row.ranking, with_deviation(*first), p, number(row.with_all, 2)
            )
        )
    return Sentence(Markup("; ").join(parts) + f". {_over(rows)}", "finding")


def _over(rows: Sequence[FewerRow]) -> str:
    most = max(row.curves for row in rows)
    return f"Means over up to {plural(most, 'data set, method and score', 'cases')}."


def fewer_rows(curves: Sequence[Curve], with_published: bool) -> list[FewerRow]:
    """A row per ranking and metric; the paper's case and its numbers first, if wanted."""
    rows: list[FewerRow] = []
    papers = _papers_cases(curves)
    if with_published and papers:
        published = tuple(FEWER_COMPARISONS.get(p) for p in COMPARISONS)
        rows += [*papers, FewerRow("The same in the paper", papers[0].ranking, published, math.nan)]
    for ranking in dict.fromkeys(curve.ranking for curve in curves):
        for metric in dict.fromkeys(curve.metric for curve in curves):
            of_both = [c for c in curves if c.ranking == ranking and c.metric == metric]
            row = averaged(of_both, metric.title)
            rows += [row] if row else []
    return rows


def _papers_cases(curves: Sequence[Curve]) -> list[FewerRow]:
    """The paper's lasso is compared with both of ours."""
    case = [
        curve
        for curve in curves
        if (curve.data, curve.method, curve.metric.name) == ("dsprites", "beta_vae", "beta_vae")
        and papers_version(curve.ranking) == ("lasso", "cell")
    ]
    rows = (
        averaged([c for c in case if c.ranking == ranking], "BetaVAE score, dSprites, β-VAE")
        for ranking in dict.fromkeys(curve.ranking for curve in case)
    )
    return [row for row in rows if row]


def _published(results: Results) -> Iterator[Published]:
    """Intervals are those of a single rank correlation, of which these are means."""
    population = Population(("dsprites",), ("beta_vae",))
    models, n = members(results.models, population), population.models
    for ours in _papers_cases(curves_of_versions(replace(results, models=models))):
        for p, cell in zip(COMPARISONS, ours.cells, strict=True):
            published, deviation = FEWER_COMPARISONS[p]
            row = Published(
                what=f"{ours.ranking} with BetaVAE score, dSprites, β-VAE, P = {p}",
                ours=cell[0] if cell else None,
                published=published,
                place=PLACE,
                n=len(models),
                why_not="too few partners",
                deviation=deviation,
                published_n=n,
                interval=of_rank_correlation(cell[0], len(models)) if cell else None,
                published_interval=of_rank_correlation(published, n),
            )
            yield with_grid(row, results.study, models, population)


def _table(rows: Sequence[FewerRow], summary: str) -> Table:
    reached = [i for i in range(len(COMPARISONS)) if any(row.cells[i] for row in rows)]
    headings = (
        Heading("UDR and"),
        Heading("Ranking"),
        *(Heading(f"P = {COMPARISONS[i]}", numeric=True) for i in reached),
        Heading("all", numeric=True),
    )

    def cell(value: tuple[float, float] | None) -> Cell:
        if value is None:
            return Cell(MISSING)
        return Cell(number(value[0], 2), value[0], (f"± {number(value[1], 2)}",))

    def all_cell(value: float) -> Cell:
        return Cell(MISSING) if math.isnan(value) else Cell(number(value, 2), value)

    return Table(
        headings,
        tuple(
            Row(
                (
                    Cell(row.title),
                    Cell(row.ranking),
                    *(cell(row.cells[i]) for i in reached),
                    all_cell(row.with_all),
                )
            )
            for row in rows
        ),
        style="tight",
        summary=summary,
        open=len(rows) <= MOST_OPEN_ROWS,
    )


def _drawn_metrics(metrics: Sequence[Column]) -> list[Column]:
    """The metrics whose curves are drawn: four at most, the paper's if they are there."""
    return sorted(metrics, key=lambda metric: metric.name not in FOUR)[:MOST_DRAWN]
