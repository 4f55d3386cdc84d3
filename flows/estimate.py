"""What is left of a study, on this machine or on others: core-hours, wall time, disk space."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from flows.measured_here import START_UP, measured_here
from infra.errors import WrongInput
from infra.peak_memory import MEGABYTE
from infra.ray_cluster import cluster_machines
from infra.runtime import WORKER_BYTES, cores, workers_that_fit
from infra.store import Store
from tasks.data_sets import describe
from tasks.study.cost import (
    BATCH_MEASURED,
    DataSetCost,
    Machines,
    Pace,
    data_set_cost,
    models_in_training,
    wall_seconds,
)
from tasks.study.dynamics import is_compared
from tasks.study.measurements import keys, network, step_key
from tasks.study.model import TRAINED, Model, group_name
from tasks.study.pair_parts import missing_pairs, pairs_in, wanted_parts
from tasks.study.spec import Study
from tasks.study.survey import CellState
from tasks.words import plural

MOST_CORES = 1_000_000


@dataclass(frozen=True)
class Where:
    """The machines that a plan is for, and how a sentence names them."""

    machines: Machines
    name: str


def where(wanted_cores: int | None, gpus: int | None, ray: str | None) -> Where:
    """This machine, so many cores and GPUs, or those that a Ray cluster has now."""
    if ray and (wanted_cores is not None or gpus is not None):
        raise WrongInput("--ray", f"{ray} with --cores or --gpus", "the cluster or the numbers")
    for option, count, least in (("--cores", wanted_cores, 1), ("--gpus", gpus, 0)):
        if count is not None and not least <= count <= MOST_CORES:
            raise WrongInput(option, count, f"a number from {least} to {MOST_CORES}")
    if ray:
        has = cluster_machines(ray)
        count = int(sum(machine.get("CPU", 0.0) for machine in has))
        machines = Machines(max(count, 1), sum(machine.get("GPU", 0.0) for machine in has))
        return Where(machines, f"{_text(machines)} of {ray}")
    machines = Machines(wanted_cores or cores(), gpus or 0)
    chosen = wanted_cores is not None or gpus is not None
    name = f"{_text(machines)} such as this machine's" if chosen else ""
    return Where(machines, name or f"this machine's {_text(machines)}")


def _text(machines: Machines) -> str:
    count = plural(machines.cores, "core")
    return f"{count} and {plural(int(machines.gpus), 'GPU')}" if machines.gpus else count


@dataclass(frozen=True)
class Estimate:
    """What is left, and what it was computed from."""

    costs: tuple[DataSetCost, ...]
    where: Where
    models_seconds: float  # wall time without the start
    start_up: float
    checkpoints: float  # bytes while models train
    gpu_pace_known: bool
    seconds_per_step: dict[str, float]
    worker_bytes: float  # of a worker, at most
    workers_fit: int  # in the free memory of this machine
    measured: str  # the day of the oldest measurement

    @property
    def hours(self) -> dict[str, float]:
        """Core-hours that are left, by stage."""
        of_data_sets = [cost.hours for cost in self.costs]
        return {stage: sum(hours[stage] for hours in of_data_sets) for stage in of_data_sets[0]}

    @property
    def core_hours(self) -> float:
        return sum(self.hours.values())

    @property
    def wall_seconds(self) -> float:
        return self.start_up + self.models_seconds if self.models_seconds else 0.0

    @property
    def weights(self) -> float:
        return sum(cost.weights for cost in self.costs)

    @property
    def tables(self) -> float:
        return sum(cost.tables for cost in self.costs)

    @property
    def traces(self) -> float:
        return sum(cost.traces for cost in self.costs)


def estimate(
    study: Study,
    store: Store,
    states: Sequence[CellState],
    where: Where,
    renew: bool = False,
) -> Estimate:
    """Measures what has not been measured on this machine."""
    data_sets = {choice.name: describe(choice) for choice in study.data}
    wanted = keys(study, data_sets)
    measured = measured_here(wanted, renew)
    pace = _gpu_pace(store) if where.machines.gpus else {}
    costs = []
    for name, data_set in data_sets.items():
        of_data = [state for state in states if state.cell.data == name]
        models = [model for state in of_data for model in (*state.trained, *state.unfinished)]
        pairs = pairs_in(wanted_parts(models, study.udr))
        left = missing_pairs(store, models, study.udr)
        dynamics = dynamics_left(study, store, of_data)
        costs.append(
            data_set_cost(study, of_data, data_set, measured, pairs, left, _pace_of(pace), dynamics)
        )
    latents = network(study)["latents"]
    seconds_per_step = {
        f"{method} {data_set.channels} {architecture} {latents}": measured[
            step_key(study, method, data_set, architecture)
        ]["step"]
        for method in sorted(study.methods)
        for data_set in data_sets.values()
        for architecture in study.values_of("architecture")
    }
    oldest = min(measured[key]["when"] for key in wanted)
    worker = worker_bytes(study, [measured[key] for key in wanted])
    training = max((cost.checkpoints for cost in costs), default=0.0)
    return Estimate(
        costs=tuple(costs),
        where=where,
        models_seconds=wall_seconds(study, costs, where.machines),
        start_up=measured[START_UP]["seconds"],
        checkpoints=training * models_in_training(study, costs, where.machines),
        gpu_pace_known=bool(pace),
        seconds_per_step=seconds_per_step,
        worker_bytes=worker,
        workers_fit=workers_that_fit(worker),
        measured=time.strftime("%Y-%m-%d", time.localtime(oldest)),
    )


def worker_bytes(study: Study, measured: Sequence[Mapping[str, float]]) -> float:
    """What a worker needs of its own for the study: to score, or to train a batch of its size."""
    batches = study.training.batch_size / BATCH_MEASURED
    training = [
        MEGABYTE * (facts["worker_mb"] + facts["batch_mb"] * batches)
        for facts in measured
        if "batch_mb" in facts
    ]
    return max([WORKER_BYTES, *training])


def dynamics_left(study: Study, store: Store, states: Sequence[CellState]) -> list[int]:
    """How many models each cell has whose training dynamics are to be compared: a cell is compared
    as a whole, again if models are added."""
    if not study.traces:
        return []
    models = [
        len(state.trained) + len(state.unfinished)
        for state in states
        if state.unfinished
        or not is_compared(store, study.dynamics, state.cell.name, state.trained)
    ]
    return [count for count in models if count > 1]


def _gpu_pace(store: Store) -> dict[str, float]:
    """By group of a model, the median seconds per step of those that a GPU trained."""
    columns = ["data", "method", "device", "status", "steps", "seconds"]
    seconds = defaultdict(list)
    for row in store.read("models", columns).to_pylist():
        if row["status"] == TRAINED and row["steps"] and row["device"] not in (None, "", "cpu"):
            seconds[group_name(row["data"], row["method"])].append(row["seconds"] / row["steps"])
    return {group: median(of_group) for group, of_group in seconds.items()}


def _pace_of(by_group: dict[str, float]) -> Pace:
    def pace(model: Model) -> float | None:
        if not by_group:
            return None
        return by_group.get(group_name(model.data, model.method), max(by_group.values()))

    return pace
