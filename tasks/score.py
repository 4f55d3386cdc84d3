"""Supervised scores of one model: encode once, then every metric reads codes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from data.protocol import DataSet, Finite
from infra.store import Store
from metrics.evaluate import evaluate, needs
from metrics.inputs import Groups, Inputs, Pairs, Score
from models.architecture import VAE
from models.representation import encode
from tasks.data_sets import load
from tasks.settings import Metrics, Model, ScoringOrder, images_per_model
from tasks.streams import stream
from tasks.train import load_model

COLUMNS = ("metric", "part", "factor", "value", "reason", "seconds", "stream")
Codes = NDArray[np.float32]
IMAGES_AT_ONCE = 8192  # drawn, encoded and dropped together, so that memory stays bounded


def score_model(model: Model, order: ScoringOrder) -> str:
    """Write the rows of every metric that the model lacks; returns `done` or `scored`."""
    store = Store(order.store)
    older = store.rows_of("scores", model.id, model.cell)
    have = set(older["metric"].to_pylist())
    missing = [name for name in order.metrics.names if name not in have]
    if not missing:
        return "done"
    torch.set_num_threads(1)
    wanted = order.metrics.model_copy(update={"names": tuple(missing)})
    images_of = load(order.data)
    unlabelled = not images_of.factor_names
    inputs = (
        None if unlabelled else prepare_inputs(load_model(model, store), images_of, model, wanted)
    )
    rows: dict[str, list[object]] = {name: older[name].to_pylist() for name in COLUMNS}
    for name in missing:
        began = time.perf_counter()
        scores, reason = _evaluated(name, inputs, model)
        seconds = time.perf_counter() - began
        for score in scores:
            factor = None if score.factor is None else images_of.factor_names[score.factor]
            value: float | None = score.value
            why = reason
            if not math.isfinite(score.value):
                value, why = None, reason or f"it comes out as {score.value}"
            values = (name, score.part, factor, value, why, seconds, f"{model.id} {name}")
            for column, entry in zip(COLUMNS, values, strict=True):
                rows[column].append(entry)
    store.write_part("scores", model.id, {**model.keys, **rows})
    return "scored"


def _evaluated(name: str, inputs: Inputs | None, model: Model) -> tuple[list[Score], str]:
    """A metric's scores; or its headline without a value, and the reason why there is none."""
    nothing = [Score("score", math.nan)]
    if inputs is None:
        return nothing, "the pictures have no factors"
    try:
        return evaluate(name, inputs, stream(model.id, name)), ""
    except ValueError as error:
        return nothing, " ".join(str(error).split())


def prepare_inputs(vae: VAE, images_of: DataSet, model: Model, settings: Metrics) -> Inputs:
    """Codes of i.i.d. rows and of all kinds of groups, as far as the metrics need them.

    Every input has a stream of its own, so that adding a metric changes no number of another.
    """
    wanted = needs(settings.names)
    codes_of = CodesOf(vae, images_of, images_per_model(settings))
    points, test_points, size = settings.points, settings.test_points, settings.group_size

    def table(count: int, name: str) -> tuple[Codes, NDArray[np.int64]]:
        draws = stream(model.id, name)
        factors = images_of.sample(count, draws)
        return codes_of(factors, draws), factors

    def groups(count: int, name: str) -> Groups:
        draws = stream(model.id, name)
        factors, fixed = images_of.sample_groups(count, size, draws)
        return Groups(codes_of(factors, draws), fixed)

    def pairs(count: int, name: str) -> Pairs:
        draws = stream(model.id, name)
        first, second, fixed = images_of.sample_pairs(count, size, draws)
        return Pairs(codes_of(first, draws), codes_of(second, draws), fixed)

    def variations(count: int, name: str) -> Groups:
        draws = stream(model.id, name)
        factors, varied = images_of.sample_variations(count, size, draws)
        return Groups(codes_of(factors, draws), varied)

    kinds: dict[str, Callable[[int, str], Any]] = {
        "groups": groups,
        "pairs": pairs,
        "variations": variations,
    }
    given: dict[str, Any] = {}
    impossible: dict[str, str] = {}
    for kind, draw in kinds.items():
        if kind in wanted:
            try:
                given[f"train_{kind}"] = draw(points, f"train {kind}")
                given[f"test_{kind}"] = draw(test_points, f"test {kind}")
            except ValueError as error:  # a table of one's own may lack the rows
                impossible[kind] = str(error)
    if "test_table" in wanted:
        given["test_codes"], given["test_factors"] = table(test_points, "test table")
    return Inputs(*table(points, "table"), impossible=impossible, **given)


class CodesOf:
    """A model's codes of points: each picture is encoded once if there are fewer than are read."""

    def __init__(self, vae: VAE, images_of: DataSet, wanted: int) -> None:
        self.vae, self.images_of = vae, images_of
        self.known: Codes | None = None
        count = images_of.pictures
        if count and count <= wanted and isinstance(images_of, Finite):
            self.known = _encoded(vae, images_of.show, np.arange(count))

    def __call__(self, factors: NDArray[np.int64], draws: np.random.Generator) -> Codes:
        rows = factors.reshape(-1, factors.shape[-1])
        if self.known is not None and isinstance(self.images_of, Finite):
            codes = self.known[self.images_of.places(rows, draws)]
        else:
            codes = _encoded(self.vae, lambda part: self.images_of.images(part, draws), rows)
        return codes.reshape(*factors.shape[:-1], -1)


def _encoded(vae: VAE, show: Callable[[Any], NDArray[np.float32]], points: NDArray[Any]) -> Codes:
    parts = [
        encode(vae, show(points[i : i + IMAGES_AT_ONCE]))[0]
        for i in range(0, len(points), IMAGES_AT_ONCE)
    ]
    return np.concatenate(parts)
