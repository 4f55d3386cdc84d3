"""Which measurements of a machine say what a study costs: keys, each a kind and its facts."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import models as methods
from data.base.protocol import Description
from metrics import METRICS
from tasks.study.spec import Metrics, Study
from tasks.study.traces import Traces, sample_count, snapshot_steps

# What tasks/measure.py measures.
STEP, MODEL, PAIRS, DYNAMICS = "step", "model", "pairs", "dynamics"
POINTS = 1000  # at most: metrics take longer in proportion to their points
ROWS = 10_000  # of codes that are compared, at most
SNAPSHOTS, SAMPLES = 20, 512  # of traces that are compared, at most
NOT_OF_WALKS = ("snapshots", "layers", "points", "draws", "level")  # settings of dynamics

Measured = dict[str, dict[str, float]]  # by key


def step_key(study: Study, method: str, data_set: Description, architecture: str) -> str:
    facts = {**network(study), "architecture": architecture}
    return _key(STEP, method=method, channels=data_set.channels, **facts)


def model_key(study: Study, data_set: Description) -> str:
    sizes, settings = list(data_set.factor_sizes), few_points(study.metrics).science()
    return _key(MODEL, channels=data_set.channels, sizes=sizes, metrics=settings, **network(study))


def pairs_key(study: Study) -> str:
    similarities, rows = list(study.udr.similarities), min(study.probe, ROWS)
    return _key(PAIRS, latents=network(study)["latents"], rows=rows, similarities=similarities)


def dynamics_key(study: Study, traces: Traces, data_set: Description) -> str:
    """Of groups that are never too small for the settings: a run says what it cannot compare."""
    settings = asdict(study.dynamics)
    snapshots, samples = traces_shape(study, traces, data_set)
    chosen = [name for name in traces.layers if name in (study.dynamics.layers or traces.layers)]
    return _key(
        DYNAMICS,
        snapshots=max(min(snapshots, SNAPSHOTS), 2),
        samples=max(min(samples, SAMPLES), study.dynamics.neighbours + 1),
        units=sum(methods.DECODER_LAYERS[name] for name in chosen or traces.layers),
        settings={name: settings[name] for name in settings if name not in NOT_OF_WALKS},
    )


def traces_shape(study: Study, traces: Traces, data_set: Description) -> tuple[int, int]:
    """Snapshots and samples of each model that are compared."""
    snapshots = study.dynamics.snapshots or len(snapshot_steps(traces, study.training.steps))
    return snapshots, sample_count(traces, data_set.factor_names, data_set.factor_sizes)


def few_points(metrics: Metrics) -> Metrics:
    """The same metrics of so few points that measuring them takes seconds; without label noise,
    whose factors the pictures that are measured do not have, and without metrics that only models
    of some data sets have."""
    ratio = min(POINTS / metrics.points, 1.0)
    few = {
        "points": round(ratio * metrics.points),
        "test_points": round(ratio * metrics.test_points),
    }
    names = tuple(name for name in metrics.names if not METRICS[name].data)
    return metrics.model_copy(update={**few, "names": names, "repeats": 1, "label_noise": ()})


def keys(study: Study, data_sets: dict[str, Description]) -> list[str]:
    """All that is measured for a study."""
    steps = {
        step_key(study, method, data_set, architecture)
        for method in study.methods
        for data_set in data_sets.values()
        for architecture in study.values_of("architecture")
    }
    models = {model_key(study, data_set) for data_set in data_sets.values()}
    traced = {
        dynamics_key(study, study.traces, data_set)
        for data_set in data_sets.values()
        if study.traces
    }
    return [*sorted(steps), *sorted(models), pairs_key(study), *sorted(traced)]


def network(study: Study) -> dict[str, Any]:
    """What is measured where the study sweeps: the most latents, and the first architecture (of
    steps all)."""
    return {
        "architecture": study.values_of("architecture")[0],
        "latents": max(study.values_of("latents")),
    }


def _key(kind: str, **facts: Any) -> str:
    return f"{kind} {json.dumps(facts, sort_keys=True)}"
