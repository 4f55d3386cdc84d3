"""What the numbers were made with: spec, code, packages, machine, time and data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

import pandas as pd
import yaml

import data
from infra.provenance import made_with
from tasks.report.frames import DATA_SET, scoring_seconds
from tasks.report.results import Results
from tasks.study.data_choice import DataChoice
from tasks.study.spec import Study
from tasks.what_was_read import pictures_text
from tasks.words import data_name, plural

PACKAGES = ("tolstoy", "torch", "numpy", "scikit-learn", "python")
SHORT = 10  # characters of a commit in a line
HOUR = 3600.0


@dataclass(frozen=True)
class Provenance:
    facts: tuple[tuple[str, str], ...]
    spec: str  # YAML that `tolstoy run` accepts
    made_by: str  # the code that wrote the report, in a few words


def provenance(results: Results) -> Provenance:
    study, frames = results.study, results.frames
    made = [made_with_of(text) for text in frames.models["versions"].fillna("")]
    report = made_with()
    facts = (
        ("Trained by commit", _values(made, "commit", "no commit known")),
        ("Lock of packages when trained, SHA-256", _values(made, "lock", "no lock known")),
        ("Versions when trained", "; ".join(dict.fromkeys(map(packages_text, made)))),
        ("Processor", _values(made, "processor", "not recorded")),
        ("Instructions", _instructions(frames.models, made)),
        ("Trained on", ", ".join(sorted({d for d in frames.models["device"].dropna() if d}))),
        ("Core-hours", _core_hours(results)),
        ("Data", "; ".join(_data(study, frames.models))),
        ("This report by", f"Tolstoy {version('tolstoy')}, {_commit(report)}"),
        ("Its lock of packages, SHA-256", report.get("lock", "no lock known")),
    )
    return Provenance(
        tuple((term, text) for term, text in facts if text),
        yaml.safe_dump(
            study.model_dump(mode="json", exclude_none=True), sort_keys=False, allow_unicode=True
        ),
        f"Tolstoy {version('tolstoy')}, {_commit(report, SHORT)}",
    )


def made_with_of(text: str) -> dict[str, str]:
    """The column `versions` of a model; text that is no such JSON is kept whole."""
    try:
        return {str(name): str(value) for name, value in json.loads(text).items()}
    except (ValueError, AttributeError):
        return {"": text} if text else {}


def packages_text(made: dict[str, str]) -> str:
    """`torch 2.13.0, numpy 2.4.6`."""
    known = [f"{name} {made[name]}" for name in PACKAGES if name in made]
    return ", ".join(known) or made.get("", "")


def _commit(made: dict[str, str], length: int | None = None) -> str:
    number, changed, _ = made.get("commit", "").partition("+")
    if not number:
        return "no commit known"
    return f"commit {number[:length]}" + (" with changes" if changed else "")


def _instructions(models: pd.DataFrame, made: Sequence[dict[str, str]]) -> str:
    """The sets of all steps; of older models what their last processor had."""
    recorded = [
        {**older, **({} if pd.isna(name) else {"instructions": str(name)})}
        for name, older in zip(models["instructions"], made, strict=True)
    ]
    text = _values(recorded, "instructions", "not recorded")
    several = len({one["instructions"] for one in recorded if "instructions" in one}) > 1
    return f"{text}; these round differently" if several else text


def _values(made: Sequence[dict[str, str]], name: str, unknown: str) -> str:
    """One value, or each with the number of its models."""
    counts = Counter(one.get(name) or unknown for one in made)
    texts = {value: value.replace("+changes", " with changes") for value in counts}
    if len(counts) == 1:
        return next(iter(texts.values()))
    return "; ".join(
        f"{texts[value]} ({plural(count, 'model')})" for value, count in counts.most_common()
    )


def _core_hours(results: Results) -> str:
    study, frames = results.study, results.frames
    training = float(frames.models["seconds"].sum()) * study.training.cpus_per_model / HOUR
    scoring = float(scoring_seconds(frames)["seconds"].sum()) * study.metrics.cpus_per_model / HOUR
    if not training + scoring:
        return ""
    return (
        f"{training + scoring:,.2f}: {training:,.2f} of training, {scoring:,.2f} of metrics; "
        "comparing for UDR is not recorded"
    )


def _data(study: Study, models: pd.DataFrame) -> list[str]:
    """Each data set with the checksums that are known of its files or pictures."""
    choices = {choice.name: choice for choice in study.data}
    texts = []
    for row in models[DATA_SET].drop_duplicates().itertuples(index=False):
        sums = checksums(str(row.data), str(row.source), choices.get(str(row.data)))
        known = ", ".join(f"{name} {checksum}" for name, checksum in sums) or "drawn, no file"
        choice = choices.get(str(row.data))
        if choice is not None and choice.first_pictures:
            known += f", {pictures_text(choice)}"
        texts.append(f"{data_name(str(row.data))} ({row.source}): {known}")
    return texts


def checksums(name: str, source: str, choice: DataChoice | None) -> list[tuple[str, str]]:
    """Of published files, by their names, and of the user's own pictures."""
    sums = []
    if choice is not None and choice.content and choice.source == source:
        sums.append(("content", choice.content))
    if name in data.DATA_SETS:
        for place, published in data.published_files(name).items():
            files = published.files if place == source else ()
            sums += [(file.name, file.checksum) for file in files if file.checksum]
    return sums
