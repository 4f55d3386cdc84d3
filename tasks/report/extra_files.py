"""The files that the report's pages lead to: pictures, and the numbers behind every figure."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.report.questions import Figure, Picture, Published
from tasks.report.verdicts import difference, difference_interval, verdict

PICTURES, FIGURES = "pictures", "figures"
PUBLISHED = "beside-the-papers.csv"


class ExtraFiles:
    """Collects, while pages are rendered, the files that they lead to. By name: folder/name."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self._figures: Counter[str] = Counter()  # of each page
        self._ids: Counter[tuple[str, str]] = Counter()  # by page and id

    def taken(self) -> list[tuple[str, bytes]]:
        """The files since this was last asked; they are forgotten."""
        contents, self.contents = self.contents, {}
        return list(contents.items())

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

    def figure_id(self, figure: Figure, page: str) -> str:
        """The figure's id on its page, the same in every report of the study."""
        words = re.sub(r"[^\w.-]+", "-", figure.drawing.name).strip("-")
        self._ids[page, words] += 1
        again = self._ids[page, words]
        return f"figure-{words}" + (f"-{again}" if again > 1 else "")


def published_table(rows: Iterable[tuple[str, Published]]) -> bytes:
    """Every published number with ours: the name of its question, both, and how they compare."""
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    fixed = ("what", "ours", "published", "place", "n", "why_not")
    further = ("deviation", "published_n")
    bounds = ("low", "high", "published_low", "published_high", "difference_low", "difference_high")
    columns = ("difference", "comparable", *further, *bounds, "grid", "verdict")
    table.writerow(["question", *fixed, *columns])
    for question, row in rows:
        intervals = (row.interval, row.published_interval, difference_interval(row))
        table.writerow(
            [
                question,
                *(getattr(row, name) for name in fixed),
                difference(row),
                not row.why_not,
                *(getattr(row, name) for name in further),
                *(bound for interval in intervals for bound in interval or (None, None)),
                row.grid,
                verdict(row),
            ]
        )
    return file.getvalue().encode()


def _parquet(data: pd.DataFrame) -> bytes:
    """Without what pandas and Arrow add about their types: in small tables most of the bytes."""
    table = pa.Table.from_pandas(data.rename(columns=str), preserve_index=False)
    file = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata(None),
        file,
        compression="zstd",
        write_statistics=False,
        store_schema=False,
    )
    return file.getvalue()
