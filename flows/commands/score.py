"""`tolstoy score FILE`: every metric of your own codes and factors."""

from __future__ import annotations

import json as jsonlib
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import metrics
from flows.commands.text import bar, say, table, warn
from infra.errors import WrongInput, one_of
from infra.new_file import PICTURES, new_file, writing_new
from tasks.words import BETTER, plural

Rows = list[dict[str, Any]]
TABLES = (".parquet",)


def score_file(
    file: Path,
    names: tuple[str, ...],
    seed: int,
    repeat: int,
    bins: int,
    out: Path | None,
    plot: Path | None,
    parts: bool,
    json: bool,
) -> int:
    """Print the scores, with their parts or without, and write all of them to `out` and their
    matrices to `plot`."""
    from tasks.own import naming_file, read_codes
    from tasks.score_codes import scores_of, split_inputs

    check_metrics("--metrics", names)
    if repeat < 1:
        raise WrongInput("--repeat", repeat, "a number from 1")
    if bins < 2:
        raise WrongInput("--bins", bins, "a number from 2")
    if seed < 0:
        raise WrongInput("--seed", seed, "a number from 0")
    for option, target, endings in (("--out", out, TABLES), ("--plot", plot, PICTURES)):
        if target is not None:
            new_file(target, option, endings)
    own = read_codes(file, bins)
    _say_what_is_continuous(own, bins)
    _say_what_was_read(file, own)
    with naming_file(file):
        inputs = split_inputs(own, names, seed)
    results: list[Any] = []
    wanted, interrupted = len(names) * repeat, False
    try:
        with bar(file.name) as tell:
            for number in range(repeat):
                redrawn = split_inputs(own, names, seed + number) if number else inputs
                for result in scores_of(redrawn, names, seed + number):
                    results.append(result)
                    tell(f"{result.metric} done", len(results) / wanted)
    except KeyboardInterrupt:  # what was computed is printed and written
        interrupted = True
        say(f"Interrupted after {len(results)} of {plural(wanted, 'score')}.")
    rows = _rows(results, own.factor_names)
    _print(rows, repeat, parts, json)
    if out is not None and rows:
        _write(out, rows)
    if plot is not None and not interrupted:
        from tasks.plots import draw_matrices

        draw_matrices(inputs, own.factor_names, plot)
    return 130 if interrupted else 0


def check_metrics(option: str, names: Sequence[str]) -> None:
    for name in names:
        if name not in metrics.METRICS:
            raise WrongInput(option, name, one_of(metrics.METRICS, name))


def _print(rows: Rows, repeat: int, parts: bool, json: bool) -> None:
    if json:
        print(jsonlib.dumps(rows, indent=2))
    else:
        headlines = [row for row in rows if metrics.is_headline(row["part"], row["factor"])]
        printed = rows if parts else headlines
        print(_table(printed, repeat))
        if len(printed) < len(rows):
            print(
                f"{len(rows) - len(printed)} parts of these scores: --parts, --json or --out FILE"
            )


def _say_what_is_continuous(own: Any, bins: int) -> None:
    """On standard error: which factors are, how that is known, and what is done about it."""
    if own.continuous:
        names = ", ".join(own.name(factor) for factor in own.continuous)
        how = " (guessed; an array factor_kinds in the file decides)" if own.guessed else ""
        print(
            f"Continuous{how}: {names}. Metrics that need classes read {bins} bins of equal width "
            "(--bins).",
            file=sys.stderr,
        )


def _say_what_was_read(file: Path, own: Any) -> None:
    from tasks.what_was_read import codes_text, doubts, factors_of

    say(f"{file.name}: {codes_text(own)}")
    if own.left_out:
        say(
            f"{file.name}: left out: {', '.join(own.left_out)} (columns named factor_NAME are "
            "factors)"
        )
    for doubt in doubts(len(own.codes), "point", factors_of(own)):
        warn(f"{file.name}: {doubt}")


def _rows(results: list[Any], factor_names: tuple[str, ...] | None) -> Rows:
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


def _table(rows: Rows, repeat: int) -> str:
    head = ["metric", "part", "factor", "value", *(["std"] if repeat > 1 else []), ""]
    lines = []
    for row in rows:
        numbers = [row["value"], *([row["std"]] if repeat > 1 else [])]
        texts = ["-" if number is None else f"{number:.4f}" for number in numbers]
        factor = "" if row["factor"] is None else row["factor"]
        remark = row.get("reason") or _direction(row)
        lines.append([row["metric"], row["part"], str(factor), *texts, remark])
    return table(head, lines)


def _direction(row: dict[str, Any]) -> str:
    """Which values of a headline are good, where it is not the high ones."""
    better = metrics.METRICS[row["metric"]].better
    headline = metrics.is_headline(row["part"], row["factor"])
    return BETTER[better] if headline and better != "more" else ""


def _write(target: Path, rows: Rows) -> None:
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
    with writing_new(target, "--out", TABLES) as partial:
        pq.write_table(pa.table(columns), partial)
