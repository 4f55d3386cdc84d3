"""Which kind of model is most disentangled, complete and informative?

Eastwood and Williams 2018, Tables 1, 3 and 4: DCI by two regressors, of kinds of models that need
not be VAEs. Codes have no order of their own. So the disentanglement of single codes is sorted, the
paper's likewise, and listed without a comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from markupsafe import Markup

from tasks.report.kind_tables import factor_table, in_paper, paper_line, paper_note
from tasks.report.kinds import (
    CODES,
    NO_SCORES,
    REGRESSORS,
    Estimate,
    OfData,
    RegressorScores,
    by_data,
    estimate,
    few_seeds,
    ranked,
)
from tasks.report.papers_kinds import Number, beside
from tasks.report.published import (
    KINDS,
    KINDS_CODES,
    KINDS_COMPLETENESS,
    KINDS_ERRORS,
    KINDS_FACTORS,
    KINDS_SCORES,
)
from tasks.report.questions import (
    Answer,
    Cell,
    Content,
    Heading,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Results
from tasks.words import data_name, number

QUESTION = Question(
    "Which kind of model is most disentangled, complete and informative?",
    menu="Kinds of models",
    papers=(("eastwood-2018", "Tables 1, 3 and 4"),),
    needs_real_factors=True,
)
DISENTANGLEMENT, COMPLETENESS, ERROR = PARTS = ("disentanglement", "completeness", "nrmse_test")
WORDS = {DISENTANGLEMENT: "disentangled", COMPLETENESS: "complete", ERROR: "informative"}
SHORT = {DISENTANGLEMENT: "D", COMPLETENESS: "C", ERROR: "NRMSE"}
LONG = {DISENTANGLEMENT: "disentanglement", COMPLETENESS: "completeness", ERROR: "NRMSE on test"}
OF_FACTORS = {COMPLETENESS: KINDS_COMPLETENESS, ERROR: KINDS_ERRORS}
TABLES = {"dci_lasso": 3, "dci_forest": 4}
ABOUT = (
    "A kind is a method at one strength; numbers are means over its seeds. For each factor a "
    "regressor predicts its value from all codes: a lasso, or a forest of trees. Disentanglement D "
    "is 1 where each code matters for one factor, completeness C where each factor needs one code. "
    "NRMSE is the error on test rows, which the paper takes for informativeness: 0 is best, and "
    "guessing the mean gives 1."
)
NO_ORDER = (
    "Codes have no order of their own: those of each model are sorted by falling disentanglement "
    "before the mean over seeds is taken. The paper's are sorted likewise, and only listed."
)


def answer(results: Results) -> Answer:
    sets = by_data(results)
    scores = RegressorScores(results, sets, [*PARTS, CODES])
    published = tuple(beside(_numbers(), sets, scores, results.study))
    content: list[Content] = []
    for of_data in sets:
        if regressors := scores.regressors(of_data, DISENTANGLEMENT):
            content += _of_data(of_data, regressors, scores, results)
    if not content:
        return replace(missing(NO_SCORES), published=published)
    return Answer((Sentence(ABOUT), *content), published)


def _of_data(
    of_data: OfData, regressors: Sequence[str], scores: RegressorScores, results: Results
) -> Iterator[Content]:
    for regressor in regressors:
        yield _finding(of_data, regressor, scores)
    yield _averages(of_data, regressors, scores, results)
    if few := few_seeds(of_data):
        yield Sentence(few, "note")
    yield from paper_note(of_data, results)
    yield Sentence(NO_ORDER, "note")
    for regressor in regressors:
        yield _codes(of_data, regressor, scores, results)
        for part, of_factors in OF_FACTORS.items():
            papers = _with_mean(of_factors, regressor, part)
            what = f"{LONG[part]}, by factor"
            yield factor_table(of_data, scores, regressor, part, what, papers, results)


def _finding(of_data: OfData, regressor: str, scores: RegressorScores) -> Sentence:
    """The best kind by each of the three."""
    parts = []
    for part in PARTS:
        means = [scores.mean(kind, regressor, part) for kind in of_data.kinds]
        if order := ranked(of_data.kinds, means, less=part == ERROR):
            kind, mean = order[0]
            text = f"most {WORDS[part]} is {kind.title}, {SHORT[part]} = {mean.text}"
            if len(order) > 1:
                text += f", before {order[1][0].title}, {order[1][1].text}"
            parts.append(text)
    finding = Markup("<b>{}</b>, by {}: {}.")
    where, how = data_name(of_data.data), REGRESSORS[regressor]
    return Sentence(finding.format(where, how, "; ".join(parts)), "finding")


def _averages(
    of_data: OfData, regressors: Sequence[str], scores: RegressorScores, results: Results
) -> Table:
    columns = [(regressor, part) for regressor in regressors for part in PARTS]
    rows = []
    for kind in of_data.kinds:
        cells = [kind.cell(results)]
        for regressor, part in columns:
            papers = KINDS_SCORES.get((regressor, in_paper(of_data, kind)))
            below = paper_line(papers[PARTS.index(part)] if papers else None)
            cells.append(scores.mean(kind, regressor, part).cell(*below))
        rows.append(Row((*cells, Cell(f"{len(kind.models):,}", len(kind.models)))))
    headings = (
        Heading("Kind"),
        *(Heading(f"{SHORT[part]}, {REGRESSORS[name]}", numeric=True) for name, part in columns),
        Heading("Seeds", numeric=True),
    )
    return Table(
        headings,
        tuple(rows),
        style="tight",
        caption=f"{data_name(of_data.data)}: means over codes or factors",
        row_headings=True,
    )


def _codes(of_data: OfData, regressor: str, scores: RegressorScores, results: Results) -> Table:
    """Disentanglement of single codes, ours and the paper's, each sorted."""
    latents = max(int(kind.models["latents"].max()) for kind in of_data.kinds)
    rows = []
    for kind in of_data.kinds:
        of_models = -np.sort(-scores.codes(kind, regressor), axis=1)
        names = (kind.method, kind.strength, regressor, CODES)
        means = [estimate(column, *names, place) for place, column in enumerate(of_models.T)]
        means += [Estimate()] * (latents - len(means))
        whole = scores.mean(kind, regressor, DISENTANGLEMENT)
        cells = [Cell(number(mean.mean, 2), mean.mean) for mean in (*means, whole)]
        rows.append(Row((kind.cell(results), *cells)))
        name = in_paper(of_data, kind)
        if papers := KINDS_CODES.get((regressor, name)):
            values = [*sorted(papers, reverse=True)[:latents], *[None] * (latents - len(papers))]
            values.append(KINDS_SCORES[regressor, name][0])
            listed = tuple(Cell(number(value, 2), value, style="muted") for value in values)
            rows.append(Row((Cell(f"{name} in the paper", style="muted"), *listed)))
    return Table(
        (
            Heading("Kind"),
            *(Heading(f"{place}.", numeric=True) for place in range(1, latents + 1)),
            Heading("weighted mean", numeric=True),
        ),
        tuple(rows),
        style="tight",
        row_headings=True,
        summary=f"{data_name(of_data.data)}, {REGRESSORS[regressor]}: disentanglement of codes",
        open=False,
    )


def _with_mean(
    of_factors: Mapping[tuple[str, str], tuple[float, ...]], regressor: str, part: str
) -> dict[str, tuple[float, ...]]:
    """The paper's numbers of each factor and their mean, by kind."""
    place = PARTS.index(part)
    return {n: (*of_factors[regressor, n], KINDS_SCORES[regressor, n][place]) for n in KINDS}


def _numbers() -> Iterator[Number]:
    """Tables 1, 3 and 4."""
    for regressor, table in TABLES.items():
        for name in KINDS:
            for part, value in zip(PARTS, KINDS_SCORES[regressor, name], strict=True):
                yield Number(name, 1, regressor, part, LONG[part], value)
            for part, papers in OF_FACTORS.items():
                for factor, value in zip(KINDS_FACTORS, papers[regressor, name], strict=True):
                    yield Number(name, table, regressor, part, LONG[part], value, factor)
