"""How do reconstructions look? Locatello et al. 2019, Figure 7: of one model drawn per data set."""

from __future__ import annotations

from tasks.report import intervals
from tasks.report.figures.portraits import pictures_of
from tasks.report.frames import DATA_SET, groups
from tasks.report.labels import data_label
from tasks.report.portrait import portrait
from tasks.report.questions import (
    Answer,
    PortraitGroup,
    Portraits,
    Question,
    Sentence,
    missing,
)
from tasks.report.results import Results

QUESTION = Question(
    "How do reconstructions look?",
    section="pictures",
    papers=(("locatello-2019", "Figure 7"),),
)
ABOUT = (
    "One model per data set, drawn at random, the same each time: pictures above, what the model "
    "makes of them below."
)


def answer(results: Results) -> Answer:
    collected = []
    for (data, source), rows in groups(results.models, DATA_SET):
        drawn = int(intervals.stream("example", data, source).integers(len(rows)))
        model = rows.iloc[drawn].to_dict()
        pictures = pictures_of(results.store, [model], kinds=("reconstruction",))
        one = portrait("Drawn at random", "", model, (), results, pictures[str(model["model_id"])])
        if one.reconstruction:
            collected.append(PortraitGroup(data_label(data, source), (one,)))
    if not collected:
        return missing("No reconstructions: no model has been trained, or the table is empty.")
    return Answer((Sentence(ABOUT), Portraits(tuple(collected))))
