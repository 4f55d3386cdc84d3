"""The files that the report's pages lead to: pictures, and the numbers behind every figure."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields

import pandas as pd

from tasks.report.questions import Figure, Picture, Published

PICTURES, FIGURES = "pictures", "figures"
PUBLISHED = "beside-the-papers.csv"


class ExtraFiles:
    """Collects, while pages are rendered, the files that they lead to. By name: folder/name."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self._figures: Counter[str] = Counter()  # of each page

    def picture(self, picture: Picture) -> str:
        name = f"{PICTURES}/{picture.name}"
        self.contents[name] = picture.content
        return name

    def figure(self, figure: Figure, page: str) -> str:
        """The name of its data without an ending: there is a CSV and a Parquet file."""
        self._figures[page] += 1
        name = f"{FIGURES}/{page}-{self._figures[page]}"
        self.contents[f"{name}.csv"] = figure.data.to_csv(index=False).encode()
        self.contents[f"{name}.parquet"] = _parquet(figure.data)
        return name


def published_table(rows: Iterable[tuple[str, Published]]) -> bytes:
    """Every published number with ours: the question's name, then the fields of Published, the
    difference, and whether they are comparable."""
    file = io.StringIO()
    names = [field.name for field in fields(Published) if field.name not in ("percent", "digits")]
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["question", *names, "difference", "comparable"])
    for question, row in rows:
        difference = None if row.ours is None else row.ours - row.published
        values = [getattr(row, name) for name in names]
        table.writerow([question, *values, difference, not row.why_not])
    return file.getvalue().encode()


def _parquet(data: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    data.rename(columns=str).to_parquet(file, index=False)
    return file.getvalue()
