"""The head of the page: how many models, on which data sets, and the facts of their training."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from infra.tables import AXES
from tasks.report.frames import DATA_SET, Frames
from tasks.report.provenance import made_with_of, packages_text
from tasks.study.model import STATUSES
from tasks.study.spec import Study
from tasks.what_was_read import pictures_text
from tasks.words import duration, plural


@dataclass(frozen=True)
class DataSet:
    """A data set and where its pictures came from; no source before its first model."""

    name: str
    source: str | None
    read: str = ""  # what was read of the user's own files


@dataclass(frozen=True)
class Header:
    counts: dict[str, int]  # by status
    all: int
    waiting: int
    data_sets: tuple[DataSet, ...]
    facts: tuple[tuple[str, str], ...]


def header(study: Study, frames: Frames) -> Header:
    models = frames.models
    every = planned(study, models)
    return Header(
        counts={status: int((models["status"] == status).sum()) for status in STATUSES},
        all=every,
        waiting=every - len(models),
        data_sets=data_sets(study, models),
        facts=tuple((term, text) for term, text in _facts(study, models) if text),
    )


def planned(study: Study, models: pd.DataFrame) -> int:
    """The models of the study's grid; an older grid may have left more in the tables."""
    strengths = sum(len(swept) for swept in study.sweeps.values())
    return max(len(study.data) * strengths * len(study.seed_list), len(models))


def data_sets(study: Study, models: pd.DataFrame) -> tuple[DataSet, ...]:
    """Those that have models, then those that wait for their first."""
    rows = models[DATA_SET].drop_duplicates().itertuples(index=False)
    read = {choice.name: pictures_text(choice) for choice in study.data}
    started = [DataSet(str(row.data), str(row.source), read.get(str(row.data), "")) for row in rows]
    names = {data_set.name for data_set in started}
    return (*started, *(DataSet(name, None, read[name]) for name in read if name not in names))


def _facts(study: Study, models: pd.DataFrame) -> list[tuple[str, str]]:
    training = study.training
    seconds = float(models["seconds"].sum())
    return [
        ("Steps", f"{training.steps:,}, batches of {training.batch_size}"),
        ("Learning rate", f"{training.learning_rate:g}"),
        ("Seeds", _seeds(study.seed_list)),
        *((name.capitalize(), ", ".join(map(str, study.values_of(name)))) for name in AXES),
        ("Probe", plural(study.probe, "image")),
        ("Protocol", ", ".join(str(p) for p in sorted(models["protocol"].unique()))),
        ("Trained on", ", ".join(sorted(d for d in models["device"].dropna().unique() if d))),
        ("Training time", f"{duration(seconds)} in all" if seconds else ""),
        ("Versions", "; ".join(_versions(models))),
    ]


def _seeds(seeds: tuple[int, ...]) -> str:
    if len(seeds) > 1 and seeds == tuple(range(seeds[0], seeds[0] + len(seeds))):
        return f"{len(seeds)} ({seeds[0]} to {seeds[-1]})"
    more = f" and {len(seeds) - 8} more" if len(seeds) > 8 else ""
    return f"{len(seeds)} ({', '.join(str(seed) for seed in seeds[:8])}{more})"


def _versions(models: pd.DataFrame) -> list[str]:
    """`torch 2.13.0, numpy 2.4.6`, each once; text that is no such JSON is shown unchanged."""
    texts = models["versions"].dropna().unique()
    return list(dict.fromkeys(packages_text(made_with_of(text)) for text in texts))
