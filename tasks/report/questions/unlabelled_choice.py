"""Can good models be chosen by what needs no labels? Locatello et al. 2019, Figure 16."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup

from tasks.report import intervals
from tasks.report.frames import DATA_SET, groups
from tasks.report.matrices import correlation_table
from tasks.report.questions import Answer, Question, Sentence, Table, missing
from tasks.report.results import Column, Results
from tasks.report.spearman import correlation_matrix
from tasks.words import data_name, number

QUESTION = Question(
    "Can good models be chosen by loss or total correlation?",
    menu="Without labels",
    papers=(("locatello-2019", "Figures 4 and 16"),),
    needs_factors=True,
)
ABOUT = (
    "Spearman's rank correlation over all models of a data set of four quantities that need no "
    "labels with the scores that do. The reconstruction is an error, so less of it is better; "
    "signs are left as they are."
)
SAMPLED = "gaussian_total_correlation_sampled"
MODELS_OWN = {
    "reconstruction": "Reconstruction error",
    "kl": "KL to the prior",
    "elbo": "ELBO",
}
TOTAL_CORRELATION = Column(
    "unsupervised", "Total correlation, sampled codes", direction=0, part=SAMPLED
)


def answer(results: Results) -> Answer:
    metrics = [m for m in results.metrics if m.kind != "unsupervised"]
    models = results.with_parts([TOTAL_CORRELATION])
    quantities = {**MODELS_OWN, TOTAL_CORRELATION.id: TOTAL_CORRELATION.title}
    content: list[Sentence | Table] = []
    for (data, _), rows in groups(models, DATA_SET):
        content += of_data_set(data, rows, quantities, metrics)
    if not content:
        return missing("No score from labels yet that a loss could be compared with.")
    return Answer((Sentence(ABOUT), *content))


def of_data_set(
    data: str, rows: pd.DataFrame, quantities: dict[str, str], metrics: Sequence[Column]
) -> list[Sentence | Table]:
    known = [name for name in quantities if rows[name].notna().any()]
    scored = [metric for metric in metrics if rows[metric.id].notna().any()]
    if not known or not scored:
        return []
    matrix, counts = correlation_matrix(rows[[*known, *(metric.id for metric in scored)]])
    rho, n = matrix[: len(known), len(known) :], counts[: len(known), len(known) :]
    titles = [quantities[name] for name in known]
    caption = f"{data_name(data)}, n = {int(n.max()):,}"
    table = correlation_table(titles, [metric.title for metric in scored], rho, caption)
    if not np.isfinite(rho).any():
        return [table]
    row, column = divmod(int(np.nanargmax(np.abs(rho))), rho.shape[1])
    of_row = pd.DataFrame(np.abs(rho)).mean(axis=1)  # of what there is
    text = Markup("<b>{}</b>: the strongest relation is that of {} with {}, {}").format(
        data_name(data),
        titles[row],
        scored[column].title,
        intervals.rho_text(float(rho[row, column]), int(n[row, column])),
    )
    if len(scored) > 1:
        best = int(np.nanargmax(of_row))
        mean = number(float(of_row[best]), 2)
        text += f"; over all scores {titles[best]} has most of it, {mean} on average"
    return [Sentence(text + ".", "finding"), table]
