"""Every model of a study in a table that a page can filter and sort, also of 12,600 rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from tasks.report.results import Results
from tasks.study.model import cell_of
from tasks.words import data_name, method_name, symbol

KEYS = ("model_id", "data", "source", "method", "strength", "seed", "status", "seconds")
DIGITS = 4


def every_model(results: Results) -> str:
    """JSON: the columns' titles, the page's names of data sets and methods by those of the tables,
    and a row of values per model, trained or not, with the page of its cell.

    `<` is written as an escape, so that the text can be put into a script.
    """
    columns = list(results.columns)
    of_trained = results.models.set_index("model_id")[[column.id for column in columns]]
    rows = results.frames.models
    scores = of_trained.reindex(rows["model_id"]).to_numpy(float)
    titles = ["Model", "Data set", "Source", "Method", "Strength", "Seed", "Status", "Seconds"]
    table = {
        "columns": [*titles, *(column.title for column in columns)],
        "names": {
            **{name: data_name(name) for name in rows["data"].unique()},
            **{name: method_name(name) for name in rows["method"].unique()},
        },
        "cells": [cell_page(row) for row in rows.to_dict("records")],
        "rows": [
            [*_keys(row), *map(_short, numbers.tolist())]
            for row, numbers in zip(rows.to_dict("records"), scores, strict=True)
        ],
    }
    return json.dumps(table, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def cell_page(row: Mapping[Any, Any]) -> str:
    """The name of the page of a model's cell, without its ending."""
    return f"{cell_of(row)}-{row['source']}"


def model_link(row: Mapping[Any, Any]) -> Markup:
    """A model's id, as a page in a folder of the report links it to its place in its cell."""
    link = Markup('<a href="../cells/{}.html#{}"><code>{}</code></a>')
    return link.format(cell_page(row), row["model_id"], row["model_id"])


def _keys(row: dict[Any, Any]) -> list[Any]:
    values = [row[name] for name in KEYS]
    values[1], values[3] = data_name(row["data"]), method_name(row["method"])
    values[4] = row["strength"] if symbol(row["method"]) else math.nan
    return [_short(value) if isinstance(value, float) else value for value in values]


def _short(value: float) -> float | None:
    if pd.isna(value) or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")
