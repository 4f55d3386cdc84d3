"""What commands print: plain aligned lines for people, JSON for programs."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

from flows.commands.estimate import Estimate
from flows.progress import duration
from infra.errors import WrongInput, one_of
from infra.runtime import cores
from infra.store import Store
from tasks.study.spec import Study
from tasks.study.survey import CellState, totals

GAP = "  "  # between columns


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they need to be; numbers to the right."""
    cells = [[str(value) for value in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    right = [bool(rows) and isinstance(rows[0][i], int | float) for i in range(len(head))]
    return "\n".join(
        GAP.join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )


def fitting(head: Sequence[str], rows: Sequence[Sequence[object]], width: int = 0) -> int:
    """How many of a table's columns, from the left, fit the terminal; the first two always do."""
    width = width or get_terminal_size((100, 24)).columns
    cells = [[str(value) for value in row] for row in (head, *rows)]
    used = -len(GAP)
    for count in range(len(head)):
        used += len(GAP) + max(len(row[count]) for row in cells)
        if used > width and count >= 2:
            return count
    return len(head)


def print_plan(
    study: Study,
    store: Store,
    found: Sequence[CellState],
    cost: Estimate,
    missing: Sequence[str],
    json: bool,
) -> int:
    total = totals(found)
    steps = total["models"] * study.training.steps
    if json:
        facts = {
            "study": study.name,
            "store": str(store),
            "cells": len(found),
            **total,
            "model_steps": steps,
            "core_hours_left": cost.core_hours,
            "seconds_per_step": cost.seconds_per_step,
            "missing": list(missing),
        }
        print(jsonlib.dumps(facts, indent=2))
        return 0
    strengths = sum(len(values) for values in study.methods.values())
    unscored = total["left"] + total["trained"] - total["scored"]
    done = ", ".join(f"{total[k]:,} {k}" for k in ("trained", "diverged", "failed") if total[k])
    lines = [
        ("study", f"{study.name}: {study.about}" if study.about else study.name),
        ("store", str(store)),
        (
            "cells",
            f"{len(found):,} = {len(study.data)} data sets × {strengths} strengths of "
            f"{len(study.methods)} methods",
        ),
        ("data", ", ".join(f"{one.name} ({one.source or 'missing'})" for one in study.data)),
        ("models", f"{total['models']:,} = {len(found):,} cells × {len(study.seed_list)} seeds"),
        ("model-steps", f"{steps:,}, {study.training.steps:,} for each model"),
        ("done", done or "nothing yet"),
        (
            "left",
            f"{total['left']:,} to train, {unscored:,} to score",
        ),
        (
            "estimate",
            f"{cost.core_hours:,.1f} core-hours ({cost.training_hours:,.1f} training, "
            f"{cost.scoring_hours:,.1f} scoring): {duration(60 * cost.core_hours / cores())} "
            f"on this machine's {cores()} cores",
        ),
    ]
    lines += [("missing", text) for text in missing]
    print("\n".join(f"{name:<12} {text}" for name, text in lines))
    print(f"\nMeasured here on {cost.measured}; tolstoy plan --calibrate measures again.")
    return 0


def print_bench(rows: Sequence[Any], json: bool) -> int:
    facts = [asdict(row) for row in rows]
    if json:
        print(jsonlib.dumps(facts, indent=2))
        return 0
    names = ("name", "ours", "baseline", "unit", "ratio", "note")
    shown = [
        [f"{row[n]:.3g}" if isinstance(row[n], float) else row[n] for n in names] for row in facts
    ]
    print(table(names, shown))
    return 0


def print_experiment(name: str | None, size: int | None, plot: Path | None, json: bool) -> int:
    """Run a controlled experiment of so many points: metrics down, its settings across."""
    from flows.benchmarks.curves import draw
    from flows.benchmarks.experiments import EXPERIMENTS, FEWEST, POINTS, REPEATS, run

    if name not in EXPERIMENTS:
        raise WrongInput("--experiment", name, one_of(EXPERIMENTS, name))
    if size is not None and size < FEWEST:
        raise WrongInput("--size", size, f"a number of points from {FEWEST}")
    if plot is not None and plot.exists():
        raise WrongInput("--plot", str(plot), "a file that does not exist yet")
    rows = run(name, size or POINTS, REPEATS)
    if plot is not None:
        draw(rows, plot)
    if json:
        print(jsonlib.dumps(rows, indent=2, ensure_ascii=False))
        return 0
    lines: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        shown = "-" if row["value"] is None else f"{row['value']:.2f}"
        lines.setdefault((row["metric"], row["part"]), []).append(shown)
    settings = dict.fromkeys(
        f"{row['setting']:g}" if isinstance(row["setting"], float) else row["setting"]
        for row in rows
    )
    print(table(("metric", "part", *settings), [[*key, *line] for key, line in lines.items()]))
    return 0
