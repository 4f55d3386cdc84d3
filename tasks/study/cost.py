"""What a study costs: core-seconds by stage and data set, wall time on so many cores, disk space.

Computed from what was measured of this machine (tasks/study/measurements.py). Pure functions.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from data.base.protocol import Description
from infra.tables import TABLES
from metrics import METRICS
from metrics.evaluate import needs, reads_factors
from tasks.study.label_noise import noise_by_regime
from tasks.study.measurements import (
    Measured,
    dynamics_key,
    few_points,
    model_key,
    pairs_key,
    step_key,
    traces_shape,
)
from tasks.study.model import Model
from tasks.study.spec import Study, images_per_model, pictures_fitted
from tasks.study.survey import CellState
from tasks.study.traces import traces_bytes

CHECKPOINTS = 2  # of a model in training: the newest and the one before it
BATCH_MEASURED = 64  # other batch sizes are taken in proportion
PASSES = 12  # over a group's random walks: traces decide how many, 3 to 40
CURVE_ROW = sum(c.type.bit_width // 8 for c in TABLES["curves"][1])  # bytes of a logged step


@dataclass(frozen=True)
class Job:
    """A model that is not done: core-seconds that are left of it."""

    training: float
    scoring: float


@dataclass(frozen=True)
class DataSetCost:
    """What one data set of a study takes: what is left in core-seconds, all of it in bytes."""

    name: str
    source: str
    jobs: tuple[Job, ...]
    comparing: float
    weights: float
    tables: float
    checkpoints: float  # of a model in training
    traces: float = 0.0
    # Of each cell whose models' training dynamics are to be compared; None: there are no traces.
    dynamics_of_cells: tuple[float, ...] | None = None

    @property
    def training(self) -> float:
        return sum(job.training for job in self.jobs)

    @property
    def scoring(self) -> float:
        return sum(job.scoring for job in self.jobs)

    @property
    def hours(self) -> dict[str, float]:
        """Core-hours that are left, by stage."""
        stages = {name: getattr(self, name) for name in ("training", "scoring", "comparing")}
        if self.dynamics_of_cells is not None:
            stages["dynamics"] = sum(self.dynamics_of_cells)
        return {name: seconds / 3600 for name, seconds in stages.items()}


@dataclass(frozen=True)
class Machines:
    """Where a study would run; every core is taken to be as fast as one of this machine."""

    cores: int
    gpus: float = 0.0


Pace = Callable[[Model], float | None]  # seconds per step where they are known, as on a GPU


def data_set_cost(
    study: Study,
    states: Sequence[CellState],
    data_set: Description,
    measured: Measured,
    pairs: int,
    pairs_left: int,
    pace: Pace = lambda model: None,
    dynamics_left: Sequence[int] = (),
) -> DataSetCost:
    """Of the cells of one data set, which compare so many ordered pairs of models, and the training
    dynamics of groups of so many."""
    of_model, of_pairs = measured[model_key(study, data_set)], measured[pairs_key(study)]
    steps = {
        (method, architecture): measured[step_key(study, method, data_set, architecture)]
        for method in study.methods
        for architecture in study.values_of("architecture")
    }
    jobs = []
    for state in states:
        first = state.cell.models[0]
        step = steps[first.method, first.architecture]
        scoring = _scoring(study, data_set, of_model, step["image"])
        for model in state.unfinished:
            training = _training(study, of_model, step["step"], pace(model))
            training += step.get("fit", 0.0) * pictures_fitted(data_set.pictures or 0)
            jobs.append(Job(training, scoring))
        jobs += [Job(0.0, scoring)] * len(state.unscored)
    models = sum(len(state.cell.models) for state in states)
    compared = models * study.probe if pairs_left else 0
    rows = study.training.steps // study.training.log_every
    tables = of_model["tables"] + rows * CURVE_ROW + study.probe * of_pairs["row_bytes"]
    return DataSetCost(
        name=states[0].cell.data,
        source=states[0].cell.models[0].source,
        jobs=tuple(jobs),
        comparing=compared * of_pairs["compare_row"] + pairs_left * of_pairs["pair"],
        weights=models * of_model["weights"],
        tables=models * tables + pairs * of_pairs["pair_bytes"],
        checkpoints=CHECKPOINTS * max(step["checkpoint"] for step in steps.values()),
        traces=models * _traces(study, data_set),
        dynamics_of_cells=_dynamics(study, data_set, measured, dynamics_left),
    )


def _dynamics(
    study: Study, data_set: Description, measured: Measured, models: Sequence[int]
) -> tuple[float, ...] | None:
    """Seconds of each group of so many models: of their random walks, which join all samples at a
    snapshot and all snapshots of a sample, and of every two models' clouds of points."""
    if not study.traces:
        return None
    of_group = measured[dynamics_key(study, study.traces, data_set)]
    snapshots, samples = traces_shape(study, study.traces, data_set)
    points = min(study.dynamics.points or snapshots * samples, snapshots * samples)
    walk = of_group["walk"] + PASSES * of_group["pass"]
    walk *= snapshots * samples * (snapshots + samples)
    pair = of_group["point_pair"] * points**2
    return tuple(count * walk + count * (count + 1) / 2 * pair for count in models)


def _traces(study: Study, data_set: Description) -> float:
    """Bytes of a model's traces."""
    if not study.traces:
        return 0.0
    names, sizes = data_set.factor_names, data_set.factor_sizes
    return traces_bytes(study.traces, study.training.steps, names, sizes)


def _training(
    study: Study, of_model: Mapping[str, float], step: float, pace: float | None
) -> float:
    """Seconds of the steps, of encoding and decoding the probe, and of what each model takes."""
    step = step * study.training.batch_size / BATCH_MEASURED if pace is None else pace
    return study.training.steps * step + study.probe * of_model["train_row"] + of_model["train"]


def _scoring(
    study: Study, data_set: Description, of_model: Mapping[str, float], image: float
) -> float:
    """Seconds of encoding pictures, each once at most, and of the metrics."""
    settings = study.metrics
    if not data_set.factor_sizes:
        possible = tuple(name for name in settings.names if not reads_factors(name))
        settings = settings.model_copy(update={"names": possible})
    if not settings.names:
        return 0.0
    points = settings.repeats * settings.points
    regimes = len(noise_by_regime(settings.label_noise, data_set))
    images = images_per_model(settings, data_set.factor_sizes, regimes, data_set.has_splits)
    images = min(images, data_set.pictures or images)
    decoded = points if "posterior" in needs(settings.names) else 0
    metrics = of_model["metrics"] * (1 + regimes) * points / few_points(settings).points
    unmeasured = sum(METRICS[name].cost for name in settings.names if METRICS[name].data)
    metrics += settings.repeats * unmeasured
    return of_model["score"] + images * image + decoded * of_model["train_row"] + metrics


def wall_seconds(study: Study, costs: Sequence[DataSetCost], machines: Machines) -> float:
    """From the first model's start to the last comparison's end."""
    jobs = [job for cost in costs for job in cost.jobs]
    gpus = study.training.gpus_per_model
    gpus = machines.gpus and (1.0 if gpus is None else gpus)  # as the driver gives them
    scorers = max(int(machines.cores / study.metrics.cpus_per_model), 1)
    trainers = max(int(machines.cores / study.training.cpus_per_model), 1)
    if gpus:
        trainers = min(trainers, max(int(machines.gpus / gpus), 1))
        last = max((job.scoring for job in jobs), default=0.0)
        trained = makespan((job.training for job in jobs), trainers) + last
        seconds = max(trained, sum(job.scoring for job in jobs) / scorers)
    else:
        seconds = makespan((job.training + job.scoring for job in jobs), trainers)
    dynamics = [seconds for cost in costs for seconds in cost.dynamics_of_cells or ()]
    seconds += makespan(dynamics, machines.cores)
    return seconds + sum(cost.comparing for cost in costs) / machines.cores


def makespan(jobs: Iterable[float], at_once: int) -> float:
    """When the last of these jobs ends, if each begins as soon as one of so many places is free."""
    ends = [0.0] * at_once
    for job in jobs:
        heapq.heapreplace(ends, ends[0] + job)
    return max(ends)


def models_in_training(study: Study, costs: Sequence[DataSetCost], machines: Machines) -> int:
    """How many models have checkpoints at once, at most."""
    left = sum(1 for cost in costs for job in cost.jobs if job.training)
    return min(left, max(int(machines.cores / study.training.cpus_per_model), 1))
