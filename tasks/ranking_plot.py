"""A ranking as a picture: every model's UDR, and what the best and the worst have in common with
their nearest partners, as Figure 5 of Duan et al. 2020."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infra.errors import WrongInput
from metrics.udr import similarity_matrix
from tasks.best import best_and_worst
from tasks.words import method_name, symbol

GAP = 0.8  # between two methods, in widths of a strength
SPREAD = 0.3  # of the dots of a strength, to either side


@dataclass(frozen=True)
class Ranked:
    """A model and its score; without a method and a strength it is shown by its rank."""

    name: str
    udr: float | None
    method: str = ""
    strength: float = 0.0


@dataclass(frozen=True)
class Portrait:
    """Similarities between the informative latents of a model, across, and of a partner, down."""

    title: str
    matrix: NDArray[np.float64]
    partner: str
    partner_latents: Sequence[int]
    model: str
    latents: Sequence[int]


def extremes(
    scores: NDArray[np.float64], udr: Sequence[float | None], collapsed: Sequence[bool]
) -> list[tuple[str, int, int]]:
    """(title, model, its nearest partner) of the best and the worst model that has not collapsed.

    scores (regressors, targets) are NaN where models were not compared. The nearest partner is the
    one that predicts the model best.
    """
    alive = [i for i, dead in enumerate(collapsed) if not dead]
    compared = scores.copy()
    np.fill_diagonal(compared, np.nan)
    compared[[i for i, dead in enumerate(collapsed) if dead]] = np.nan
    rows: list[dict[str, Any]] = [{"place": place, "udr": udr[place]} for place in alive]
    ends = [int(row["place"]) for row in best_and_worst(rows)]
    return [
        (title, model, int(np.nanargmax(compared[:, model])))
        for title, model in zip(("best", "worst"), ends, strict=False)
    ]


def portrait(
    title: str,
    partner: tuple[str, NDArray[Any], NDArray[np.bool_]],
    model: tuple[str, NDArray[Any], NDArray[np.bool_]],
    similarity: str,
) -> Portrait:
    """Of two models, each a name, codes (points, latents) and which latents are informative.

    The model's latents are put in the order of the partner's that they resemble most, so that
    agreement is a diagonal.
    """
    matrix = similarity_matrix(partner[1][:, partner[2]], model[1][:, model[2]], similarity)
    rows, columns = np.flatnonzero(partner[2]), np.flatnonzero(model[2])
    order = np.lexsort((-matrix.max(axis=0), matrix.argmax(axis=0)))
    return Portrait(
        title, matrix[:, order], partner[0], rows.tolist(), model[0], columns[order].tolist()
    )


def draw_ranking(
    models: Sequence[Ranked], portraits: Sequence[Portrait], title: str, target: Path
) -> None:
    """The ranking above, the portraits below it."""
    from matplotlib.figure import Figure

    columns = sum(len(found) for found in _sweeps(models).values())
    by_strength = any(model.method for model in models)
    width = min(16.0, max(8.0, 2.0 + 0.45 * (columns if by_strength else min(len(models), 24))))
    figure = Figure(figsize=(width, 7.6 if portraits else 3.9), layout="constrained")
    upper: Any = figure
    if portraits:
        halves: Any = figure.subfigures(2, 1, height_ratios=(1, 1.1))
        upper, lower = halves
        panels = lower.subplots(1, len(portraits), squeeze=False)[0]
        for panel, one in zip(panels, portraits, strict=True):
            _draw_portrait(panel, one)
    panel = upper.subplots()
    (_draw_sweeps if by_strength else _draw_in_order)(panel, models)
    if portraits:
        heading = "similarity of latents: a model, across, and its nearest partner, down"
        lower.suptitle(heading, fontsize=11)
    panel.set_title(title, fontsize=11, loc="left")
    panel.set_ylabel("UDR")
    panel.set_ylim(-0.03, 1.03)
    panel.grid(axis="y", color="#e3e0d8", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(target, dpi=130)
    except ValueError as error:
        raise WrongInput("--plot", f"{target} ({error})", "a .png, .svg or .pdf file") from None
    except OSError as error:
        raise WrongInput("--plot", f"{target} ({error.strerror})", "a place to write") from None


def _sweeps(models: Sequence[Ranked]) -> dict[str, list[float]]:
    """The strengths of each method, rising."""
    found: dict[str, set[float]] = {}
    for model in models:
        found.setdefault(model.method, set()).add(model.strength)
    return {method: sorted(strengths) for method, strengths in found.items()}


def _draw_sweeps(panel: Any, models: Sequence[Ranked]) -> None:
    """A column of dots per strength, coloured by its place in its sweep, with its median."""
    from matplotlib import colormaps

    place, ticks, labels = 0.0, [], []
    for method, strengths in _sweeps(models).items():
        first = place
        for rung, strength in enumerate(strengths):
            values = sorted(
                one.udr
                for one in models
                if (one.method, one.strength) == (method, strength) and one.udr is not None
            )
            colour = colormaps["viridis"](0.9 * rung / max(1, len(strengths) - 1))
            spread = SPREAD * _scattered(len(values))
            panel.scatter(place + spread, values, s=16, color=colour, alpha=0.75, linewidths=0)
            if values:
                middle = median(values)
                panel.hlines(middle, place - 0.36, place + 0.36, color="black", linewidth=1.6)
            ticks.append(place)
            labels.append(f"{strength:g}")
            place += 1.0
        name = f"{method_name(method)}, {symbol(method)}"
        panel.annotate(
            name,
            ((first + place - 1) / 2, 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -22),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=9,
        )
        place += GAP
    panel.set_xticks(ticks, labels)
    panel.set_xlim(-0.7, place - GAP - 0.3)


def _scattered(count: int) -> NDArray[np.float64]:
    """Places in [-1, 1] that keep neighbours in a sorted column apart, the same every time."""
    golden = (math.sqrt(5) - 1) / 2
    if count == 1:
        return np.zeros(1)
    return 2.0 * ((np.arange(count, dtype=np.float64) * golden) % 1.0) - 1.0


def _draw_in_order(panel: Any, models: Sequence[Ranked]) -> None:
    """A dot per model, best first."""
    shown = [one for one in models if one.udr is not None]
    shown.sort(key=lambda one: -(one.udr or 0.0))
    panel.scatter(
        range(len(shown)), [one.udr for one in shown], s=22, color="#0072b2", linewidths=0
    )
    if len(shown) <= 24:
        names = [one.name for one in shown]
        panel.set_xticks(range(len(shown)), names, rotation=30, ha="right")
    else:
        panel.set_xlabel("rank")


def _draw_portrait(panel: Any, one: Portrait) -> None:
    top = max(1.0, float(np.max(one.matrix, initial=0.0)))
    panel.imshow(one.matrix, cmap="Blues", vmin=0, vmax=top, aspect="equal")
    panel.set_title(one.title, fontsize=10)
    panel.set_xlabel(f"latents of {one.model}")
    panel.set_ylabel(f"latents of {one.partner}")
    panel.set_xticks(range(len(one.latents)), [str(latent) for latent in one.latents])
    panel.set_yticks(range(len(one.partner_latents)), [str(n) for n in one.partner_latents])
    for row, column in np.argwhere(one.matrix >= 0.005):
        value = one.matrix[row, column]
        text = f"{value:.2f}".lstrip("0")
        colour = "white" if value > 0.6 * top else "black"
        panel.text(column, row, text, ha="center", va="center", fontsize=7, c=colour)
