"""`tolstoy plan`: what a study would do, and its cost on this machine."""

from __future__ import annotations

import hashlib
import json as jsonlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from data.base.cache import folder
from data.base.protocol import Description
from flows.commands.own_data import lines_of_own_data, warn_of_own_data
from flows.commands.text import duration, preparing, say
from infra.new_file import written_whole
from infra.runtime import WORKER, cores
from infra.store import Store
from infra.tables import PROTOCOL
from tasks.data_sets import describe
from tasks.study.reading import read_study
from tasks.study.spec import Study, images_per_model
from tasks.study.stored import check_store, planned_study
from tasks.study.survey import CellState, survey, totals

BATCH_MEASURED = 64  # other batch sizes are taken in proportion


@dataclass(frozen=True)
class Estimate:
    """Core-hours of what is left, and what they were computed from."""

    training_hours: float
    scoring_hours: float
    seconds_per_step: dict[str, float]
    measured: str  # the day of the oldest measurement

    @property
    def core_hours(self) -> float:
        return self.training_hours + self.scoring_hours


def plan(
    spec: str, overrides: Sequence[str], store_uri: str | None, *, calibrate: bool, json: bool
) -> int:
    """Print cells, models, steps, what is done and left, and core-hours; nothing is written."""
    study = read_study(spec, overrides)
    store = Store(f"studies/{study.name}" if store_uri is None else store_uri)
    print(plan_text(study, store, calibrate=calibrate, json=json))
    return 0


def plan_text(study: Study, store: Store, *, calibrate: bool = False, json: bool = False) -> str:
    """The plan, as text or JSON."""
    study, missing = planned_study(study, store, preparing)
    if store.exists():
        check_store(study, store)
    cells = survey(study, store)
    cost = estimate(study, cells, calibrate)
    warn_of_own_data(study)
    show = _as_json if json else _as_text
    return show(study, store, cells, cost, missing)


def _as_json(
    study: Study,
    store: Store,
    cells: Sequence[CellState],
    cost: Estimate,
    missing: Sequence[str],
) -> str:
    total = totals(cells)
    facts = {
        "study": study.name,
        "store": str(store),
        "cells": len(cells),
        **total,
        "model_steps": total["models"] * study.training.steps,
        "core_hours_left": cost.core_hours,
        "seconds_per_step": cost.seconds_per_step,
        "missing": list(missing),
        "read": {c.name: c.read.model_dump(mode="json") for c in study.data if c.read},
    }
    return jsonlib.dumps(facts, indent=2)


def _as_text(
    study: Study,
    store: Store,
    cells: Sequence[CellState],
    cost: Estimate,
    missing: Sequence[str],
) -> str:
    total = totals(cells)
    models, steps = total["models"], study.training.steps
    strengths = sum(len(values) for values in study.methods.values())
    unscored = total["left"] + total["trained"] - total["scored"]
    done = [f"{total[name]:,} {name}" for name in ("trained", "diverged", "failed") if total[name]]
    lines = [
        ("study", f"{study.name}: {study.about}" if study.about else study.name),
        ("store", str(store)),
        (
            "cells",
            f"{len(cells):,} = {len(study.data)} data sets × {strengths} strengths of "
            f"{len(study.methods)} methods",
        ),
        (
            "data",
            ", ".join(f"{choice.name} ({choice.source or 'missing'})" for choice in study.data),
        ),
        *(("read", line) for line in lines_of_own_data(study)),
        ("models", f"{models:,} = {len(cells):,} cells × {len(study.seed_list)} seeds"),
        ("model-steps", f"{models * steps:,}, {steps:,} for each model"),
        ("done", ", ".join(done) or "nothing yet"),
        ("left", f"{total['left']:,} to train, {unscored:,} to score"),
        (
            "estimate",
            f"{cost.core_hours:,.1f} core-hours ({cost.training_hours:,.1f} training, "
            f"{cost.scoring_hours:,.1f} scoring): {duration(60 * cost.core_hours / cores())} "
            f"on this machine's {cores()} cores",
        ),
        *(("missing", text) for text in missing),
    ]
    text = "\n".join(f"{name:<12} {text}" for name, text in lines)
    return f"{text}\n\nMeasured here on {cost.measured}; tolstoy plan --calibrate measures again."


def estimate(study: Study, cells: Sequence[CellState], renew: bool = False) -> Estimate:
    """Core-hours of the models that are left, measuring what has not been measured here."""
    data_sets = {choice.name: describe(choice) for choice in study.data}
    images = {name: _images_per_model(study, known) for name, known in data_sets.items()}

    def network(method: str, data_set: str) -> str:
        return f"{method} {data_sets[data_set].channels} {study.architecture} {study.latents}"

    networks = sorted({network(method, name) for method in study.methods for name in data_sets})
    measured = _calibration(networks, renew)
    training = scoring = 0.0
    for cell in cells:
        first = cell.cell.models[0]
        seconds = measured[network(first.method, first.data)]
        step = seconds["step"] * study.training.batch_size / BATCH_MEASURED
        training += len(cell.unfinished) * study.training.steps * step
        scored = images[first.data] * seconds["image"]
        scoring += (len(cell.unfinished) + len(cell.unscored)) * scored
    oldest = min(measured[name]["when"] for name in networks)
    return Estimate(
        training_hours=training / 3600,
        scoring_hours=scoring / 3600,
        seconds_per_step={name: measured[name]["step"] for name in networks},
        measured=time.strftime("%Y-%m-%d", time.localtime(oldest)),
    )


def _images_per_model(study: Study, data_set: Description) -> int:
    """Images that one model encodes for its probe and its scores: each picture once at most."""
    read = images_per_model(study.metrics, data_set.factor_sizes)
    return study.probe + min(read, data_set.pictures or read)


def _calibration(networks: list[str], renew: bool) -> dict[str, dict[str, float]]:
    """Seconds per step and per encoded image, from the cache or measured in a process alone."""
    path = _calibration_file()
    known: dict[str, dict[str, float]] = {}
    if not renew and path.is_file():
        with suppress(ValueError):  # a damaged file is measured again
            known = jsonlib.loads(path.read_text())
    missing = [network for network in networks if network not in known]
    if missing:
        say(f"measuring {len(missing)} kinds of training step ...")
        measured = subprocess.run(
            [sys.executable, "-m", "tasks.calibrate", *missing],
            env={**os.environ, **WORKER},
            check=True,
            capture_output=True,
            text=True,
        )
        known.update(jsonlib.loads(measured.stdout))
        with suppress(OSError):  # if it cannot be kept, the next plan measures again
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path) as partial:
                partial.write_text(jsonlib.dumps(known))
    return known


def _calibration_file() -> Path:
    machine = f"{platform.node()} {platform.machine()} {platform.python_version()} {PROTOCOL}"
    return folder() / f"calibration-{hashlib.sha256(machine.encode()).hexdigest()[:12]}.json"
