"""How did the training go?"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from tasks.report.figures.bands import training_plot
from tasks.report.figures.colours import Style
from tasks.report.frames import CELL, DATA_SET, Frames, groups
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
from tasks.words import data_name, method_name, strength_text, symbol

QUESTION = Question("Training curves", menu="Training")
TITLES = {
    "reconstruction": "Reconstruction, nats per image",
    "kl": "KL, nats per image",
    "loss": "Loss",
}
ABOUT = (
    "Median over seeds, with a band from the lowest seed to the highest, measured on the batch of "
    "each step. The stronger the line, the greater the strength. The first tenth of the training "
    "may lie above the scale of the reconstruction."
)


def answer(results: Results) -> Answer:
    figures = training_curves(results.frames, results.styles)
    if not figures:
        return missing("No training curves yet.")
    return Answer((Sentence(ABOUT), Figures(figures)))


def curve_summary(frames: Frames) -> pd.DataFrame:
    """Median, lowest and highest over seeds of what was logged, per cell and step. The loss is that
    of models without a reconstruction only."""
    keyed = frames.trained[["model_id", *CELL]].merge(frames.curves, on="model_id")
    has_parts = keyed.groupby("model_id")["reconstruction"].transform("count") > 0
    keyed["loss"] = keyed["loss"].mask(has_parts)
    grouped = keyed.groupby([*CELL, "step"], sort=False)[list(TITLES)]
    summary = grouped.agg(["median", "min", "max"])
    summary.columns = summary.columns.map(" ".join)
    return summary.reset_index()


def logged(curves: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Of a summary of some cells what was logged of them, and the titles of it by column."""
    there = {n: title for n, title in TITLES.items() if curves[f"{n} median"].notna().any()}
    absent = [c for c in curves.columns if c.split(" ")[0] in TITLES.keys() - there.keys()]
    return curves.drop(columns=absent), there


def about_curves(titles: Mapping[str, str]) -> str:
    """`Reconstruction and KL`."""
    return " and ".join(title.partition(",")[0] for title in titles.values())


def models_with_curve(frames: Frames) -> pd.DataFrame:
    """model_id and CELL."""
    models = frames.trained[["model_id", *CELL]]
    return models[models["model_id"].isin(frames.curves["model_id"].unique())]


def training_curves(frames: Frames, styles: Mapping[str, Style]) -> tuple[FigureGroup, ...]:
    """Of every method that has steps."""
    of_methods = [*DATA_SET, "method"]
    ids = {key: rows["model_id"] for key, rows in groups(models_with_curve(frames), of_methods)}
    figure_groups = []
    for (data, source), rows in groups(curve_summary(frames), DATA_SET):
        figures = []
        for (method,), of_method in groups(rows, ["method"]):
            title = method_name(method)
            of_method, titles = logged(of_method)
            if not titles:
                continue
            name = f"curve {data} {source} {method}"
            drawing = training_plot(of_method, styles[method], name, titles)
            figures.append(
                Figure(
                    title,
                    f"{about_curves(titles)} of {title} on {data_name(data)} over training steps.",
                    drawing,
                    of_method,
                    _strengths(method, of_method),
                    models=ids[data, source, method],
                    among=tuple(of_methods),
                )
            )
        if figures:
            figure_groups.append(FigureGroup(data_label(data, source), tuple(figures)))
    return tuple(figure_groups)


def _strengths(method: str, rows: pd.DataFrame) -> str:
    if not symbol(method):
        return ""
    strengths = [strength_text(strength) for strength in sorted(rows["strength"].unique())]
    if len(strengths) == 1:
        return f"{symbol(method)} = {strengths[0]}"
    return f"{symbol(method)} from {strengths[0]} (faint) to {strengths[-1]} (strong)"
