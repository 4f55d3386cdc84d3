"""A picture of an experiment, as in the review: settings across, scores up, one line per metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metrics import HEADLINE
from tasks.plots import save

STYLES = ("-", "--", ":")  # ten colours each


def draw(rows: Sequence[dict[str, Any]], target: Path) -> None:
    from matplotlib.figure import Figure

    lines: dict[str, list[tuple[Any, float, float]]] = {}
    for row in rows:
        label = row["metric"] if row["part"] == HEADLINE else f"{row['metric']} {row['part']}"
        value = math.nan if row["value"] is None else row["value"]  # a gap in the line
        lines.setdefault(label, []).append((row["setting"], value, row["deviation"] or 0.0))
    figure = Figure(figsize=(9, 5), layout="constrained")
    panel = figure.subplots()
    for place, (label, points) in enumerate(lines.items()):
        settings, values, deviations = zip(*points, strict=True)
        style = f"C{place % 10}{STYLES[place // 10 % len(STYLES)]}"
        panel.errorbar(
            settings, values, deviations, fmt=style, marker=".", label=label, elinewidth=0.6
        )
    experiment = rows[0]["experiment"]
    panel.set_title(f"{experiment}, as the {rows[0]['as']} computes it (bars: deviation)")
    panel.set_xlabel("points" if experiment == "sample_sizes" else "setting")
    panel.set_ylabel("difference of scores" if experiment == "sample_sizes" else "score")
    if experiment == "sample_sizes":
        panel.set_xscale("log")
    figure.legend(loc="outside right upper", fontsize=8)
    save(figure, target)
