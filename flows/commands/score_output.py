"""The scores of a file: printed and written as each metric ends, so that none is lost."""

from __future__ import annotations

import json as jsonlib
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import metrics
from flows.commands.text import table
from infra.new_file import writing_again, writing_new
from tasks.words import BETTER, plural

Rows = list[dict[str, Any]]
TABLES = (".parquet",)
PART_WIDTH = 24


class ScoreOutput:
    """Prints rows and writes all of them to `out`. As JSON they are printed at the end."""

    def __init__(
        self,
        names: Sequence[str],
        factor_names: Sequence[str] | None,
        out: Path | None,
        parts: bool,
        json: bool,
    ) -> None:
        self.names, self.factor_names = names, factor_names
        self.out, self.parts, self.json = out, parts, json
        self.rows: Rows = []

    def add(self, results: Sequence[Any]) -> None:
        """Of metrics that are done, in all their repeats."""
        rows = rows_of(results, self.factor_names)
        if not self.json:
            self._print(rows)
        first, self.rows = not self.rows, [*self.rows, *rows]
        if self.out is not None:
            _write(self.out, self.rows, first)

    def end(self) -> None:
        if self.json:
            print(jsonlib.dumps(self.rows, indent=2))
        elif hidden := len(self.rows) - len(self._printed(self.rows)):
            print(f"{plural(hidden, 'part')} of these scores: --parts, --json or --out FILE")

    def _printed(self, rows: Rows) -> Rows:
        headlines = [row for row in rows if metrics.is_headline(row["part"], row["factor"])]
        return rows if self.parts else headlines

    def _print(self, rows: Rows) -> None:
        """Columns as wide as what follows may need."""
        with_deviation = any("std" in row for row in rows)
        head = ["metric", "part", "factor", "value", *(["std"] if with_deviation else []), ""]
        lines = []
        for row in self._printed(rows):
            numbers = [row["value"], *([row["std"]] if with_deviation else [])]
            texts = ["-" if number is None else f"{number:.4f}" for number in numbers]
            factor = "" if row["factor"] is None else row["factor"]
            remark = row.get("reason") or _direction(row)
            lines.append([row["metric"], row["part"], str(factor), *texts, remark])
        factors = max(map(len, self.factor_names or [""])) if self.parts else 0
        widths = (max(map(len, self.names)), PART_WIDTH if self.parts else 0, factors)
        heading, *others = table(head, lines, widths).splitlines()
        print("\n".join(others if self.rows else [heading, *others]), flush=True)


def rows_of(results: Sequence[Any], factor_names: Sequence[str] | None) -> Rows:
    """A row per metric, part and factor: the value, or mean and standard deviation over seeds."""
    values: dict[tuple[str, str, int | None], list[float]] = {}
    reasons: dict[tuple[str, str, int | None], str] = {}
    for result in results:
        for score in result.scores:
            key = (result.metric, score.part, score.factor)
            values.setdefault(key, []).append(score.value)
            if result.reason:
                reasons[key] = result.reason
    repeated = max((len(numbers) for numbers in values.values()), default=1) > 1
    rows: Rows = []
    for (metric, part, factor), numbers in values.items():
        named = factor_names[factor] if factor is not None and factor_names else factor
        mean = statistics.fmean(numbers)
        value = mean if math.isfinite(mean) else None
        row: dict[str, Any] = {"metric": metric, "part": part, "factor": named, "value": value}
        if repeated:
            spread = statistics.stdev(numbers) if len(numbers) > 1 and value is not None else None
            row["std"] = spread
        if value is None:
            row["reason"] = reasons.get((metric, part, factor), "it comes out as no number")
        rows.append(row)
    return rows


def _direction(row: dict[str, Any]) -> str:
    """Which values of a headline are good, where it is not the high ones."""
    better = metrics.METRICS[row["metric"]].better
    headline = metrics.is_headline(row["part"], row["factor"])
    return BETTER[better] if headline and better != "more" else ""


def _write(target: Path, rows: Rows, first: bool) -> None:
    """A Parquet table of the rows; factors as text, as some have names and some numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"value": pa.float64(), "std": pa.float64()}
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        if name == "factor":
            values = [None if value is None else str(value) for value in values]
        columns[name] = pa.array(values, kinds.get(name, pa.string()))
    writing = writing_new(target, "--out", TABLES) if first else writing_again(target, "--out")
    with writing as partial:
        pq.write_table(pa.table(columns), partial)
