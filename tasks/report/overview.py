"""What was run and how far it came: counts, facts of the training, and the grid."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tasks.report.frames import DATA_SET, Frames
from tasks.report.plan import Plan
from tasks.words import duration, plural

STATUSES = ("trained", "diverged", "failed")


@dataclass(frozen=True)
class DataSet:
    """A data set and where its pictures came from; no source before its first model."""

    name: str
    source: str | None


@dataclass(frozen=True)
class GridRow:
    """A method's strengths, and per data set how many models are trained and how many planned."""

    method: str
    strengths: tuple[float, ...]
    counts: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Overview:
    """The head of the page."""

    counts: dict[str, int]
    all: int
    waiting: int
    data_sets: tuple[DataSet, ...]
    facts: tuple[tuple[str, str], ...]
    grid: tuple[GridRow, ...]


def overview(plan: Plan, frames: Frames, methods: Sequence[str]) -> Overview:
    models = frames.models
    counts = {status: int((models["status"] == status).sum()) for status in STATUSES}
    everything = max(plan.models, len(models))
    data_sets = _data_sets(plan, models)
    return Overview(
        counts=counts,
        all=everything,
        waiting=everything - len(models),
        data_sets=data_sets,
        facts=tuple((term, text) for term, text in _facts(plan, models) if text),
        grid=tuple(_grid_row(method, plan, models, data_sets) for method in methods),
    )


def _data_sets(plan: Plan, models: pd.DataFrame) -> tuple[DataSet, ...]:
    started = models[DATA_SET].drop_duplicates().itertuples(index=False)
    found = [DataSet(str(row.data), str(row.source)) for row in started]
    waiting = [name for name in plan.data if name not in {one.name for one in found}]
    return (*found, *(DataSet(name, None) for name in waiting))


def _facts(plan: Plan, models: pd.DataFrame) -> list[tuple[str, str]]:
    training = plan.training
    steps = f"{plan.steps:,}" if plan.steps else ""
    if steps and training.get("batch_size"):
        steps += f", batches of {training['batch_size']}"
    seconds = float(models["seconds"].sum())
    return [
        ("Steps", steps),
        ("Learning rate", f"{training['learning_rate']:g}" if "learning_rate" in training else ""),
        ("Seeds", _seeds(plan.seeds)),
        ("Architecture", plan.architecture),
        ("Latents", str(plan.latents or "")),
        ("Probe", plural(plan.probe, "image") if plan.probe else ""),
        ("Protocol", ", ".join(str(p) for p in sorted(models["protocol"].unique()))),
        ("Trained on", ", ".join(sorted(d for d in models["device"].dropna().unique() if d))),
        ("Training time", f"{duration(seconds)} in all" if seconds else ""),
        ("Versions", "; ".join(_versions(text) for text in models["versions"].dropna().unique())),
    ]


def _seeds(seeds: tuple[int, ...]) -> str:
    if not seeds:
        return ""
    if len(seeds) > 1 and seeds == tuple(range(seeds[0], seeds[0] + len(seeds))):
        return f"{len(seeds)} ({seeds[0]} to {seeds[-1]})"
    more = f" and {len(seeds) - 8} more" if len(seeds) > 8 else ""
    return f"{len(seeds)} ({', '.join(str(seed) for seed in seeds[:8])}{more})"


def _versions(text: str) -> str:
    """`torch 2.13.0, numpy 2.4.6`; text that is no such JSON is shown as it stands."""
    try:
        return ", ".join(f"{name} {version}" for name, version in json.loads(text).items())
    except (ValueError, AttributeError):
        return text


def _grid_row(
    method: str, plan: Plan, models: pd.DataFrame, data_sets: Sequence[DataSet]
) -> GridRow:
    of_method = models[models["method"] == method]
    found = {float(strength) for strength in of_method["strength"]}
    strengths = tuple(sorted(found | set(plan.methods.get(method, ()))))
    counts = []
    for one in data_sets:
        here = of_method[(of_method["data"] == one.name) & (of_method["source"] == one.source)]
        planned = len(plan.methods.get(method, ())) * len(plan.seeds)
        planned = planned if one.name in plan.data else 0
        counts.append((int((here["status"] == "trained").sum()), max(planned, len(here))))
    return GridRow(method, strengths, tuple(counts))
