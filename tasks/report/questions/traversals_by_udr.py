"""How do models of high, middle and low UDR look?

Duan et al. 2020, Figures 1, 3, 10 and 13 to 17.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Literal

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from infra.store import Store
from tasks.report.figures.portraits import pictures_of
from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.labels import data_label, method_label
from tasks.report.portrait import portrait
from tasks.report.questions import (
    Answer,
    Cell,
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
from tasks.report.resampling import pair_matrix
from tasks.report.results import Column, Results
from tasks.streams import stream
from tasks.study.model import cell_of
from tasks.words import MISSING, data_name, method_name, number, plural

QUESTION = Question(
    "Models of high, middle and low UDR",
    section="pictures",
    papers=(("duan-2020", "Figures 1, 3, 10 and 13 to 17"),),
)
DRAWN = 3  # models of a band
MOST_OPEN_ROWS = 20
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Band:
    """Models whose UDR is between two values; which of the two belong to it is for pandas."""

    name: str
    words: str
    low: float
    high: float
    ends: Literal["both", "neither"] = "neither"

    def holds(self, udr: pd.Series[float]) -> pd.Series[bool]:
        return udr.between(self.low, self.high, self.ends)


LOW = Band("Low", "below 0.3", -inf, 0.3)
BANDS = (
    Band("High", "above 0.4", 0.4, inf),
    Band("Middle", "0.3 to 0.4", 0.3, 0.4, "both"),
    LOW,
)
BANDS_WITHOUT_FACTORS = (Band("High", "above 0.6", 0.6, inf), LOW)  # Figures 13 and 14


@dataclass(frozen=True)
class Choice:
    """What is drawn of one band of one data set and method."""

    band: Band
    data: str
    source: str
    method: str
    count: int  # of all models in the band
    drawn: pd.DataFrame  # by falling UDR
    alike: float | None = None  # mean UDR of the pairs of the models that are drawn


def answer(results: Results) -> Answer:
    udr = results.udr
    if udr is None:
        return missing("No UDR yet, so no models of high, middle and low UDR.")
    collected = choices(results, udr)
    portraits = Portraits(
        tuple(_group(choice, results, udr) for choice in collected if len(choice.drawn))
    )
    parts: list[Content] = [Sentence(_about(collected, udr)), _table(collected, results)]
    return Answer((*parts, portraits) if portraits.groups else tuple(parts))


def _about(collected: Sequence[Choice], udr: Column) -> str:
    text = (
        f"Of each data set and method, up to three models of each band of “{udr.title}”, drawn at "
        "random, the same each time. Rows are the latents in their own order; the uninformative "
        "ones are greyed. The mean pairwise UDR is that of the drawn models with each other."
    )
    if any(choice.band in BANDS_WITHOUT_FACTORS[:1] for choice in collected):
        text += " Pictures without factors have the two bands that the paper takes for them."
    return text


def choices(results: Results, udr: Column) -> list[Choice]:
    """Every band of each data set and method that has been ranked."""
    ranked = results.models.dropna(subset=[udr.id])
    collected: list[Choice] = []
    for (data, source), of_data in groups(ranked, DATA_SET):
        bands = bands_of(of_data, results.metrics)
        drawn = [
            (method, band, *_draw(rows, band, udr))
            for (method,), rows in groups(of_data, ["method"])
            for band in bands
        ]
        pairs = pairs_between(results.store, of_data, [rows for *_, rows in drawn], udr.name)
        collected += [
            Choice(band, data, source, method, count, rows, _mean(pairs, rows["model_id"]))
            for method, band, count, rows in drawn
        ]
    return collected


def bands_of(of_data: pd.DataFrame, metrics: Sequence[Column]) -> tuple[Band, ...]:
    """Only the user's own pictures may have no factors, and then no score that needs them."""
    scores = [metric.id for metric in metrics if metric.kind != "unsupervised"]
    own = (of_data["source"] == "user").all()
    return BANDS_WITHOUT_FACTORS if own and not of_data[scores].notna().any(axis=None) else BANDS


def _draw(rows: pd.DataFrame, band: Band, udr: Column) -> tuple[int, pd.DataFrame]:
    """How many models a band has, and those that are drawn."""
    inside = rows[band.holds(rows[udr.id])].sort_values("model_id")
    first = rows.iloc[0]
    names = (first["data"], first["source"], first["method"], udr.id, band.name)
    places = stream("traversals by UDR", *names).permutation(len(inside))[:DRAWN]
    drawn = inside.iloc[places].sort_values(udr.id, ascending=False, kind="stable")
    return len(inside), drawn


def pairs_between(
    store: Store, of_data: pd.DataFrame, drawn: Sequence[pd.DataFrame], similarity: str
) -> pd.DataFrame:
    """UDR of (regressor, target) among the drawn models, by model_id; NaN where not compared.

    Parts of two cells that have no two models of one band are not read: a large study has many.
    """
    models = pd.concat(drawn)
    if models.empty:
        return pd.DataFrame()
    wanted = {pair for rows in drawn for pair in product(_cells(rows), repeat=2)}
    known = _cells(of_data)

    def is_needed(cells: tuple[str, ...]) -> bool:
        return cells in wanted or not known.issuperset(cells)

    udr = pair_matrix(store, models, similarity, is_needed)
    return pd.DataFrame(udr, models["model_id"], models["model_id"])


def _cells(rows: pd.DataFrame) -> set[str]:
    return set(map(cell_of, rows[CELL].drop_duplicates().to_dict("records")))


def _mean(pairs: pd.DataFrame, ids: pd.Series[str]) -> float | None:
    """Over ordered pairs of two models, as far as they have been compared."""
    among: Scores = pairs.loc[list(ids), list(ids)].to_numpy(dtype=float)
    values = among[~np.eye(len(among), dtype=bool) & np.isfinite(among)]
    return float(values.mean()) if len(values) else None


def switched_off(choice: Choice) -> list[int]:
    """Of each model that is drawn; none where latents have no KL."""
    off = choice.drawn["latents"] - choice.drawn["informative"]
    return [round(count) for count in off.dropna()]


def _table(collected: Sequence[Choice], results: Results) -> Table:
    headings = (
        *(Heading(text) for text in ("Data set", "Method", "UDR")),
        Heading("Models", numeric=True),
        Heading("Drawn", numeric=True),
        Heading("Latents switched off"),
        Heading("Mean pairwise UDR", numeric=True),
    )
    rows = []
    for choice in collected:
        off = switched_off(choice)
        cells = (
            Cell(data_label(choice.data, choice.source)),
            Cell(method_label(choice.method, results.styles)),
            Cell(choice.band.words),
            Cell(f"{choice.count:,}", choice.count),
            Cell(str(len(choice.drawn)), len(choice.drawn)),
            Cell(", ".join(map(str, off)) or MISSING),
            Cell(number(choice.alike), choice.alike),
        )
        rows.append(Row(cells))
    return Table(
        headings,
        tuple(rows),
        style="tight",
        summary="Bands of UDR and their models",
        open=len(rows) <= MOST_OPEN_ROWS,
    )


def _group(choice: Choice, results: Results, udr: Column) -> PortraitGroup:
    models = choice.drawn.to_dict("records")
    pictures = pictures_of(results.store, models, kinds=("traversal",), by_latent=True)
    title = Markup("{} · {} · {} UDR, {}").format(
        data_label(choice.data, choice.source),
        method_name(choice.method),
        choice.band.name.lower(),
        choice.band.words,
    )
    heading = f"{choice.band.name} UDR"
    caption = f"{heading} on {data_name(choice.data)} with {method_name(choice.method)}"
    return PortraitGroup(
        title,
        tuple(
            portrait(
                heading,
                caption,
                model,
                (udr,),
                results,
                pictures[str(model["model_id"])],
                order="in their own order",
            )
            for model in models
        ),
        about=_words(choice),
        columns=DRAWN,
    )


def _words(choice: Choice) -> str:
    if choice.count <= len(choice.drawn):
        text = "The only model" if choice.count == 1 else f"All {choice.count} models"
        text += " of this band."
    else:
        text = f"{len(choice.drawn)} of {plural(choice.count, 'model')} of this band."
    if off := ", ".join(map(str, switched_off(choice))):
        text += f" Latents switched off, of {choice.drawn['latents'].iloc[0]}: {off}."
    if choice.alike is not None:
        return text + f" Mean pairwise UDR: {number(choice.alike)}."
    return text + (" They were not compared with each other." if len(choice.drawn) > 1 else "")
