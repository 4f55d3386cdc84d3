"""What the points of a page's figures lead to, as data for points.js.

A model or a cell is written once per page, however many figures have it.
"""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from tasks.report.every_model import cell_page
from tasks.report.figures.points import Points
from tasks.report.frames import CELL
from tasks.words import cell_title, data_name

DIGITS = 4


class PointLinks:
    """Collects the points of one page while it is rendered."""

    def __init__(self) -> None:
        self.cells: dict[tuple[Any, ...], int] = {}  # the place of each in the list
        self.models: dict[str, int] = {}
        self.model_rows: list[list[Any]] = []
        self.figures: dict[str, Any] = {}

    def add(self, figure_id: str, points: Points) -> str:
        """Returns nothing, so that a template can call it."""
        rows = points.rows
        keys = zip(*(rows[name].tolist() for name in CELL), strict=True)
        cells = [self.cells.setdefault(key, len(self.cells)) for key in keys]
        ids, seeds = rows["model_id"].tolist(), rows["seed"].tolist()
        places = [
            self._model(model_id, cell, seed) if model_id else -1 - cell
            for model_id, cell, seed in zip(ids, cells, seeds, strict=True)
        ]
        across, up = (rows[name].round(1).tolist() for name in ("left", "top"))
        values = ([_short(value) for value in column] for column in points.values.values())
        self.figures[figure_id] = {
            "titles": list(points.values),
            "points": list(zip(across, up, places, *values, strict=True)),
        }
        return ""

    def _model(self, model_id: str, cell: int, seed: int) -> int:
        place = self.models.setdefault(model_id, len(self.models))
        if place == len(self.model_rows):
            self.model_rows.append([model_id, cell, seed])
        return place

    @property
    def json(self) -> Markup:
        """Empty if no figure has points; otherwise JSON that can be put into a script: of a point
        its place in pixels, the place of its model, or -1 minus that of its cell, and its
        numbers."""
        if not self.figures:
            return Markup("")
        page = {
            "cells": [
                [cell_page(dict(zip(CELL, key, strict=True))), _words(*key)] for key in self.cells
            ],
            "models": self.model_rows,
            "figures": self.figures,
        }
        text = json.dumps(page, ensure_ascii=False, separators=(",", ":"))
        return Markup(text.replace("<", "\\u003c"))


def _words(data: str, source: str, method: str, strength: float) -> str:
    return f"{cell_title(method, strength)} on {data_name(data)} ({source})"


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
