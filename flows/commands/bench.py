"""`tolstoy bench`: our numbers against a baseline's, or a controlled experiment on the metrics."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flows.benchmarks import BENCHMARKS, Row, measure
from flows.commands.text import number_text, table
from infra.errors import WrongInput, one_of
from infra.new_file import PICTURES, new_file


def bench(
    name: str,
    *,
    size: int | None,
    experiment: str | None,
    mode: str | None,
    repeats: int | None,
    plot: Path | None,
    json: bool,
) -> int:
    """Run a benchmark, or the named experiment of `metrics`, and print what came out."""
    if name not in BENCHMARKS:
        raise WrongInput("bench", name, one_of(BENCHMARKS, name))
    if size is not None and size < 1:
        raise WrongInput("--size", size, "1 or more")
    if name == "metrics":
        results = _run_experiment(experiment, size, mode, repeats, plot)
        print(jsonlib.dumps(results, indent=2, ensure_ascii=False) if json else _curves(results))
        return 0
    only_of_metrics = {
        "--experiment": experiment,
        "--as": mode,
        "--repeats": repeats,
        "--plot": plot,
    }
    for option, value in only_of_metrics.items():
        if value is not None:
            text = str(value) if isinstance(value, Path) else value
            raise WrongInput(option, text, "nothing, except in tolstoy bench metrics")
    if name == "theorem":
        points = _theorem(size)
        print(jsonlib.dumps(points, indent=2) if json else _perfect_and_entangled(points))
        return 0
    rows = measure(name, size)
    print(jsonlib.dumps([asdict(row) for row in rows], indent=2) if json else _comparisons(rows))
    return 0


def _run_experiment(
    name: str | None, size: int | None, mode: str | None, repeats: int | None, plot: Path | None
) -> list[dict[str, Any]]:
    """Run a controlled experiment of so many points, and draw it."""
    from flows.benchmarks.curves import draw
    from flows.benchmarks.experiments import AS, EXPERIMENTS, FEWEST, POINTS, REPEATS, run

    if name not in EXPERIMENTS:
        raise WrongInput("--experiment", name, one_of(EXPERIMENTS, name))
    if size is not None and size < FEWEST:
        raise WrongInput("--size", size, f"a number of points from {FEWEST}")
    if mode is not None and mode not in AS:
        raise WrongInput("--as", mode, one_of(AS, mode))
    if repeats is not None and repeats < 1:
        raise WrongInput("--repeats", repeats, "a number from 1")
    if plot is not None:
        new_file(plot, "--plot", PICTURES)
    rows = run(name, size or POINTS, repeats or REPEATS, mode=mode or "review")
    if plot is not None:
        draw(rows, plot)
    return rows


def _theorem(size: int | None) -> list[dict[str, Any]]:
    from tasks.theorem import FEWEST, POINTS, run

    if size is not None and size < FEWEST:
        raise WrongInput("--size", size, f"a number of points from {FEWEST}")
    return run(size or POINTS)


def _perfect_and_entangled(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        [row["name"], *(number_text(row[name], digits=3) for name in ("perfect", "entangled"))]
        for row in rows
    ]
    return table(("", "perfect", "entangled"), lines)


def _comparisons(rows: Sequence[Row]) -> str:
    facts = [asdict(row).values() for row in rows]
    texts = [[f"{v:.3g}" if isinstance(v, float) else v for v in values] for values in facts]
    return table(("name", "ours", "baseline", "unit", "ratio", "note"), texts)


def _curves(rows: Sequence[dict[str, Any]]) -> str:
    """Metrics down, the settings of the experiment across."""
    lines: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        line = lines.setdefault((row["metric"], row["part"]), [])
        deviation = "" if row["deviation"] is None else f" ± {row['deviation']:.2f}"
        line.append(number_text(row["value"], digits=2) + deviation)
    settings = dict.fromkeys(
        f"{row['setting']:g}" if isinstance(row["setting"], float) else row["setting"]
        for row in rows
    )
    return table(("metric", "part", *settings), [[*key, *line] for key, line in lines.items()])
