"""A page per cell: its scores, its models, and how some of them look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import quote

import pandas as pd
from markupsafe import Markup

from tasks.best import best_and_worst
from tasks.report.every_model import cell_page
from tasks.report.extra_files import PICTURES
from tasks.report.figures.bands import training_plot
from tasks.report.figures.portraits import pictures_of
from tasks.report.frames import CELL, groups
from tasks.report.labels import data_label, method_label
from tasks.report.portrait import portrait
from tasks.report.questions import (
    Answer,
    Cell,
    Content,
    Figure,
    FigureGroup,
    Figures,
    Heading,
    Portrait,
    PortraitGroup,
    Portraits,
    Row,
    Sentence,
    Table,
)
from tasks.report.questions.curves import (
    about_curves,
    curve_summary,
    logged,
    models_with_curve,
)
from tasks.report.results import Results
from tasks.words import MISSING, cell_title, data_name, number, plural


def cell_pages(results: Results) -> Iterator[tuple[str, str, Answer]]:
    """The name of the page, its title and its content, of every cell that has a model."""
    curves = dict(groups(curve_summary(results.frames), CELL))
    with_curve = dict(groups(models_with_curve(results.frames), CELL))
    trained = dict(groups(results.models, CELL))
    for key, ended in groups(results.frames.models, CELL):
        data, source, method, strength = key
        name = cell_page({"data": data, "source": source, "method": method, "strength": strength})
        title = cell_title(method, strength)
        rows = trained.get(key, results.models.iloc[:0])
        portraits = _portraits(rows, results)
        content: list[Content] = [
            _about(ended, rows, results),
            _models(ended, rows, portraits, results),
            *_curves(curves.get(key), with_curve.get(key), key, results),
        ]
        if portraits:
            group = PortraitGroup("How they look", tuple(portraits.values()))
            content.append(Portraits((group,)))
        yield name, f"{title} on {data_name(data)}", Answer(tuple(content))


def _about(ended: pd.DataFrame, trained: pd.DataFrame, results: Results) -> Sentence:
    first = ended.iloc[0]
    cell = {name: first[name] for name in CELL}
    link = '<a href="../models.html#cell={}">In the table of all models</a>'
    text = Markup("{} on {}: {} of {} trained. " + link + ".").format(
        method_label(first["method"], results.styles, first["strength"]),
        data_label(first["data"], first["source"]),
        len(trained),
        plural(len(ended), "model"),
        quote(cell_page(cell)),
    )
    return Sentence(text)


def _models(
    ended: pd.DataFrame, trained: pd.DataFrame, portraits: Mapping[str, Portrait], results: Results
) -> Table:
    """A row per model, the best by UDR first. report.js adds links to a model's own files."""
    columns = [c for c in results.columns if trained[c.id].notna().any()]
    udr = results.udr
    by_id = trained.set_index("model_id")
    if udr is not None:
        order = by_id[udr.id].sort_values(ascending=False, kind="stable", na_position="last").index
        others = [i for i in ended["model_id"] if i not in by_id.index]
        ended = ended.set_index("model_id").loc[[*order, *others]].reset_index()
    headings = (
        Heading("Model", style="pin narrow"),
        Heading("Seed", style="narrow"),
        Heading("Status", style="narrow"),
        *(Heading(column.title) for column in columns),
    )
    rows = []
    for place, row in enumerate(ended.to_dict("records"), 1):
        model_id = str(row["model_id"])
        known = model_id in by_id.index
        scores = [float(by_id[c.id][model_id]) if known else None for c in columns]
        rows.append(
            Row(
                (
                    Cell(
                        Markup('<code id="{}">{}</code>').format(model_id, model_id),
                        place,
                        below=(_files(portraits.get(model_id)),),
                        style="pin who",
                    ),
                    Cell(str(row["seed"]), row["seed"]),
                    Cell(row["status"], place, below=(row["reason"],) if row["reason"] else ()),
                    *(_score(score) for score in scores),
                )
            )
        )
    return Table(
        headings,
        tuple(rows),
        id="cell-models",
        style="scores",
        caption="Models of the cell",
        row_headings=True,
        sortable=True,
    )


def _files(portrait: Portrait | None) -> Markup:
    """A model's traversal, if this report has it."""
    link = Markup("")
    if portrait and portrait.traversal:
        address = f"../{PICTURES}/{portrait.traversal.name}"
        link = Markup('<a href="{}">traversal</a>').format(address)
    return Markup('<span class="files">{}</span>').format(link)


def _score(score: float | None) -> Cell:
    if score is None or pd.isna(score):
        return Cell(MISSING, style="muted")
    return Cell(number(score), score)


def _curves(
    rows: pd.DataFrame | None,
    models: pd.DataFrame | None,
    key: tuple[str, ...],
    results: Results,
) -> list[Content]:
    if rows is None or models is None:
        return []
    data, _, method, _ = key
    rows, titles = logged(rows)
    if not titles:
        return []
    figure = Figure(
        about_curves(titles),
        f"{about_curves(titles)} over training steps on {data_name(data)}.",
        training_plot(rows, results.styles[method], f"cell curve {key}", titles),
        rows,
        "median, lowest and highest seed",
        models=models["model_id"],
        among=tuple(CELL),
    )
    return [Figures((FigureGroup("Training", (figure,)),))]


def _portraits(rows: pd.DataFrame, results: Results) -> dict[str, Portrait]:
    """By id: the best and the worst model by UDR; without a ranking, the first."""
    if rows.empty:
        return {}
    udr = results.udr
    ends = best_and_worst(rows[["model_id", udr.id]].to_dict("records"), udr.id) if udr else ()
    ids = [str(row["model_id"]) for row in ends] or [str(rows["model_id"].iloc[0])]
    headings = ("Best by UDR", "Worst by UDR") if len(ids) > 1 else ("An example",)
    by_id = rows.set_index("model_id", drop=False)
    chosen = [by_id.loc[model_id].to_dict() for model_id in ids]
    pictures = pictures_of(results.store, chosen)
    columns = [column for column in results.columns if rows[column.id].notna().any()]
    return {
        model_id: portrait(heading, "A row per latent", model, columns, results, pictures[model_id])
        for heading, model, model_id in zip(headings, chosen, ids, strict=True)
    }
