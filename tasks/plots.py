"""The pictures that --plot writes.

Of scores: the factor × latent matrices behind the metrics. Of a ranking: every model's UDR, and
what the best and the worst have in common with their nearest partners, as Figure 5 of Duan et al.
2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infra.new_file import PICTURES, writing_new
from metrics.base.information import entropy
from metrics.base.inputs import Inputs
from metrics.udr import similarity_matrix
from tasks.best import best_and_worst
from tasks.words import UDR, method_name, ranking_name, strength_value, symbol

ACROSS = 3  # matrices in a row
GAP = 0.8  # between two methods, in widths of a strength
SPREAD = 0.3  # of the dots of a strength, to either side
ALPHA = 0.9  # of dots, so that those in a heap can be told apart
DARK = 0.5  # of the colour map from 0 to 1: what is lighter is hard to see on white
ABOUT_SWEEPS = "a dot is a model, a bar the median of a strength; colour: from low to high strength"

Side = tuple[str, Any, NDArray[np.bool_]]  # name, codes (points, latents), informative


def draw_matrices(inputs: Inputs, factor_names: Sequence[str] | None, target: Path) -> None:
    """A panel per matrix, up to three in a row: latents across, factors down, darker is more."""
    from matplotlib.figure import Figure

    drawn = matrices(inputs)
    latents, factors = inputs.information.shape
    labels = factor_names or [f"factor {factor}" for factor in range(factors)]
    across = min(ACROSS, len(drawn))
    down = -(-len(drawn) // across)
    width, height = 1.6 + 0.42 * latents, 1.3 + 0.42 * factors
    figure = Figure(figsize=(width * across, height * down), layout="constrained")
    panels: Any = figure.subplots(down, across, squeeze=False).ravel()
    for panel in panels[len(drawn) :]:
        panel.set_axis_off()
    for place, (panel, (title, matrix)) in enumerate(zip(panels, drawn.items(), strict=False)):
        _draw_cells(panel, matrix.T, top=float(np.max(matrix, initial=0.0)) or 1.0)
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("latent")
        panel.set_xticks(range(latents))
        panel.set_yticks(range(factors), labels if place % across == 0 else [""] * factors)
    save(figure, target, bbox_inches="tight")


def matrices(inputs: Inputs) -> dict[str, NDArray[np.float64]]:
    """By title, (latents, factors): mutual information, then what the metrics have learned."""
    available = entropy(inputs.factors)
    information = inputs.information
    share = np.divide(information, available, out=np.zeros_like(information), where=available > 0)
    return {"mutual information / entropy": share, **inputs.matrices}


def save(figure: Any, target: Path, **options: Any) -> None:
    """Write a figure in the format that the file's name ends in, or a WrongInput."""
    with writing_new(target, "--plot", PICTURES) as partial:
        figure.savefig(partial, dpi=130, **options)


def _draw_cells(panel: Any, matrix: NDArray[np.float64], top: float) -> None:
    """Each entry as a square with its number; `top` is the darkest."""
    panel.imshow(matrix, cmap="Blues", vmin=0, vmax=top, aspect="equal")
    for row, column in np.argwhere(matrix >= 0.005):
        value = matrix[row, column]
        text = f"{value:.2f}".lstrip("0")
        colour = "white" if value > 0.6 * top else "black"
        panel.text(column, row, text, ha="center", va="center", fontsize=7, c=colour)


@dataclass(frozen=True)
class PlottedModel:
    """A model and its score; without a method and a strength it is drawn by its rank."""

    name: str
    udr: float | None
    method: str = ""
    strength: float = 0.0
    collapsed: bool = False


@dataclass(frozen=True)
class Agreement:
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


def agreement(title: str, partner: Side, model: Side, similarity: str) -> Agreement:
    """The model's latents are put in the order of the partner's that they resemble most, so that
    agreement is a diagonal."""
    matrix = similarity_matrix(partner[1][:, partner[2]], model[1][:, model[2]], similarity)
    rows, columns = np.flatnonzero(partner[2]), np.flatnonzero(model[2])
    order = np.lexsort((-matrix.max(axis=0), matrix.argmax(axis=0)))
    return Agreement(
        title=title,
        matrix=matrix[:, order],
        partner=partner[0],
        partner_latents=rows.tolist(),
        model=model[0],
        latents=columns[order].tolist(),
    )


@dataclass(frozen=True)
class BestStrengths:
    """(method, strength) that are marked, and by which pool they are best."""

    pool: str
    strengths: Collection[tuple[str, float]]


def draw_models(
    models: Sequence[PlottedModel],
    scores: NDArray[np.float64],
    side: Callable[[int], Side],
    similarity: str,
    title: str,
    target: Path,
    best: BestStrengths | None = None,
) -> None:
    """The ranking, and how its extremes agree with their partners; `side` gets a model's place."""
    udr, collapsed = [model.udr for model in models], [model.collapsed for model in models]
    ranking = ranking_name(similarity)
    agreements = [
        agreement(f"{end}, {ranking} {udr[model]:.3f}", side(partner), side(model), similarity)
        for end, model, partner in extremes(scores, udr, collapsed)
    ]
    draw_ranking(models, agreements, title, target, best, ranking)


def draw_ranking(
    models: Sequence[PlottedModel],
    agreements: Sequence[Agreement],
    title: str,
    target: Path,
    best: BestStrengths | None = None,
    ranking: str = UDR,
) -> None:
    """The ranking above, the agreements below it."""
    from matplotlib.figure import Figure

    columns = sum(len(strengths) for strengths in _sweeps(models).values())
    by_strength = any(model.method for model in models)
    width = min(16.0, max(8.0, 2.0 + 0.45 * (columns if by_strength else min(len(models), 24))))
    figure = Figure(figsize=(width, 7.6 if agreements else 3.9), layout="constrained")
    upper: Any = figure
    if agreements:
        both: Any = figure.subfigures(2, 1, height_ratios=(1, 1.1))
        upper, lower = both
        panels = lower.subplots(1, len(agreements), squeeze=False)[0]
        for panel, drawn in zip(panels, agreements, strict=True):
            _draw_agreement(panel, drawn)
    panel = upper.subplots()
    if by_strength:
        draw_sweeps(panel, models, best.strengths if best else ())
        star = f"\n★ the method's best strength by pool {best.pool}" if best else ""
        title = f"{title}\n{ABOUT_SWEEPS}{star}"
    else:
        _draw_in_order(panel, models)
    if agreements:
        heading = "similarity of latents: a model, across, and its nearest partner, down"
        lower.suptitle(heading, fontsize=11)
    panel.set_title(title, fontsize=10, loc="left")
    panel.set_ylabel(ranking)
    panel.set_ylim(-0.03, 1.03)
    panel.grid(axis="y", color="#e3e0d8", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    save(figure, target)


def _sweeps(models: Sequence[PlottedModel]) -> dict[str, list[float]]:
    """The strengths of each method, rising."""
    sweeps: dict[str, set[float]] = {}
    for model in models:
        sweeps.setdefault(model.method, set()).add(model.strength)
    return {method: sorted(strengths) for method, strengths in sorted(sweeps.items())}


def sweep_colours(strengths: int) -> list[Any]:
    """A colour for each strength, from low to high."""
    from matplotlib import colormaps

    return [colormaps["viridis"](DARK * rung / max(1, strengths - 1)) for rung in range(strengths)]


def draw_sweeps(
    panel: Any, models: Sequence[PlottedModel], best: Collection[tuple[str, float]]
) -> None:
    """A column of dots per strength, coloured by its place in its sweep, with its median."""
    place, ticks, labels = 0.0, [], []
    for method, strengths in _sweeps(models).items():
        first = place
        for colour, strength in zip(sweep_colours(len(strengths)), strengths, strict=True):
            values = sorted(
                model.udr
                for model in models
                if (model.method, model.strength) == (method, strength) and model.udr is not None
            )
            spread = SPREAD * _scattered(len(values))
            panel.scatter(place + spread, values, s=18, color=colour, alpha=ALPHA, linewidths=0)
            if values:
                middle = median(values)
                panel.hlines(middle, place - 0.36, place + 0.36, color="black", linewidth=1.6)
            ticks.append(place)
            star = "★ " * ((method, strength) in best)
            labels.append(star + strength_value(method, strength))
            place += 1.0
        name = ", ".join(filter(None, (method_name(method), symbol(method))))
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


def _draw_in_order(panel: Any, models: Sequence[PlottedModel]) -> None:
    """A dot per model, best first."""
    drawn = [(model.udr, model.name) for model in models if model.udr is not None]
    drawn.sort(key=lambda model: -model[0])
    places, scores = range(len(drawn)), [score for score, _ in drawn]
    panel.scatter(places, scores, s=22, color="#0072b2", linewidths=0)
    if len(drawn) <= 24:
        panel.set_xticks(places, [name for _, name in drawn], rotation=30, ha="right")
    else:
        panel.set_xlabel("rank")


def _draw_agreement(panel: Any, drawn: Agreement) -> None:
    _draw_cells(panel, drawn.matrix, top=max(1.0, float(np.max(drawn.matrix, initial=0.0))))
    panel.set_title(drawn.title, fontsize=10)
    panel.set_xlabel(f"latents of {drawn.model}")
    panel.set_ylabel(f"latents of {drawn.partner}")
    panel.set_xticks(range(len(drawn.latents)), [str(latent) for latent in drawn.latents])
    panel.set_yticks(range(len(drawn.partner_latents)), [str(n) for n in drawn.partner_latents])
