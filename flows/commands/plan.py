"""`tolstoy plan`: what a study would do, and what it costs here or on other machines."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from dataclasses import asdict

from flows.commands.own_data import lines_of_own_data, warn_of_own_data
from flows.commands.text import duration, preparing
from flows.estimate import Estimate, Where, estimate, where
from infra.runtime import cores
from infra.store import Store
from models import METHODS, RESNETS
from tasks.study.cost import BATCH_MEASURED
from tasks.study.reading import read_study
from tasks.study.spec import Study
from tasks.study.stored import check_store, planned_study
from tasks.study.survey import CellState, survey, totals
from tasks.study.traces import snapshot_steps
from tasks.words import method_name, plural, size_text


def plan(
    spec: str,
    overrides: Sequence[str],
    store_uri: str | None,
    *,
    cores: int | None = None,
    gpus: int | None = None,
    ray: str | None = None,
    calibrate: bool,
    json: bool,
) -> int:
    """Print cells, models, steps, what is done and left, and the cost; nothing is written."""
    machines = where(cores, gpus, ray)
    study = read_study(spec, overrides)
    store = Store(f"studies/{study.name}" if store_uri is None else store_uri)
    print(plan_text(study, store, machines, calibrate=calibrate, json=json))
    return 0


def plan_text(
    study: Study,
    store: Store,
    machines: Where | None = None,
    *,
    calibrate: bool = False,
    json: bool = False,
) -> str:
    """The plan, as text or JSON, for this machine unless others are named."""
    study, missing = planned_study(study, store, preparing)
    if store.exists():
        check_store(study, store)
    cells = survey(study, store)
    cost = estimate(study, store, cells, machines or where(None, None, None), calibrate)
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
        "model_steps": total["steps"],
        "core_hours_left": cost.core_hours,
        "hours_left": cost.hours,
        **asdict(cost.where.machines),
        "start_up_seconds": cost.start_up,
        "minutes_left": cost.wall_seconds / 60,
        "gpu_pace_known": cost.gpu_pace_known,
        "bytes": {
            "weights": round(cost.weights),
            "tables": round(cost.tables),
            "checkpoints": round(cost.checkpoints),
            "traces": round(cost.traces),
        },
        "snapshots": _snapshots(study),
        "data_sets": [
            {
                "data": of_data.name,
                "source": of_data.source,
                "models_left": len(of_data.jobs),
                "hours_left": of_data.hours,
                "bytes": {
                    "weights": round(of_data.weights),
                    "tables": round(of_data.tables),
                    "traces": round(of_data.traces),
                },
            }
            for of_data in cost.costs
        ],
        "seconds_per_step": cost.seconds_per_step,
        "worker_bytes": round(cost.worker_bytes),
        "workers_that_fit_here": cost.workers_fit,
        "missing": list(missing),
        "first_pictures": {c.name: c.first_pictures for c in study.data if c.first_pictures},
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
    fitted = [method for method in study.methods if not METHODS[method].has_steps]
    no_steps = f"; {' and '.join(map(method_name, fitted))} is fitted at once" if fitted else ""
    strengths = plural(sum(len(values) for values in study.methods.values()), "strength")
    unscored = total["left"] + total["trained"] - total["scored"]
    to_score = f", {unscored:,} to score" if study.metrics.names else ""
    done = [f"{total[name]:,} {name}" for name in ("trained", "diverged", "failed") if total[name]]
    lines = [
        ("study", f"{study.name}: {study.about}" if study.about else study.name),
        ("store", str(store)),
        (
            "cells",
            f"{len(cells):,} = {plural(len(study.data), 'data set')} × {strengths} of "
            f"{plural(len(study.methods), 'method')}"
            + "".join(f" × {len(study.values_of(axis))} values of {axis}" for axis in study.axes),
        ),
        (
            "data",
            ", ".join(f"{choice.name} ({choice.source or 'missing'})" for choice in study.data),
        ),
        *(("read", line) for line in lines_of_own_data(study)),
        (
            "models",
            f"{models:,} = {plural(len(cells), 'cell')} × {plural(len(study.seed_list), 'seed')}",
        ),
        ("model-steps", f"{total['steps']:,}, {steps:,} for each model{no_steps}"),
        ("done", ", ".join(done) or "nothing yet"),
        ("left", f"{total['left']:,} to train{to_score}"),
        *_cost_lines(cost, models),
        *_pace_lines(cost),
        *_traces_lines(study, cost, models),
        *(("missing", text) for text in missing),
    ]
    text = "\n".join(f"{name:<12} {text}" for name, text in lines)
    return f"{text}\n\nMeasured here on {cost.measured}; tolstoy plan --calibrate measures again."


def _cost_lines(cost: Estimate, models: int) -> list[tuple[str, str]]:
    unit, per_hour = ("core-hours", 1) if cost.core_hours >= 1 else ("core-minutes", 60)
    stages = ", ".join(f"{per_hour * hours:,.1f} {name}" for name, hours in cost.hours.items())
    took = f"{duration(cost.wall_seconds / 60)} on {cost.where.name}"
    if cost.wall_seconds:
        took += f", of which {cost.start_up:.0f} s to start"
    size = cost.weights + cost.tables + cost.traces
    disk = f"{size_text(size)} at the end ({size_text(size / models)} per model: "
    disk += f"{size_text(cost.weights / models)} weights, {size_text(cost.tables / models)} tables"
    disk += f", {size_text(cost.traces / models)} traces)" if cost.traces else ")"
    if cost.checkpoints:
        disk += f", up to {size_text(cost.checkpoints)} of checkpoints until then"
    lines = [
        ("estimate", f"{per_hour * cost.core_hours:,.1f} {unit} ({stages})"),
        ("time", took),
        ("disk", disk),
        ("memory", _memory(cost)),
    ]
    if cost.where.machines.gpus and not cost.gpu_pace_known:
        lines.append(
            ("GPUs", "each counted as one core of this machine: no GPU has trained in this store")
        )
    return lines


def _memory(cost: Estimate) -> str:
    text = f"{size_text(cost.worker_bytes)} for a worker, of which "
    text += f"{cost.workers_fit:,} fit in the memory that is free on this machine"
    if cost.workers_fit < cores():
        text += f", fewer than its {plural(cores(), 'core')}: "
        text += f"tolstoy run SPEC --workers {max(cost.workers_fit, 1)}"
    return text


def _pace_lines(cost: Estimate) -> list[tuple[str, str]]:
    """What a step of each method takes, where networks are larger than the study's."""
    keys = [key.split(" ") for key in cost.seconds_per_step]
    if not {architecture for _, _, architecture, _ in keys} & set(RESNETS):
        return []
    paces = [
        f"{seconds:.2g} s {method_name(method)} ({architecture})"
        for (method, _, architecture, _), seconds in zip(
            keys, cost.seconds_per_step.values(), strict=True
        )
        if seconds
    ]
    return [("a step", f"of a batch of {BATCH_MEASURED} on one core: {', '.join(paces)}")]


def _snapshots(study: Study) -> int:
    """Of one model, for its traces."""
    return len(snapshot_steps(study.traces, study.training.steps)) if study.traces else 0


def _traces_lines(study: Study, cost: Estimate, models: int) -> list[tuple[str, str]]:
    if not study.traces:
        return []
    snapshots = f"{plural(_snapshots(study), 'snapshot')} of {', '.join(study.traces.layers)}"
    per_model = f"{size_text(cost.traces / models)} per model"
    return [("traces", f"{snapshots}: {per_model}, {size_text(cost.traces)} in all")]
