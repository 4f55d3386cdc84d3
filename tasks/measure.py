"""Measure what a study costs on one core of this machine: `python -m tasks.measure KEY...`.

A key is of one of the kinds below, as tasks/study/measurements.py makes them. Prints JSON: by key,
what was measured. Random pixels take as long as real ones.

Seconds are CPU seconds, so that other work on the machine hardly lengthens them.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import models
from data.base.cache import ENVIRONMENT
from infra.peak_memory import private_megabytes, private_peak_megabytes, reset_peak
from infra.store import Store
from metrics.dynamics import Walks, joint_embedding, mmd
from metrics.udr.moments import own_pairs
from models.building import build_network, build_training
from models.recipe import Recipe
from models.representation import encode
from models.training import Feed, Training
from tasks.checkpoints import DIGEST
from tasks.compare import compare_tile
from tasks.dynamics import named_stream
from tasks.give_back import give_back
from tasks.model_row import write_row
from tasks.score import score_model
from tasks.streams import stream
from tasks.study.cost import BATCH_MEASURED
from tasks.study.dynamics_settings import settings_from
from tasks.study.measurements import DYNAMICS, MODEL, PAIRS, STEP
from tasks.study.model import TRAINED, Model
from tasks.study.reading import parse_study
from tasks.study.sources import with_sources
from tasks.study.spec import Study
from tasks.study.weight_files import WEIGHTS
from tasks.train import train_model

BATCH, STEPS, WARM_UP = BATCH_MEASURED, 8, 3
FEW_PICTURES, FEW_STEPS, FEW_PROBES = 8, 3, (16, 80)  # of networks that are many times slower
ENCODED = 1024
DIRECTIONS = 40  # of the variance of made-up pictures
PICTURES = 200
PROBES = 100, 1000  # rows
STEPS_FOR_PICTURES = 20
FEW, SOME, MANY = 4, 24, 48  # models that are compared
FEW_ROWS = 200
TRACED = 3  # models whose training dynamics are compared
CLOUD = 1000  # points of each of two clouds


def measure(key: str) -> dict[str, Any]:
    kind, _, facts = key.partition(" ")
    ways: dict[str, Callable[..., dict[str, float]]] = {
        STEP: _step,
        MODEL: _model,
        PAIRS: _pairs,
        DYNAMICS: _dynamics,
    }
    return {**ways[kind](**json.loads(facts)), "when": time.time()}


def _step(method: str, channels: int, architecture: str, latents: int) -> dict[str, float]:
    """Seconds per optimiser step and per encoded image; the bytes of a checkpoint; the private
    megabytes of a worker, and what a batch takes beyond them."""
    is_slow = architecture in models.RESNETS
    count, most = (FEW_PICTURES, FEW_STEPS) if is_slow else (BATCH, WARM_UP + STEPS)
    generator = torch.Generator().manual_seed(0)
    images = _varied_images(count, channels, generator)
    images = images.contiguous(memory_format=torch.channels_last)
    network = build_network(method, channels, latents, architecture)
    feed = Feed(lambda step: images, lambda step: generator, lambda: iter([images]))
    training = build_training(method, 1.0, network, Recipe(steps=STEPS), feed)
    training.initialise(generator)
    measured = {"checkpoint": DIGEST + len(training.checkpoint()), "step": 0.0}
    if models.METHODS[method].has_steps:
        give_back()
        before = private_megabytes() or 0.0
        is_counted = reset_peak()
        measured["step"] = _median_step(training, most) * BATCH / count
        if is_counted:
            grown = max((private_peak_megabytes() or 0.0) - before, 0.0)
            measured |= {"worker_mb": before, "batch_mb": grown * BATCH / count}
    else:
        began = time.process_time()
        training.run()
        measured |= {"fit": (time.process_time() - began) / count, "checkpoint": 0}
    many = images.repeat(2 if is_slow else ENCODED // count, 1, 1, 1).numpy()
    encode(network, many)
    began = time.process_time()
    encode(network, many)
    return {**measured, "image": (time.process_time() - began) / len(many)}


def _median_step(training: Training, count: int) -> float:
    """Seconds of an optimiser step, after some that warm up."""
    steps = []
    for step in range(count):
        began = time.process_time()
        training.optimise(step)
        steps.append(time.process_time() - began)
    return statistics.median(steps[WARM_UP if len(steps) > STEPS else 1 :])


def _varied_images(count: int, channels: int, generator: torch.Generator) -> torch.Tensor:
    """Random pictures. A few directions have most of their variance, as it is with real pictures,
    so that principal components take about as many turns."""
    directions = torch.rand(DIRECTIONS, channels, 64, 64, generator=generator) - 0.5
    sizes = 1 / torch.arange(1, DIRECTIONS + 1)
    weights = torch.randn(count, DIRECTIONS, generator=generator) * sizes
    images: torch.Tensor = 0.5 + 0.2 * torch.tensordot(weights, directions, dims=1)
    return images.clamp(0, 1)


def _model(
    channels: int, architecture: str, latents: int, sizes: list[int], metrics: dict[str, Any]
) -> dict[str, float]:
    """What a model takes apart from its steps and the encoding of pictures for its scores.

    Models of a small study are trained and scored. The first one warms up, and has steps enough for
    pictures of the usual size; the others have hardly any, and differ in the rows of their probe.
    """
    probes, steps_for_pictures = PROBES, STEPS_FOR_PICTURES
    if architecture in models.RESNETS:
        probes, steps_for_pictures = FEW_PROBES, 1
    with tempfile.TemporaryDirectory() as folder:
        os.environ[ENVIRONMENT] = folder
        spec = {
            "name": "small",
            "data": [{"images": _made_up_pictures(Path(folder), channels, sizes)}],
            "methods": {"beta_vae": [1]},
            "seeds": 1 + len(probes),
            "architecture": architecture,
            "latents": latents,
            "metrics": metrics,
        }
        store = Store(Path(folder, "store"))

        def done(seed: int, steps: int, probe: int) -> dict[str, float]:
            training = {"steps": steps, "batch_size": 16, "learning_rate": 1e-3}
            study = with_sources(parse_study({**spec, "training": training, "probe": probe}))
            return _train_and_score(store, study, study.cells()[0].models[seed])

        first = done(0, steps_for_pictures, probes[0])
        few, many = (done(1 + i, 1, probe) for i, probe in enumerate(probes))
    row = max(many["train"] - few["train"], 0) / (probes[1] - probes[0])
    return {
        "train": max(few["train"] - probes[0] * row, 0),
        "train_row": row,
        "score": few["score"],
        "metrics": few["metrics"],
        "weights": first["weights"],
        "tables": first["tables"],
    }


def _train_and_score(store: Store, study: Study, model: Model) -> dict[str, float]:
    """Seconds of the stages and of metrics alone; bytes of weights, and of tables but codes."""
    began = time.process_time()
    if train_model(store, study, model) != TRAINED:
        raise RuntimeError(store.read("models")["reason"].to_pylist())
    trained = time.process_time()
    score_model(store, study, model)
    scored = time.process_time()
    rows = store.read("scores", ["metric", "seconds"], [model.id]).to_pylist()
    metrics = sum({row["metric"]: row["seconds"] for row in rows}.values())
    tables = [name for name in store.names("tables") if name != "representations"]
    return {
        "train": trained - began,
        "score": scored - trained - metrics,
        "metrics": metrics,
        "weights": _size(store, "models", model.id, WEIGHTS),
        "tables": sum(_size(store, "tables", name, f"{model.id}.parquet") for name in tables),
    }


def _pairs(latents: int, rows: int, similarities: list[str]) -> dict[str, float]:
    """Seconds of comparing, per model and per ordered pair and similarity; the bytes of that and of
    a row of the codes."""
    _compare(latents, FEW_ROWS, FEW, similarities)  # compiles
    of_models, _, codes = _compare(latents, rows, FEW, similarities)
    by_points = any(own_pairs(name) for name in similarities)  # not by moments, which are few
    count, points = (SOME, rows) if by_points else (MANY, FEW_ROWS)
    of_pairs, size, _ = _compare(latents, points, count, similarities)
    pairs = count * (count - 1) * max(len(similarities), 1)
    return {
        "compare_row": of_models / FEW / rows,
        "pair": of_pairs / pairs,
        "pair_bytes": size / pairs,
        "row_bytes": codes / FEW / rows,
    }


def _compare(
    latents: int, rows: int, count: int, similarities: list[str]
) -> tuple[float, int, int]:
    """Seconds to compare so many models; the bytes of their pairs and of their codes."""
    spec = {
        "name": "small",
        "data": ["dsprites"],
        "methods": {"beta_vae": [1]},
        "seeds": count,
        "latents": latents,
        "metrics": [],
        "udr": {"similarities": similarities, "pools": ["cell"]},
    }
    study = parse_study(spec)
    (cell,) = study.cells()
    draws = stream("calibrate")
    signals = draws.normal(size=(rows, latents))
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        for model in cell.models:
            codes = signals @ (np.eye(latents) + draws.normal(size=(latents, latents)))
            logvar = draws.normal(size=(rows, latents))
            lists = {"mean": codes.tolist(), "logvar": logvar.tolist()}
            columns = {"row": range(rows), **lists, "factors": None}
            store.write_part("representations", model.id, {**model.keys, **columns})
            write_row(model, store, TRAINED, kl_per_latent=[[1.0] * latents])
        began = time.process_time()
        compare_tile(store, study, cell.models, [(cell.name, cell.name)])
        seconds = time.process_time() - began
        return seconds, _bytes_of(store, "pairs"), _bytes_of(store, "representations")


def _dynamics(
    snapshots: int, samples: int, units: int, settings: dict[str, Any]
) -> dict[str, float]:
    """Seconds of comparing a group by its training dynamics: of making the random walks and of a
    pass over them, per model and entry of its kernels, and per two points of two clouds."""
    draws, chosen = stream("calibrate"), settings_from(settings, "")

    activations = draws.normal(size=(TRACED, snapshots, samples, units)).astype(np.float32)
    seconds = []
    for _ in range(2):  # the first one warms up
        began = time.process_time()
        walks = Walks(activations, chosen, named_stream, lambda fraction: None)
        made = time.process_time()
        joint_embedding(walks, chosen, named_stream)
        seconds = [made - began, (time.process_time() - made) / walks.visits]
    clouds = [*draws.normal(size=(2, CLOUD, chosen.dimensions))]
    began = time.process_time()
    mmd.pairwise_mmd(clouds, 1.0, chosen.estimator)
    of_pairs = time.process_time() - began
    entries = TRACED * snapshots * samples * (snapshots + samples)
    pairs = 3  # two clouds with themselves and with each other
    return {
        "walk": seconds[0] / entries,
        "pass": seconds[1] / entries,
        "point_pair": of_pairs / (pairs * CLOUD**2),
    }


def _bytes_of(store: Store, table: str) -> int:
    return sum(_size(store, "tables", table, f"{name}.parquet") for name in store.parts(table))


def _size(store: Store, *names: str) -> int:
    place = Path(store.path(*names))
    return place.stat().st_size if place.is_file() else 0


def _made_up_pictures(folder: Path, channels: int, sizes: list[int]) -> str:
    """A file of smooth pictures with factors of these sizes."""
    draws = stream("calibrate")
    blocks = draws.integers(0, 256, (PICTURES, 8, 8, channels), np.uint8)
    images = blocks.repeat(8, axis=1).repeat(8, axis=2)
    factors = draws.integers(0, sizes, (PICTURES, len(sizes)))
    file = folder / "pictures.npz"
    if sizes:
        np.savez(file, images=images, factors=factors)
    else:
        np.savez(file, images=images)
    return str(file)


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps({key: measure(key) for key in sys.argv[1:]}))
