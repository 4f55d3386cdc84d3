"""Supervised scores of one model: encode once, then every metric reads codes."""

from __future__ import annotations

import time

import numpy as np
import torch
from numpy.typing import NDArray

from data.protocol import DataSet, sample_factors
from infra.store import Store
from metrics.evaluate import evaluate, needs
from metrics.inputs import Groups, Inputs
from models.architecture import VAE
from models.representation import encode
from tasks.settings import Metrics, Model, ScoringOrder
from tasks.streams import stream
from tasks.train import data_set, load_model

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
    inputs = prepare_inputs(load_model(model, store), data_set(model.data), model, wanted)
    rows: dict[str, list[object]] = {
        name: older[name].to_pylist()
        for name in ("metric", "part", "factor", "value", "seconds", "stream")
    }
    factor_names = data_set(model.data).factor_names
    for name in missing:
        began = time.perf_counter()
        scores = evaluate(name, inputs, stream(model.id, name))
        seconds = time.perf_counter() - began
        for score in scores:
            factor = None if score.factor is None else factor_names[score.factor]
            values = (name, score.part, factor, score.value, seconds, f"{model.id} {name}")
            for column, value in zip(rows, values, strict=True):
                rows[column].append(value)
    store.write_part("scores", model.id, {**model.keys, **rows})
    return "scored"


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
    factors = sample_factors(images_of.factor_sizes, points, draws)
    return _encode(vae, images_of, factors, draws), factors


def _groups(
    vae: VAE, images_of: DataSet, count: int, size: int, draws: np.random.Generator
) -> Groups:
    """Groups of images: a factor is picked, and its value is the group's first one."""
    fixed = draws.integers(len(images_of.factor_sizes), size=count)
    factors = sample_factors(images_of.factor_sizes, count * size, draws)
    table = factors.reshape(count, size, -1)
    rows = np.arange(count)
    table[rows, :, fixed] = table[rows, 0, fixed][:, None]
    codes = _encode(vae, images_of, table.reshape(count * size, -1), draws)
    return Groups(codes.reshape(count, size, -1), fixed)


def _encode(
    vae: VAE, images_of: DataSet, factors: NDArray[np.int64], draws: np.random.Generator
) -> NDArray[np.float32]:
    parts = [
        encode(vae, images_of.images(factors[i : i + IMAGES_AT_ONCE], draws))[0]
        for i in range(0, len(factors), IMAGES_AT_ONCE)
    ]
    return np.concatenate(parts)
