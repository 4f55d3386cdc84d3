"""Supervised scores of one model: encode once, then every metric reads codes."""

from __future__ import annotations

import math
import time

import numpy as np
import torch
from numpy.typing import NDArray

from data.protocol import DataSet
from infra.store import Store
from metrics.evaluate import evaluate, needs
from metrics.inputs import Groups, Inputs, Score
from models.architecture import VAE
from models.representation import encode
from tasks.data_sets import load
from tasks.settings import Metrics, Model, ScoringOrder
from tasks.streams import stream
from tasks.train import load_model

COLUMNS = ("metric", "part", "factor", "value", "reason", "seconds", "stream")
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
    """Codes of i.i.d. rows and of groups that share a factor, as far as the metrics need them.

    Every input has a stream of its own, so that adding a metric changes no number of another.
    """
    wanted = needs(settings.names)
    codes, factors = _table(vae, images_of, settings.points, stream(model.id, "table"))
    test_codes, test_factors, train_groups, test_groups = None, None, None, None
    if "test_table" in wanted:
        draws = stream(model.id, "test table")
        test_codes, test_factors = _table(vae, images_of, settings.test_points, draws)
    if "groups" in wanted:
        size = settings.group_size
        train_groups, test_groups = (
            _groups(vae, images_of, count, size, stream(model.id, name))
            for count, name in (
                (settings.points, "train groups"),
                (settings.test_points, "test groups"),
            )
        )
    return Inputs(codes, factors, train_groups, test_groups, test_codes, test_factors)


def _table(
    vae: VAE, images_of: DataSet, points: int, draws: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    factors = images_of.sample(points, draws)
    return _encode(vae, images_of, factors, draws), factors


def _groups(
    vae: VAE, images_of: DataSet, count: int, size: int, draws: np.random.Generator
) -> Groups:
    factors, fixed = images_of.sample_groups(count, size, draws)
    codes = _encode(vae, images_of, factors.reshape(count * size, -1), draws)
    return Groups(codes.reshape(count, size, -1), fixed)


def _encode(
    vae: VAE, images_of: DataSet, factors: NDArray[np.int64], draws: np.random.Generator
) -> NDArray[np.float32]:
    parts = [
        encode(vae, images_of.images(factors[i : i + IMAGES_AT_ONCE], draws))[0]
        for i in range(0, len(factors), IMAGES_AT_ONCE)
    ]
    return np.concatenate(parts)
