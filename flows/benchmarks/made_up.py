"""A finished study whose numbers are made up: the tables that the real one would write.

Every metric has all of its parts, with and without factors; pairs and rankings are those of the
spec. What no report reads is missing: models' codes and weights.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

import data
from infra.provenance import machine
from infra.store import Store, merged_key
from metrics import METRICS
from metrics.base.inputs import Inputs, Score
from metrics.base.rows import table_groups, table_interventions, table_pairs, table_variations
from metrics.evaluate import evaluate
from tasks.compare import key_columns
from tasks.model_row import versions
from tasks.rank import rank_models
from tasks.streams import stream
from tasks.study.groups import groups_of
from tasks.study.model import TRAINED, Cell
from tasks.study.pair_parts import PairPart, wanted_parts
from tasks.study.spec import Study
from tasks.study.stored import STUDY_FILE

Numbers = NDArray[np.float64]
SIDE = 64  # of a picture, in pixels
ROWS = 10_000  # downstream tasks learn from so many
GROUPS, GROUP = 200, 16
DRAWN: dict[str, Callable[..., Any]] = {
    "groups": table_groups,
    "pairs": table_pairs,
    "variations": table_variations,
}


def fill(store: Store, study: Study) -> None:
    """Write the tables of a study, all of whose models are trained."""
    store.prepare()
    store.write_json(study.model_dump(mode="json"), STUDY_FILE)
    for name, cells in groups_of(study, study.cells()).items():
        quality: dict[str, float] = {}
        for place, cell in enumerate(cells):
            draws = stream("made up", cell.name)
            good = draws.normal(0.3 + 0.4 * place / len(cells), 0.15, len(cell.models))
            good = good.clip(0.02, 0.98)
            quality |= dict(zip([model.id for model in cell.models], good.tolist(), strict=True))
            _fill_cell(store, study, cell, good, draws)
        models = [model for cell in cells for model in cell.models]
        for part in wanted_parts(models, study.udr):
            made_from = part.made_from(study.udr.kl_threshold)
            store.write_part("pairs", part.name, _pairs(part, quality), made_from)
        rank_models(store, study, name, models)


def _fill_cell(
    store: Store, study: Study, cell: Cell, good: Numbers, draws: np.random.Generator
) -> None:
    """A part of each table for all models of a cell; the better a model, the fewer latents live."""
    description = data.describe(cell.data)
    latents = cell.models[0].latents
    kl = draws.gamma(2.0, 1.6 - good[:, None], (len(good), latents))
    kl *= np.arange(latents) < (latents - 6 * good)[:, None]
    tables: dict[str, dict[str, Any]] = {
        "models": _models(study, kl, draws),
        "curves": _curves(study, kl.sum(axis=1), draws),
        "pictures": _pictures(kl, description.channels),
        "scores": _scores(study.metrics.names, description.factor_names, good, draws),
    }
    keys = key_columns(cell.models)
    for name, columns in tables.items():
        of = np.repeat(np.arange(len(good)), len(next(iter(columns.values()))) // len(good))
        of_rows = {key: column.take(pa.array(of)) for key, column in keys.items()}
        if name == "scores":
            both = zip(of_rows["model_id"].to_pylist(), columns["metric"], strict=True)
            columns["stream"] = [f"{model_id} {metric}" for model_id, metric in both]
        store.write_part(name, merged_key(cell.name), {**of_rows, **columns})


def _models(study: Study, kl: Numbers, draws: np.random.Generator) -> dict[str, Any]:
    models, loss = len(kl), draws.normal(40, 5, len(kl))
    return {
        "status": [TRAINED] * models,
        "reason": "",
        "steps": study.training.steps,
        "seconds": 0.07 * study.training.steps * draws.uniform(0.9, 1.1, models),
        "device": "cpu",
        "loss": loss + kl.sum(axis=1),
        "reconstruction": loss,
        "kl": kl.sum(axis=1),
        "elbo": -loss - kl.sum(axis=1),
        "kl_per_latent": kl.tolist(),
        "training_steps": study.training.steps,
        "versions": versions(),
        "instructions": machine()["instructions"],
        "memory_mb": draws.normal(900, 40, models),
        "tries": 1,
    }


def _curves(study: Study, kl: Numbers, draws: np.random.Generator) -> dict[str, Any]:
    """The first step and every one that is logged, model after model."""
    training = study.training
    logged = [1, *range(training.log_every, training.steps + 1, training.log_every)]
    steps = np.tile(np.array(logged, np.int32), len(kl))
    time, highest = steps / training.steps, np.repeat(kl, len(logged))
    divergence = highest * (1 - np.exp(-4 * time)) + draws.normal(0, 0.3, len(steps))
    reconstruction = 90 - 2 * highest + 500 * np.exp(-6 * time) + draws.normal(0, 3, len(steps))
    loss = reconstruction + divergence
    return {
        "step": steps,
        "loss": loss,
        "reconstruction": reconstruction,
        "kl": divergence,
        "regulariser": divergence,
    }


def _pictures(kl: Numbers, channels: int) -> dict[str, list[Any]]:
    """A traversal, reconstructions and samples of the prior of each model."""
    rows: dict[str, list[Any]] = {name: [] for name in ("kind", "order", "kl", "png")}
    for of_latents in kl:
        order = np.argsort(-of_latents, kind="stable")
        live = int((of_latents > 0).sum())
        of_model: tuple[tuple[Any, ...], ...] = (
            ("traversal", order.tolist(), of_latents[order].tolist(), len(order), live),
            ("reconstruction", [], [], 2, 2),
            ("samples", [], [], 4, 4),
        )
        for kind, latents, values, down, moving in of_model:
            picture = (kind, latents, values, _blobs(down, moving, channels))
            for name, value in zip(rows, picture, strict=True):
                rows[name].append(value)
    return rows


@cache
def _blobs(rows: int, moving: int, channels: int, columns: int = 10) -> bytes:
    """Rows of pictures of one blob, which moves in the first rows."""
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    lines = []
    for row, column in product(range(rows), range(columns)):
        turn = 2 * np.pi * (row / rows + (column / columns if row < moving else 0))
        away = np.hypot(x - 32 - 16 * np.cos(turn), y - 32 - 16 * np.sin(turn))
        lines.append(255 * np.exp(-((away / 10) ** 4)))
    canvas = np.array(lines).reshape(rows, columns, SIDE, SIDE).swapaxes(1, 2)
    levels = canvas.reshape(rows * SIDE, columns * SIDE).astype(np.uint8)
    picture = levels if channels == 1 else np.stack([levels, levels // 2, 255 - levels], axis=-1)
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()


def _scores(
    metrics: Sequence[str], factors: Sequence[str], good: Numbers, draws: np.random.Generator
) -> dict[str, Any]:
    """All parts of every metric, model after model: larger for a better model, and with noise."""
    scores = [(metric, score) for metric in metrics for score in parts_of(metric, len(factors))]
    values = np.array([score.value for _, score in scores])
    noise = draws.normal(0, 0.08, (len(good), len(scores)))
    scaled = values * (0.3 + 0.6 * good[:, None] + noise).clip(0.01, 1)
    models = len(good)
    return {
        "protocol": [METRICS[metric].protocol for metric, _ in scores] * models,
        "metric": [metric for metric, _ in scores] * models,
        "part": [score.part for _, score in scores] * models,
        "factor": [None if s.factor is None else factors[s.factor] for _, s in scores] * models,
        "value": scaled.ravel(),
        "reason": "",
        "seconds": [METRICS[metric].cost for metric, _ in scores] * models,
    }


@cache
def parts_of(metric: str, factors: int) -> list[Score]:
    """What the metric computes of a table in which every factor has two values and a latent."""
    draws = stream("made up", metric, factors)
    combinations = np.array(list(product((0, 1), repeat=factors)))
    table = np.tile(combinations, (ROWS // len(combinations) + 1, 1))
    codes = draws.normal(0, 0.3, (len(table), 10))
    codes[:, :factors] += table

    drawn: dict[str, Any] = {
        f"{part}_{kind}": draw(codes, table, GROUPS, GROUP, draws)
        for kind, draw in DRAWN.items()
        for part in ("train", "test")
    }
    inputs = Inputs(
        codes,
        table,
        **drawn,
        test_codes=codes,
        test_factors=table,
        interventions=table_interventions(codes, table, GROUP, draws),
        logvar=draws.normal(-2, 1, codes.shape),
        reconstruction=draws.normal(40, 5, len(codes)),
    )
    return evaluate(metric, inputs, draws)


def _pairs(part: PairPart, quality: Mapping[str, float]) -> dict[str, Any]:
    """Every ordered pair of the part: two models are alike where both are good, and by chance."""
    models = part.models
    place = {model.id: index for index, model in enumerate(models)}
    one, other = ([place[model.id] for model in side] for side in (part.one, part.other))
    wanted = np.zeros((len(models), len(models)), dtype=bool)
    wanted[np.ix_(one, other)] = wanted[np.ix_(other, one)] = True
    np.fill_diagonal(wanted, False)
    target, regressor = np.nonzero(wanted)
    good = np.array([quality[model.id] for model in models])
    draws = stream("made up", part.name)
    udr = np.sqrt(good[target] * good[regressor]) + draws.normal(0, 0.2, len(target))
    keys = key_columns(models)
    return {
        **{name: column.take(pa.array(target)) for name, column in keys.items()},
        "regressor_id": keys["model_id"].take(pa.array(regressor)),
        "similarity": part.similarity,
        "udr": udr.clip(0, 1),
        "udr_eq2": udr.clip(0, 1),
    }
