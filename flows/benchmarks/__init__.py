"""Measured comparisons: `tolstoy bench NAME` runs flows/benchmarks/NAME.py against a baseline.

Two have no baseline: `tolstoy bench metrics` runs one of the experiments in experiments.py, and
`tolstoy bench theorem` shows what Theorem 1 of Locatello et al. 2019 means.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

BENCHMARKS = [
    "orchestration",
    "data",
    "training",
    "memory",
    "encoding",
    "scores",
    "trees",
    "evaluation",
    "udr",
    "report",
    "metrics",
    "theorem",
]


@dataclass(frozen=True)
class Row:
    """One comparison: ours and the baseline are medians of one interleaved run.

    A ratio above 1 means that ours is better.
    """

    name: str
    ours: float
    baseline: float
    unit: str
    ratio: float
    note: str


def measure(name: str, size: int | None = None) -> list[Row]:
    """Run one benchmark; `size` makes it smaller or larger than its default."""
    rows: list[Row] = import_module(f"flows.benchmarks.{name}").measure(size)
    return rows
