"""What an optimiser step costs in a worker, against a plain eager loop.

- Ours: TrainingModule under Lightning's Trainer, in the environment of a worker.
- Baseline: plain.py, on one thread and with the system's own allocator.

A turn is one chunk of ours and half as many steps of the baseline; `size` is the number of turns.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from flows.benchmarks import Row
from flows.benchmarks.plain import BATCH, LATENTS, STRENGTH, pictures, plain_training
from flows.benchmarks.turns import Side, compared, serve, take_turns
from infra.store import Store
from models.recipe import Recipe
from tasks.study.reading import parse_study
from tasks.study.traces import Traces, snapshot_steps

TURNS, PLAIN_STEPS = 9, 10
MODULE = "flows.benchmarks.training"
INPUTS = "random pictures in memory"
# Name, method, channels, architecture, precision and what a note adds.
TRAININGS = (
    ("beta_vae, 1 channel", "beta_vae", "1", "paper", "float32", ""),
    ("beta_vae, 3 channels", "beta_vae", "3", "paper", "float32", ""),
    ("factor_vae, 1 channel", "factor_vae", "1", "paper", "float32", ""),
    ("beta_vae, bfloat16", "beta_vae", "1", "paper", "bfloat16", "; the baseline stays float32"),
    ("beta_vae, 1 channel, library", "beta_vae", "1", "library", "float32", ""),
    ("beta_vae, 3 channels, library", "beta_vae", "3", "library", "float32", ""),
    ("factor_vae, 1 channel, library", "factor_vae", "1", "library", "float32", ""),
)


def measure(size: int | None = None) -> list[Row]:
    turns = size or TURNS
    rows = []
    for name, method, channels, architecture, precision, note in TRAININGS:
        network = [method, channels, architecture]
        ours, plain = ["ours", *network, precision], ["plain", *network]
        note = f"a step at batch {BATCH}; {INPUTS}{note}"
        rows.append(compared(name, MODULE, ours, plain, turns, note))
    return [*rows, _overhead(turns), _of_traces(turns)]


def _overhead(turns: int) -> Row:
    """What a step under the Trainer takes beyond `optimise`, both timed in the same steps."""
    (times,) = take_turns(
        [Side(MODULE, ["ours", "beta_vae", "1", "paper", "float32"], worker=True)], turns
    )
    added = 1e3 * statistics.median(step - own for step, own in times)
    aim = 1e3 * 0.01 * statistics.median(step for step, _ in times)
    return Row("Trainer's overhead", added, aim, "ms", aim / added, "a step, against 1% of a step")


def _of_traces(turns: int) -> Row:
    """What the default traces add to a step of a training of the default length."""
    (times,) = take_turns([Side(MODULE, ["traced", "beta_vae", "1"], worker=True)], turns)
    steps, traces = Recipe().steps, Traces()
    snapshots = len(snapshot_steps(traces, steps))
    added = 1e3 * statistics.median(snapshot for _, snapshot in times) * snapshots / steps
    aim = 1e3 * 0.02 * statistics.median(step for step, _ in times)
    note = f"a step, {snapshots} snapshots of {traces.samples} samples in {steps:,} steps; "
    return Row("traces", added, aim, "ms", aim / added, note + "against 2% of a step")


def _ours(method: str, channels: int, architecture: str, precision: Any) -> None:
    from models import build_objective
    from models.architecture import VAE
    from models.recipe import CHUNK
    from models.training import Feed, Losses, TrainingModule, fit

    array = pictures(channels)

    def batch(step: int) -> torch.Tensor:
        rows = np.random.default_rng((0, step)).integers(len(array), size=BATCH)
        images = torch.from_numpy(array[rows].astype(np.float32))
        return images.contiguous(memory_format=torch.channels_last)

    class Timed(TrainingModule):
        """Prints after every chunk the seconds of a step, and of `optimise` in it."""

        own, began = 0.0, time.perf_counter()

        def optimise(self, step: int) -> Losses:
            began = time.perf_counter()
            losses = super().optimise(step)
            self.own += time.perf_counter() - began
            return losses

        def turn(self) -> None:
            print((time.perf_counter() - self.began) / CHUNK, self.own / CHUNK, flush=True)
            if not sys.stdin.readline():
                raise SystemExit
            self.own, self.began = 0.0, time.perf_counter()

    recipe = Recipe(steps=10**6, precision=precision)
    training: Timed = Timed(
        VAE(channels, LATENTS, architecture),
        build_objective(method, STRENGTH, LATENTS),
        recipe,
        Feed(batch, lambda step: torch.Generator().manual_seed(step)),
        lambda _: training.turn(),
        log_every=10**6,
    )
    training.initialise(torch.Generator().manual_seed(0))
    fit(training)


def _traced(method: str, channels: int) -> None:
    """Serves the seconds of a step, and of a snapshot that is written to the disk."""
    from models import build_objective
    from models.architecture import VAE
    from models.traces import activations
    from models.training import Feed, TrainingModule
    from tasks.snapshots import Snapshots

    array = pictures(channels)
    traces = Traces(count=1)
    samples = array[: traces.samples].astype(np.float32)
    images = torch.from_numpy(samples[:BATCH]).contiguous(memory_format=torch.channels_last)
    training = TrainingModule(
        VAE(channels, LATENTS),
        build_objective(method, STRENGTH, LATENTS),
        Recipe(),
        Feed(lambda step: images, lambda step: torch.Generator().manual_seed(step)),
    )
    training.initialise(torch.Generator().manual_seed(0))
    study = parse_study(
        {"name": "b", "data": ["dsprites"], "methods": {method: [1]}, "traces": traces.model_dump()}
    )
    model = study.cells()[0].models[0]
    with tempfile.TemporaryDirectory() as folder:
        snapshots = Snapshots(Store(folder), study, model)

        def turn() -> Sequence[float]:
            began = time.perf_counter()
            for step in range(PLAIN_STEPS):
                training.optimise(step)
            trained = time.perf_counter()
            recorded = activations(training.vae, samples, traces.layers)
            snapshots.save(model.recipe.steps, recorded)
            return [(trained - began) / PLAIN_STEPS, time.perf_counter() - trained]

        serve(turn)


def _plain(method: str, channels: int, architecture: str) -> None:
    steps = plain_training(method, channels, architecture)

    def turn() -> Sequence[float]:
        began = time.perf_counter()
        for _ in range(PLAIN_STEPS):
            next(steps)
        return [(time.perf_counter() - began) / PLAIN_STEPS]

    serve(turn)


if __name__ == "__main__":
    torch.set_num_threads(1)
    side, method, channels, *settings = sys.argv[1:]
    if side == "ours":
        _ours(method, int(channels), *settings)
    elif side == "traced":
        _traced(method, int(channels))
    else:
        _plain(method, int(channels), *settings)
