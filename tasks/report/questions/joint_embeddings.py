"""How do models of a cell lie in their joint embedding? Holtz et al. 2022, Figures 3 and 4b–d.

A point is a sample at a snapshot of the training, in the first two dimensions of the embedding of
all models of the cell. Where seeds lie on each other, they learn alike.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from markupsafe import Markup

from infra.store import Store
from tasks.report.dynamics import (
    NOT_COMPARED,
    Cells,
    cell_text,
    compared_cells,
    has_latents,
    where,
)
from tasks.report.embeddings import Embedding, read_embedding
from tasks.report.figures.clouds import Cloud, box_of, cloud_legend, clouds_plot
from tasks.report.figures.colours import KNOWN, SPARE, STEPS
from tasks.report.frames import DATA_SET
from tasks.report.labels import data_label
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
from tasks.words import plural, significant

QUESTION = Question(
    "How do models of a cell lie in their joint embedding?",
    section="dynamics",
    papers=(("holtz-2022", "Figures 3 and 4b–d"),),
)
MOST_SEEDS = len(KNOWN) + len(SPARE)  # as many as there are colours
MOST_LATENTS = 4  # numbers of latents that are drawn at one strength
SINGLE = 2  # models that are drawn by themselves
ABOUT = (
    "A point is a sample at one snapshot of a model's training, in the first two dimensions of the "
    "joint embedding of its cell. In the first figures a colour is a seed: where colours lie on "
    "each other, models learn alike whatever their seed. In the others a colour is a place of the "
    "sample's factors; a single model is drawn at its points of the joint embedding, while the "
    "paper embeds it alone."
)


def answer(results: Results) -> Answer:
    cells = compared_cells(results)
    if not len(cells.table):
        return missing(NOT_COMPARED)
    collected = []
    for key, of_data in cells.groups(DATA_SET):
        figures = tuple(_of_data_set(key, of_data, has_latents(cells), results.store))
        if figures:
            collected.append(FigureGroup(data_label(*key), figures))
    if not collected:
        return missing("No joint embedding has two dimensions, so there is none to draw.")
    return Answer((Sentence(ABOUT), Figures(tuple(collected))))


def chosen(cells: Cells) -> dict[int, str]:
    """Places of cells of one data set, and why each is drawn: the most and the least stable, and at
    the strength of the most stable one each number of latents, or a few of them."""
    order = cells.table["dynamics"].sort_values(kind="stable").index
    best = cells.table.loc[order[0]]
    why = {order[0]: "Most stable"}
    if len(order) > 1:
        why[order[-1]] = "Least stable"
    alike = cells.table[
        (cells.table["objective"] == best["objective"])
        & (cells.table["strength"] == best["strength"])
    ].sort_values("latents")
    if len(alike) > 1:
        count = min(len(alike), MOST_LATENTS)
        places = np.linspace(0, len(alike) - 1, count).round().astype(int)
        for place in alike.index[places]:
            why.setdefault(place, "Same strength")
    return {int(place): reason for place, reason in why.items()}


def _of_data_set(
    key: tuple[str, ...], cells: Cells, with_latents: bool, store: Store
) -> Iterator[Figure]:
    by_place: list[Figure] = []
    records = cells.table.to_dict("records")
    for place, reason in chosen(cells).items():
        cell, models = records[place], cells.compared[place].models
        embedding = read_embedding(store, models.head(MOST_SEEDS))
        if embedding is None:
            continue
        text = cell_text(cell, with_latents)
        name = f"embedding {where(key)} {cell['method']} {cell['strength']}"
        title = f"{reason}: {text}, score {significant(cell['dynamics'])}"
        yield _by_seed(embedding, title, text, name, len(models))
        if not by_place:
            by_place = list(_by_place(embedding, text, name))
    yield from by_place


def _by_seed(embedding: Embedding, title: str, text: str, name: str, of: int) -> Figure:
    seeds = embedding.models["seed"].tolist()
    variables = [style.variable for style in (*KNOWN.values(), *SPARE)][: len(seeds)]
    clouds = [
        Cloud(variable, points)
        for variable, points in zip(variables, embedding.points, strict=True)
    ]
    some = f"{len(seeds)} of {plural(of, 'seed')}" if len(seeds) < of else plural(of, "seed")
    return _figure(
        embedding,
        clouds,
        title,
        f"Joint embedding of {text}, a colour for each seed: {', '.join(map(str, seeds))}.",
        Markup("{}{}: {}").format(
            some, embedding.about(len(seeds)), cloud_legend(variables, list(map(str, seeds)))
        ),
        f"{name} seeds",
    )


def _by_place(embedding: Embedding, text: str, name: str) -> Iterator[Figure]:
    """Single models, and all of them, coloured by where the samples are."""
    if embedding.places is None:
        return
    step = (embedding.places * len(STEPS)).astype(int)
    legend = Markup("{}: low {} high").format(
        embedding.place_name,
        cloud_legend([variable for variable, *_ in STEPS], [""] * len(STEPS)),
    )
    seeds = embedding.models["seed"].tolist()
    parts = [(f"Seed {seed}", [place]) for place, seed in enumerate(seeds[:SINGLE])]
    parts.append((f"{len(seeds)} seeds together", list(range(len(seeds)))))
    for title, models in parts:
        points = embedding.points[models]
        clouds = [
            Cloud(variable, points[:, step == number].reshape(-1, 2))
            for number, (variable, *_) in enumerate(STEPS)
        ]
        yield _figure(
            embedding,
            clouds,
            f"{title}: {text}",
            f"{title} in the joint embedding of {text}, coloured by {embedding.place_name}.",
            legend + embedding.about(len(models)),
            f"{name} place {title}",
            models,
        )


def _figure(
    embedding: Embedding,
    clouds: list[Cloud],
    title: str,
    description: str,
    subtitle: str,
    name: str,
    models: list[int] | None = None,
) -> Figure:
    """All figures of a cell have one scale."""
    drawing = clouds_plot(clouds, box_of(embedding.points.reshape(-1, 2)), name)
    rows = embedding.models if models is None else embedding.models.iloc[models]
    points = embedding.points if models is None else embedding.points[models]
    count = points.shape[1]
    data = pd.DataFrame(
        {
            "model_id": np.repeat(rows["model_id"].to_numpy(), count),
            "seed": np.repeat(rows["seed"].to_numpy(), count),
            "step": np.tile(embedding.steps, len(rows)),
            "sample": np.tile(embedding.samples, len(rows)),
            "x": points[..., 0].ravel(),
            "y": points[..., 1].ravel(),
        }
    )
    return Figure(
        title,
        description,
        drawing,
        data,
        subtitle,
        models=rows["model_id"],
        among=("model_id",),  # those that are not drawn do not lack anything
    )
