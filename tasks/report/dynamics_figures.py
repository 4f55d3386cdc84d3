"""The score of training dynamics against the number of latents, and against strength."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from tasks.report.dynamics import BY, Cells, where
from tasks.report.figures.axes import Limits, limits
from tasks.report.figures.swept_lines import SweptLine, line_legend, swept_lines
from tasks.report.frames import CELL, DATA_SET
from tasks.report.labels import data_label
from tasks.report.questions import Figure, FigureGroup, Figures
from tasks.words import data_name, method_name, power_of_ten, significant, strength_text, symbol

SCORES = ["dynamics", "low", "high"]
SMALL = 0.01  # where all scores are below, a power of ten stands in the title, not on the scale


@dataclass(frozen=True)
class Unit:
    """Scores are drawn times this power of ten, the same in all figures of a data set."""

    power: int
    scale: Limits

    @property
    def title(self) -> str:
        return f"score × {power_of_ten(self.power)}" if self.power else "score"

    def of(self, cells: pd.DataFrame) -> pd.DataFrame:
        return cells.assign(**{name: cells[name] * 10.0**self.power for name in SCORES})


def dynamics_figures(cells: Cells) -> Iterator[Figures]:
    collected = []
    for key, of_data in cells.groups(DATA_SET):
        unit = unit_of(of_data.table)
        figures = tuple(
            figure
            for of_method, part in of_data.groups(BY)
            for figure in _of_sweeps(of_method, part, unit)
        )
        if figures:
            collected.append(FigureGroup(data_label(*key), figures))
    if collected:
        yield Figures(tuple(collected))


def unit_of(cells: pd.DataFrame) -> Unit:
    bounds = pd.Series(cells[SCORES].to_numpy(float).ravel()).dropna()
    largest = float(bounds.abs().max())
    power = -math.floor(math.log10(largest)) if 0 < largest < SMALL else 0
    return Unit(power, limits(bounds * 10.0**power))


def _of_sweeps(key: tuple[str, ...], cells: Cells, unit: Unit) -> Iterator[Figure]:
    """The score against latents and against strength; against what varies only."""
    table, objective = cells.table, key[-1]
    latents, strengths = (sorted(table[name].unique()) for name in ("latents", "strength"))
    of_latents = ("latents", latents, [str(n) for n in latents], "latents")
    of_strength = ("strength", strengths, [strength_text(s) for s in strengths], symbol(objective))
    for across, lines in ((of_latents, of_strength), (of_strength, of_latents)):
        column, swept, texts, title = across
        if len(swept) < 2:
            continue
        by, values, names, legend = lines
        drawn, described = [], []
        for value, name in zip(values, names, strict=True):
            rows = table[table[by] == value].sort_values(column)
            places = [swept.index(one) for one in rows[column]]
            drawn.append(SweptLine(name, unit.of(rows).assign(place=places)))
            described.append(f"{legend} {name}: " + ", ".join(map(significant, rows["dynamics"])))
        drawing = swept_lines(
            drawn,
            "dynamics",
            texts,
            unit.scale,
            title,
            f"dynamics {where(key)} {column}",
            unit.title.capitalize(),
        )
        method = method_name(objective)
        yield Figure(
            f"{method}: {unit.title} against {title}",
            f"Score of training dynamics against {title}, {method} on {data_name(key[0])}; "
            f"{'; '.join(described)}.",
            drawing,
            table[[*CELL, "objective", "latents", *SCORES, "models"]],
            line_legend(legend, names),
            models=cells.model_ids,
            among=("data", "source", "method"),
        )
