"""How do the best and the worst model by UDR look?"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from tasks.best import best_and_worst
from tasks.report.frames import DATA_SET, groups
from tasks.report.labels import data_label
from tasks.report.portrait import portrait, range_text
from tasks.report.questions import (
    Answer,
    PortraitGroup,
    Portraits,
    Question,
    Sentence,
    missing,
)
from tasks.report.results import Column, Results
from tasks.words import data_name, method_name, strength_text

QUESTION = Question("Best and worst by UDR", menu="Pictures")
MOST_GROUPS = 14  # with more data sets × methods, one pair per data set
HEADINGS = {
    "best": "Best by UDR",
    "worst": "Worst by UDR",
    "only": "The only ranked model",
    "example": "Example, not ranked",
}
CAPTIONS = {
    "best": "Traversal of the best model",
    "worst": "Traversal of the worst model",
    "only": "Traversal of the only ranked model",
    "example": "Traversal",
}


@dataclass(frozen=True)
class Choice:
    """Models to show of one data set, and of one method or of all."""

    data: str
    source: str
    method: str | None
    models: tuple[tuple[str, str], ...]  # role, model_id


def answer(results: Results) -> Answer:
    choices = choose(results.models, results.udr)
    if not choices:
        return missing("No trained models, so no pictures.")
    text = "No UDR yet, so no best and no worst: the first model of each group, as an example. "
    if results.udr:
        per = "data set and method" if choices[0].method else "data set"
        text = (
            f"Latent traversals of the models that “{results.udr.title}” ranks first and last per "
            f"{per}. "
        )
    threshold = strength_text(results.study.udr.kl_threshold)
    text += (
        f"Each row moves one latent {range_text(results.study)} and leaves the others; rows are "
        f"ordered by falling KL, and latents with a KL of at most {threshold} nats are greyed, "
        "since they carry nothing."
    )
    if not results.models["kl"].notna().all():
        text += " Methods without a posterior have no KL: their latents stay in their own order."
    return Answer((Sentence(text), Portraits(tuple(_group(c, results) for c in choices))))


def choose(models: pd.DataFrame, udr: Column | None) -> list[Choice]:
    """Best and worst by UDR; where nothing is ranked, one example."""
    keys = [*DATA_SET, "method"]
    by_method = models[keys].drop_duplicates().shape[0] <= MOST_GROUPS
    choices = []
    for key, rows in groups(models, keys if by_method else DATA_SET):
        data, source, *method = key
        choices.append(Choice(data, source, method[0] if method else None, _roles(rows, udr)))
    return choices


def _roles(rows: pd.DataFrame, udr: Column | None) -> tuple[tuple[str, str], ...]:
    ends = best_and_worst(rows[["model_id", udr.id]].to_dict("records"), udr.id) if udr else ()
    ids = [str(row["model_id"]) for row in ends]
    if not ids:
        return (("example", str(rows["model_id"].iloc[0])),)
    return tuple(zip(("best", "worst"), ids, strict=True)) if len(ids) > 1 else (("only", ids[0]),)


def _group(choice: Choice, results: Results) -> PortraitGroup:
    models = results.models
    of_data = models[(models["data"] == choice.data) & (models["source"] == choice.source)]
    columns = [column for column in results.columns if of_data[column.id].notna().any()]
    columns.sort(key=lambda column: not column.is_udr)
    title: str = data_label(choice.data, choice.source)
    if choice.method:
        title += f" · {method_name(choice.method)}"
    by_id = of_data.set_index("model_id", drop=False)
    method = f" with {method_name(choice.method)}" if choice.method else ""
    return PortraitGroup(
        title,
        tuple(
            portrait(
                HEADINGS[role],
                f"{CAPTIONS[role]} on {data_name(choice.data)}{method}: a row per latent",
                by_id.loc[model_id].to_dict(),
                columns,
                results,
            )
            for role, model_id in choice.models
        ),
    )
