"""Do models understand combinations of factors that they were not trained on?

Eastwood and Williams 2018, appendix B.2: Table 5 and Figure 4. Pictures with some combinations of
factors are left out of the training; regressors then predict the factors of that gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

from tasks.report.figures.portraits import pictures_of
from tasks.report.kind_tables import factor_table, paper_note
from tasks.report.kinds import (
    REGRESSORS,
    Estimate,
    Kind,
    OfData,
    RegressorScores,
    by_data,
    estimate,
    ranked,
)
from tasks.report.labels import data_label
from tasks.report.papers_kinds import Number, beside
from tasks.report.portrait import portrait
from tasks.report.published import KINDS, KINDS_DATA, KINDS_FACTORS, KINDS_ZERO_SHOT
from tasks.report.questions import (
    Answer,
    Content,
    Heading,
    PortraitGroup,
    Portraits,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Results
from tasks.words import data_name

QUESTION = Question(
    "Do models understand combinations of factors that they were not trained on?",
    section="kinds_of_models",
    papers=(("eastwood-2018", "Table 5 and Figure 4"),),
    needs_real_factors=True,
)
PICTURES = "zero_shot"
TEST, GAP, GAP_ALONE = "nrmse_test", "nrmse_zero_shot", "nrmse_zero_shot_own"
ABOUT = (
    "The gap is a part of the pictures that no model is trained on; regressors that learn from the "
    "training pictures predict its factors. The error is divided by the deviation of the training "
    "pictures' factors, as in the paper's text, and once more by that of the gap's own, as in its "
    "released code. It is not known which of the two its Table 5 has; we take the released code's. "
    "Only the first is on the scale of the error on test rows, so that growth is of that one."
)
GAP_OF_TEAPOTS = (
    "The gap of the teapots, red ones from above, is that of the paper's released code: red exceeds"
    " green and blue by 0.15, and elevation is above π/4. The printed gap asks nothing of blue, "
    "which does not fit the paper's count of pictures."
)
NONE = (
    "No model has errors on a gap: the scores lack the parts nrmse_zero_shot of dci_lasso and "
    "dci_forest, which only data sets that leave a gap have."
)


def answer(results: Results) -> Answer:
    sets = by_data(results)
    scores = RegressorScores(results, sets, [TEST, GAP, GAP_ALONE])
    published = tuple(beside(_numbers(), sets, scores, results.study))
    content: list[Content] = []
    for of_data in sets:
        regressors = scores.regressors(of_data, GAP)
        content += [_finding(of_data, regressor, scores) for regressor in regressors]
        if regressors:
            content += _tables(of_data, regressors, scores, results)
        if group := _pictures(of_data, results):
            content.append(Portraits((group,)))
    if not content:
        return replace(missing(NONE), published=published)
    return Answer((Sentence(ABOUT), *content), published)


def growth(kind: Kind, regressor: str, scores: RegressorScores) -> Estimate:
    """The error on the gap divided by that on test rows, of each seed."""
    test, gap = (scores.by_model(kind, regressor, part) for part in (TEST, GAP))
    ratios = [gap[i] / test[i] for i in gap if test.get(i)]
    return estimate(ratios, kind.method, kind.strength, regressor, "growth")


def _finding(of_data: OfData, regressor: str, scores: RegressorScores) -> Sentence:
    kinds = of_data.kinds
    errors = [scores.mean(kind, regressor, GAP) for kind in kinds]
    rising = [growth(kind, regressor, scores) for kind in kinds]
    text = Markup("<b>{}</b>, by {}").format(data_name(of_data.data), REGRESSORS[regressor])
    parts = []
    if order := ranked(kinds, errors, less=True):
        kind, error = order[0]
        parts.append(f"{kind.title} has the smallest error on the gap, {error.text}")
        if len(order) > 1:
            parts[0] += f", before {order[1][0].title}, {order[1][1].text}"
    if order := ranked(kinds, rising, less=True):
        kind, least = order[0]
        grown = f"it is {least.text} times that on test rows"
        if len(order) > 1:
            grown += f" for {kind.title}, and {order[-1][1].text} times for {order[-1][0].title}"
        parts.append(grown)
    return Sentence(text + f": {'; '.join(parts)}.", "finding")


def _tables(
    of_data: OfData, regressors: Sequence[str], scores: RegressorScores, results: Results
) -> Iterator[Content]:
    yield _growth(of_data, regressors, scores, results)
    if of_data.data == KINDS_DATA:
        yield Sentence(GAP_OF_TEAPOTS, "note")
    yield from paper_note(of_data, results)
    for regressor in regressors:
        papers = {name: KINDS_ZERO_SHOT[regressor, name] for name in KINDS}
        what = "NRMSE on the gap by factor, scaled as in the"
        for part, how, of_paper in ((GAP_ALONE, "code", papers), (GAP, "text", {})):
            about = f"{what} {how}"
            yield factor_table(of_data, scores, regressor, part, about, of_paper, results)


def _growth(
    of_data: OfData, regressors: Sequence[str], scores: RegressorScores, results: Results
) -> Table:
    """The mean error of each kind on test rows and on the gap."""
    headings = [Heading("Kind")]
    for regressor in regressors:
        for text in ("test", "gap", "gap / test"):
            headings.append(Heading(f"{text}, {REGRESSORS[regressor]}", numeric=True))
    rows = []
    for kind in of_data.kinds:
        cells = [kind.cell(results)]
        for regressor in regressors:
            cells += [scores.mean(kind, regressor, part).cell() for part in (TEST, GAP)]
            cells.append(growth(kind, regressor, scores).cell())
        rows.append(Row(tuple(cells)))
    caption = (
        f"{data_name(of_data.data)}: NRMSE, mean over factors, scaled by the training pictures"
    )
    return Table(tuple(headings), tuple(rows), style="tight", caption=caption, row_headings=True)


def _pictures(of_data: OfData, results: Results) -> PortraitGroup | None:
    """Of the first seed of each kind."""
    models = [kind.first for kind in of_data.shown]
    pictures = pictures_of(results.store, models, kinds=(PICTURES,))
    portraits = tuple(
        portrait(kind.title, "", model, (), results, pictures[str(model["model_id"])])
        for kind, model in zip(of_data.shown, models, strict=True)
        if pictures[str(model["model_id"])].get(PICTURES)
    )
    if not portraits:
        return None
    title = Markup("{} · pictures of the gap").format(data_label(of_data.data, of_data.source))
    return PortraitGroup(title, portraits)


def _numbers() -> Iterator[Number]:
    """Table 5."""
    for (regressor, name), values in KINDS_ZERO_SHOT.items():
        for factor, value in zip((*KINDS_FACTORS, ""), values, strict=True):
            yield Number(name, 5, regressor, GAP_ALONE, "NRMSE on the gap", value, factor)
