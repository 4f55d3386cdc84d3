"""The whole evaluation of one dSprites model, against the straightforward way, in core-seconds.

A β-VAE, trained for a few steps, and dSprites as drawn by its recipe: the six metrics of Locatello
et al. 2019, downstream tasks, fairness and unsupervised scores, with 10,000 training and 5,000 test
points and as many groups of 64. Ours is what a study does: pictures are encoded once, all metrics
read codes, and boosted trees are learned once. The baseline takes one metric at a time: it encodes
what that metric reads, in batches of 64 with a plain model, and learns with the trees and the
logistic regression of scikit-learn. Each side has a process of its own with one thread, and they
take turns, metric by metric. `size` is the number of training points; the default takes about
twenty minutes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

import tasks.score
from data.base.protocol import DataSet
from flows.benchmarks import Row
from flows.benchmarks.plain import BATCH
from flows.benchmarks.scores import downstream_logistic
from flows.benchmarks.turns import Side, serve
from infra.store import Store
from metrics.base.inputs import Inputs
from metrics.evaluate import evaluate
from models.architecture import VAE
from tasks.data_sets import load
from tasks.score import prepare_inputs
from tasks.streams import stream
from tasks.study.model import Model
from tasks.study.spec import DataChoice, Metrics, Study, Training
from tasks.train import train_model
from tasks.weights import load_model

POINTS = 10_000
DATA = DataChoice(name="dsprites", source="redrawn")
MODEL = Model(
    *("dsprites", "redrawn", "beta_vae", 4.0, 0, "paper", 10, 1000, 64),
    *(1e-4, 0.9, 0.999, 1e-8, "float32"),
)
NAMES = (
    *("beta_vae", "factor_vae", "mig", "modularity", "dci", "sap"),
    *("downstream_logistic", "downstream_trees", "fairness", "unsupervised"),
)
NOTES = dict.fromkeys(("downstream_trees", "fairness"), "ours: the trees of dci")


def measure(size: int | None = None) -> list[Row]:
    points = size or POINTS
    with tempfile.TemporaryDirectory() as folder:
        study = Study(
            name="bench",
            data=(DATA,),
            methods={"beta_vae": (4.0,)},
            probe=100,
            training=Training(steps=MODEL.steps),
        )
        if train_model(Store(folder), study, MODEL) != "trained":
            raise RuntimeError("the model to evaluate could not be trained")
        module, arguments = "flows.benchmarks.evaluation", [folder, str(points)]
        mine, base = sides = (
            Side(module, ["ours", *arguments], worker=True),
            Side(module, ["plain", *arguments], worker=False),
        )
        try:
            encoding = mine.turn()[0]
            turns = [(mine.turn(), base.turn()) for _ in NAMES]
        finally:
            for side in sides:
                side.end()
    ours = {"encoding": encoding} | {
        name: one[1] for name, (one, _) in zip(NAMES, turns, strict=True)
    }
    theirs = {"encoding": sum(other[0] for _, other in turns)} | {
        name: other[1] for name, (_, other) in zip(NAMES, turns, strict=True)
    }
    ours["all"], theirs["all"] = sum(ours.values()), sum(theirs.values())
    notes = NOTES | {"encoding": "baseline: for each metric", "all": f"{points} points"}
    return [
        Row(
            name, ours[name], theirs[name], "core-s", theirs[name] / ours[name], notes.get(name, "")
        )
        for name in ours
    ]


def our_stages(vae: VAE, images_of: DataSet, settings: Metrics) -> Iterator[tuple[float, float]]:
    """Core-seconds of encoding and of computing: of all pictures, then of every metric."""
    few = settings.model_copy(update={"points": 20, "test_points": 10, "group_size": 2})
    inputs = prepare_inputs(vae, _never_twice(images_of), MODEL, few)
    for name in NAMES:  # what is imported and compiled once per process
        _compute(name, inputs)
    yield 0.0, 0.0
    began = time.process_time()
    inputs = prepare_inputs(vae, images_of, MODEL, settings)
    yield time.process_time() - began, 0.0
    for name in NAMES:
        yield 0.0, _compute(name, inputs)


def plain_stages(vae: VAE, images_of: DataSet, settings: Metrics) -> Iterator[tuple[float, float]]:
    """The same of every metric alone, by scikit-learn."""
    plain = VAE(1, MODEL.latents, fast=False).eval()
    plain.load_state_dict(vae.state_dict())
    tasks.score.encode = _plain_encode
    yield 0.0, 0.0
    for name in NAMES:
        alone = settings.model_copy(update={"names": (name,), "trees": "sklearn"})
        began = time.process_time()
        inputs = prepare_inputs(plain, _never_twice(images_of), MODEL, alone)
        encoded = time.process_time() - began
        yield encoded, _compute(name, inputs, {"downstream_logistic": downstream_logistic})


def _compute(
    name: str, inputs: Inputs, others: dict[str, Callable[[Inputs], Any]] | None = None
) -> float:
    began = time.process_time()
    if others and name in others:
        others[name](inputs)
    else:
        evaluate(name, inputs, stream(MODEL.id, name))
    return time.process_time() - began


@dataclass(frozen=True)
class NeverTwice:
    """A data set that does not say how many pictures it has, so that none is encoded ahead."""

    of: DataSet
    pictures: None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of, name)


def _never_twice(images_of: DataSet) -> Any:
    return NeverTwice(images_of)


@torch.inference_mode()
def _plain_encode(vae: VAE, images: Any) -> Any:
    batches = (images[i : i + BATCH] for i in range(0, len(images), BATCH))
    parts = [vae.encoder(torch.from_numpy(batch)) for batch in batches]
    return tuple(torch.cat(part).numpy() for part in zip(*parts, strict=True))


def main(side: str, folder: str, points: int) -> None:
    torch.set_num_threads(1)
    settings = Metrics(names=NAMES, points=points, test_points=points // 2)
    stages = {"ours": our_stages, "plain": plain_stages}[side]
    left = stages(load_model(MODEL, Store(folder)), load(DATA), settings)
    next(left)
    serve(lambda: next(left))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
