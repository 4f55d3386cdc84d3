"""Do disentangled models save labels? Locatello et al. 2019, Figures 6, 20 and 21.

The efficiency of a model is its accuracy after 100 labels divided by that after 10,000: 1 where 100
labels are as good as 10,000.
"""

from __future__ import annotations

from markupsafe import Markup

from tasks.report import intervals
from tasks.report.figures.axes import limits
from tasks.report.figures.scatter import scatter_plot
from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.labelled_tasks import LEARNERS, disentanglement_of, efficiency
from tasks.report.labels import data_label, method_legend
from tasks.report.questions import (
    Answer,
    Figure,
    FigureGroup,
    Figures,
    Question,
    Sentence,
    missing,
)
from tasks.report.results import Results
from tasks.report.spearman import spearman
from tasks.words import data_name, number

QUESTION = Question(
    "Do disentangled models save labels?",
    section="downstream",
    papers=(("locatello-2019", "Figures 6, 20 and 21"),),
    needs_factors=True,
)
ABOUT = (
    "Up: the efficiency, which is the accuracy after 100 labels divided by that after 10,000. Of 1 "
    "it is where 100 labels are as good as 10,000. Across: a score of disentanglement."
)


def answer(results: Results) -> Answer:
    columns = [efficiency(learner) for learner in LEARNERS]
    models = results.with_parts(columns)
    collected, findings = [], []
    for (data, source), rows in groups(models, DATA_SET):
        figures = []
        best: tuple[float, str] | None = None
        for column in columns:
            for metric in disentanglement_of(results):
                both = rows.dropna(subset=[metric.id, column.id])
                if both.empty:
                    continue
                agreement = spearman(both[metric.id], both[column.id])
                drawing = scatter_plot(
                    models=both,
                    across=metric.id,
                    up=column.id,
                    scales=(limits(both[metric.id]), limits(both[column.id])),
                    across_title=metric.title,
                    styles=results.styles,
                    name=f"efficiency {data} {source} {metric.id} {column.id}",
                )
                title = f"{column.title}, against {metric.title}"
                about = f"{title} on {data_name(data)}: {agreement}."
                kept = both[["model_id", *CELL, "seed", metric.id, column.id]]
                figures.append(Figure(title, about, drawing, kept, str(agreement)))
                signed = None if agreement.rho is None else agreement.rho * metric.direction
                if signed is not None and (best is None or signed > best[0]):
                    interval = intervals.of_rank_correlation(agreement.rho, agreement.n)
                    bounds = f" ({interval.text()})" if interval else ""
                    best = signed, f"{title}: ρ = {number(agreement.rho, 2)}{bounds}"
        if best:
            text = Markup("<b>{}</b>: the strongest relation in the right direction is {}.")
            findings.append(Sentence(text.format(data_name(data), best[1]), "finding"))
        if figures:
            collected.append(FigureGroup(data_label(data, source), tuple(figures)))
    if not collected:
        return missing("No efficiency yet: it needs a labelled task with 10,000 training rows.")
    legend = method_legend(results.styles, "larger marker: greater strength")
    return Answer((Sentence(ABOUT), *findings, Figures(tuple(collected), legend)))
