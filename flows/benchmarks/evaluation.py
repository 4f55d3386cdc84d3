"""The whole evaluation of one dSprites model, against the straightforward way, in core-seconds.

- A β-VAE, trained for a few steps, on redrawn dSprites: the six metrics of Locatello et al. 2019,
  downstream tasks, fairness and unsupervised scores, with 10,000 training and 5,000 test points and
  as many groups of 64.
- Ours: what a study does. Pictures are encoded once, all metrics read codes, and boosted trees are
  learned once.
- Baseline: one metric at a time. It encodes what that metric reads, in batches of 64 with a plain
  model, and learns with the trees and the logistic regression of scikit-learn.
- Each side has its own process with one thread, and they take turns, metric by metric.

`size` is the number of training points; the default takes about twenty minutes.
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
from models.network import Network
from models.recipe import Recipe
from tasks.data_sets import load
from tasks.score import prepare_inputs
from tasks.streams import stream
from tasks.study.data_choice import DataChoice
from tasks.study.model import Model
from tasks.study.spec import Metrics, Study, Training
from tasks.train import train_model
from tasks.weights import load_model

POINTS = 10_000
DATA = DataChoice(name="dsprites", source="redrawn")
MODEL = Model(
    data="dsprites",
    source="redrawn",
    method="beta_vae",
    strength=4.0,
    seed=0,
    architecture="paper",
    latents=10,
    recipe=Recipe(steps=1000),
)
NAMES = (
    "beta_vae",
    "factor_vae",
    "mig",
    "modularity",
    "dci",
    "sap",
    "downstream_logistic",
    "downstream_trees",
    "fairness",
    "unsupervised",
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
            training=Training(steps=MODEL.recipe.steps),
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
    ours, plain = {"encoding": encoding}, {"encoding": 0.0}
    for name, ((_, own_time), (encoding, plain_time)) in zip(NAMES, turns, strict=True):
        plain["encoding"] += encoding
        ours[name], plain[name] = own_time, plain_time
    ours["all"], plain["all"] = sum(ours.values()), sum(plain.values())
    notes = NOTES | {"encoding": "baseline: for each metric", "all": f"{points} points"}
    return [
        Row(name, ours[name], plain[name], "core-s", plain[name] / ours[name], notes.get(name, ""))
        for name in ours
    ]


def our_stages(
    network: Network, data_set: DataSet, settings: Metrics
) -> Iterator[tuple[float, float]]:
    """Core-seconds of encoding and of computing: first of all pictures, then of each metric."""
    few = settings.model_copy(update={"points": 20, "test_points": 10, "group_size": 2})
    inputs = prepare_inputs(network, Uncounted(data_set), MODEL, few)
    for name in NAMES:  # imports and compiles, once per process
        _compute(name, inputs)
    yield 0.0, 0.0
    began = time.process_time()
    inputs = prepare_inputs(network, data_set, MODEL, settings)
    yield time.process_time() - began, 0.0
    for name in NAMES:
        yield 0.0, _compute(name, inputs)


def plain_stages(
    network: Network, data_set: DataSet, settings: Metrics
) -> Iterator[tuple[float, float]]:
    """The same of each metric alone, with scikit-learn."""
    plain = VAE(1, MODEL.latents, fast=False).eval()
    plain.load_state_dict(network.state_dict())
    vars(tasks.score)["encode"] = _plain_encode
    yield 0.0, 0.0
    for name in NAMES:
        alone = settings.model_copy(update={"names": (name,), "trees": "sklearn"})
        began = time.process_time()
        inputs = prepare_inputs(plain, Uncounted(data_set), MODEL, alone)
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
class Uncounted:
    """A data set that does not say how many pictures it has: none is encoded in advance."""

    data_set: Any
    pictures: None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.data_set, name)


@torch.inference_mode()
def _plain_encode(vae: VAE, images: Any) -> Any:
    batches = (images[i : i + BATCH] for i in range(0, len(images), BATCH))
    parts = [vae.encoder(torch.from_numpy(batch)) for batch in batches]
    return tuple(torch.cat(part).numpy() for part in zip(*parts, strict=True))


def main(side: str, folder: str, points: int) -> None:
    torch.set_num_threads(1)
    settings = Metrics(names=NAMES, points=points, test_points=points // 2)
    stages = {"ours": our_stages, "plain": plain_stages}[side]
    remaining = stages(load_model(MODEL, Store(folder)), load(DATA), settings)
    next(remaining)
    serve(lambda: next(remaining))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
