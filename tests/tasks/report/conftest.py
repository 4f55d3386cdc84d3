"""Synthetic stores: plausible numbers, written as the pipeline does, without any model."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from infra.store import Store, merged_key
from infra.tables import KEYS, schema
from metrics import METRICS
from models import METHODS
from tasks.study.axes import sweep_name
from tasks.study.data_choice import DataChoice
from tasks.study.label_noise import noisy_part
from tasks.study.model import cell_of
from tasks.study.spec import Study
from tests.tasks.report import teapots

# Parts of metrics that a question may read; add yours.
PARTS = {
    "dci": ("informativeness_test",),
    "beta_vae": ("calibrated",),
    "irs": ("max_deviation_weighted",),
    "jemmig": ("normalised",),
    **dict.fromkeys(("factor_vae", "rf_vae"), ("score_std_pruned",)),
    **dict.fromkeys(
        ("dci_lasso", "dci_forest"), ("disentanglement", "completeness", "informativeness_test")
    ),
    "clustering": ("learned", "success", "success other hues", "budget"),
    "unsupervised": (
        "gaussian_total_correlation_mean",
        "gaussian_total_correlation_sampled",
        "mutual_information",
        "mutual_information_sampled",
        "reconstruction",
        "kl",
        "elbo",
    ),
    **dict.fromkeys(
        ("downstream_logistic", "downstream_trees"),
        ("accuracy_10", "accuracy_100", "accuracy_1000", "accuracy_10000", "efficiency_100"),
    ),
}
# Parts that have a value per factor; add yours.
FACTOR_PARTS = {
    "dci": ("informativeness_test", "completeness"),
    "mig": ("gap",),
    "sap": ("gap",),
    "explicitness": ("explicitness",),
}
FACTORS = ("shape", "scale", "x")
LATENTS = 10


@dataclass(frozen=True)
class Grid:
    """A study and what is in its store."""

    data: tuple[str, ...] = ("dsprites", "color_dsprites")
    sources: Mapping[str, str] = field(default_factory=dict)
    methods: Mapping[str, Sequence[float]] = field(
        default_factory=lambda: {"beta_vae": (1.0, 4.0), "factor_vae": (10.0, 40.0)}
    )
    seeds: int = 2
    steps: int = 120
    metrics: tuple[str, ...] = ("mig", "factor_vae")
    label_noise: tuple[str, ...] = ()
    pools: tuple[str, ...] = ("cell", "method")
    logged: int = 12
    diverged: Mapping[tuple[str, str, float, int], str] = field(default_factory=dict)
    name: str = "synthetic"
    about: str = "Numbers made up for the tests."
    protocol: int = 1
    curves: bool = True
    pictures: bool = True
    latents: int | tuple[int, ...] = LATENTS

    def study(self) -> Study:
        """The study that made it; names that no study may have are put in unchecked."""
        study = Study(
            name="synthetic",
            about=self.about,
            data=("dsprites",),
            methods={"beta_vae": (1.0,)},
            seeds=self.seeds,
            latents=self.latents,
            probe=1000,
            training={"steps": self.steps},
            metrics={"points": 10_000},
            udr={"pools": self.pools},
        )
        return study.model_copy(
            update={
                "name": self.name,
                "data": tuple(DataChoice.model_construct(name=name) for name in self.data),
                "methods": {method: tuple(swept) for method, swept in self.methods.items()},
                "metrics": study.metrics.model_copy(
                    update={"names": self.metrics, "label_noise": self.label_noise}
                ),
            }
        )


def fill(store: Store, grid: Grid) -> None:
    """Write one merged part per cell, and one part of ranks per data set and method."""
    for data in grid.data:
        for place, (method, strengths) in enumerate(grid.methods.items()):
            ranks = []
            for rung, strength in enumerate(strengths):
                quality = 0.25 + 0.35 * rung / max(len(strengths) - 1, 1) + 0.05 * place
                for latents in grid.study().values_of("latents"):
                    ranks += _fill_cell(store, grid, data, method, strength, quality, latents)
            if ranks:
                _write(store, "ranks", f"{data}-{method}", ranks)


def fill_pairs(store: Store) -> None:
    """All ordered pairs of each data set: two models are alike where both are good, and by chance.

    A model's UDR then follows its scores, and the better the more comparisons it is a median of.
    """
    scores = store.read("scores").to_pandas()
    headlines = scores[(scores["part"] == "score") & scores["factor"].isna()]
    good = headlines.groupby("model_id")["value"].mean()
    keys = list(KEYS)
    models = store.read("models", [*(key.name for key in keys), "status"]).to_pandas()
    for data, rows in models[models["status"] == "trained"].groupby("data"):
        draws = np.random.default_rng(list(str(data).encode()))
        regressor, target = np.nonzero(~np.eye(len(rows), dtype=bool))
        quality = good.reindex(rows["model_id"]).fillna(0.5).to_numpy()
        udr = np.sqrt(quality[regressor] * quality[target]) + draws.normal(0, 0.25, len(target))
        columns = {key.name: pa.array(rows[key.name].to_numpy()[target], key.type) for key in keys}
        columns |= {"regressor_id": rows["model_id"].to_numpy()[regressor], "similarity": "lasso"}
        udr = udr.clip(0, 1)
        store.write_part(
            "pairs", f"lasso~{data}-all~{data}-all", {**columns, "udr": udr, "udr_eq2": udr}
        )


CellKeys = Mapping[str, Any]
SAMPLES, SNAPSHOTS = 16, 3  # of traces


def fill_dynamics(
    store: Store,
    mmd2: Callable[[CellKeys, int, int], float] | None = None,
    factor_names: Sequence[str] = ("shape", "position_x", "position_y"),
) -> None:
    """MMD² of two seeds of a cell as planted; without it, the better the scores the more stable.

    The points of a model lie where their samples are, moved by its seed.
    """
    keys = [key.name for key in KEYS]
    models = store.read("models", [*keys, "status"]).to_pandas()
    scores = store.read("scores").to_pandas()
    headlines = scores[(scores["part"] == "score") & scores["factor"].isna()]
    good = headlines.groupby("model_id")["value"].mean()
    by = ["data", "source", "method", "strength", "latents"]
    axes = ["latents"] if any("latents_" in part for part in store.parts("models")) else []
    for key, rows in models[models["status"] == "trained"].groupby(by):
        if len(rows) < 2:
            continue
        cell = dict(zip(by, key, strict=True))
        quality = float(good.reindex(rows["model_id"]).fillna(0.5).mean())
        pairs = np.zeros((len(rows), len(rows)))
        for i, j in zip(*np.triu_indices(len(rows), 1), strict=True):
            draws = np.random.default_rng([int(i), int(j), *map(ord, f"{key}")])
            made_up = 0.4 - 0.3 * quality + draws.normal(0, 0.02)
            pairs[i, j] = pairs[j, i] = mmd2(cell, int(i), int(j)) if mmd2 else made_up
        of_pairs = pairs[np.triu_indices(len(rows), 1)]
        spread = 2 * of_pairs.std() / np.sqrt(len(rows)) if len(rows) > 2 else None
        factors = np.stack(
            [np.arange(SAMPLES) % 3, np.arange(SAMPLES) % 4, np.arange(SAMPLES) // 4], axis=1
        )
        written = []
        for place, row in enumerate(rows.to_dict("records")):
            others = [other for other in range(len(rows)) if other != place]
            points = np.stack(
                [factors[:, 1:] + 0.1 * place + snapshot for snapshot in range(SNAPSHOTS)]
            )
            written.append(
                {
                    **{name: row[name] for name in keys},
                    "dynamics": float(of_pairs.mean()),
                    "low": None if spread is None else float(of_pairs.mean() - spread),
                    "high": None if spread is None else float(of_pairs.mean() + spread),
                    "models": len(rows),
                    "partners": [str(rows["model_id"].iloc[other]) for other in others],
                    "mmd2": [float(pairs[place, other]) for other in others],
                    "steps": [40, 80, 120],
                    "samples": SAMPLES,
                    "factor_names": list(factor_names),
                    "factors": factors[:, : len(factor_names)].ravel().tolist(),
                    "dimensions": 2,
                    "embedding": points.ravel().tolist(),
                    "settings": "{}",
                    "bandwidth": 1.0,
                    "residual": 1e-9,
                    "seconds": 1.0,
                }
            )
        _write(store, "dynamics", cell_of(rows.iloc[0], axes), written)


def _fill_cell(
    store: Store,
    grid: Grid,
    data: str,
    method: str,
    strength: float,
    quality: float,
    latents: int,
) -> list[dict[str, Any]]:
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("models", "scores", "curves", "pictures", "ranks")
    }
    sweep = sweep_name(method, {"latents": latents} if isinstance(grid.latents, tuple) else {})
    for seed in range(grid.seeds):
        identity = f"{data} {sweep} {strength} {seed}"
        draws = np.random.default_rng(list(identity.encode()))
        keys = {
            "model_id": sha256(f"{identity} {grid.protocol}".encode()).hexdigest()[:16],
            "data": data,
            "source": grid.sources.get(data, "redrawn"),
            "method": method,
            "strength": float(strength),
            "architecture": "paper",
            "latents": latents,
            "seed": seed,
            "protocol": grid.protocol,
        }
        reason = grid.diverged.get((data, method, strength, seed), "")
        good = float(np.clip(quality + draws.normal(0, 0.12), 0, 1))
        kl = np.sort(draws.gamma(2.0, 1.6 - quality, latents))[::-1]
        kl *= np.arange(latents) < (9 - 6 * quality) * latents / LATENTS
        kl = draws.permutation(kl).astype(np.float32)
        facts = METHODS.get(method)
        has_posterior = facts is None or facts.has_posterior
        made_up = (method, strength, seed, latents)
        rows["models"].append({**keys, **_model(grid, kl, reason, has_posterior)})
        if reason:
            continue
        for metric in grid.metrics:
            value = float(np.clip(good * draws.uniform(0.7, 1.1), 0, 1))
            protocol = METRICS[metric].protocol if metric in METRICS else 1
            about = {
                "protocol": protocol,
                "metric": metric,
                "seconds": 1.0,
                "stream": f"{keys['model_id']} {metric}",
            }
            scores = [("score", None, value), ("score", "shape", 9.0)]
            scores += [(part, None, value + i) for i, part in enumerate(PARTS.get(metric, ()), 1)]
            scores += [
                (noisy_part(regime), None, value + _noise(identity, metric, amount))
                for amount, regime in enumerate(grid.label_noise, 1)
                if metric != "unsupervised"
            ]
            scores += [
                (part, factor, value / place)
                for part in FACTOR_PARTS.get(metric, ())
                for place, factor in enumerate(FACTORS, 1)
            ]
            if data == "teapots" and metric in ("dci_lasso", "dci_forest"):
                regressor = teapots.scores(metric, *made_up)
                parts = {part for part, *_ in regressor}
                scores = [*(row for row in scores if row[0] not in parts), *regressor]
            rows["scores"] += [
                {**keys, **about, "part": part, "factor": factor, "value": number, "reason": ""}
                for part, factor, number in scores
            ]
        if grid.curves and (facts is None or facts.has_steps):
            curve = _curve(grid, float(kl.sum()), draws)
            none = {} if has_posterior else {"reconstruction": None, "kl": None}
            rows["curves"] += [{**keys, **point, **none} for point in curve]
        if grid.pictures:
            of_model = _pictures(data, kl, has_posterior)
            rows["pictures"] += [{**keys, **picture} for picture in of_model]
        if data == "teapots":
            codes = [{**keys, **row} for row in teapots.representation(*made_up)]
            _write(
                store, "representations", str(keys["model_id"]), codes
            )  # studies do not merge it
        for pool in grid.pools:
            udr = float(np.clip(0.8 * good + draws.normal(0, 0.05), 0, 1))
            rows["ranks"].append({**keys, **_rank(pool, udr, kl)})
    key = merged_key(f"{data}-{sweep}-{strength:g}")
    for table in ("models", "scores", "curves", "pictures"):
        if rows[table]:
            _write(store, table, key, rows[table])
    return rows["ranks"]


def _noise(identity: str, metric: str, amount: int) -> float:
    """Of a stream of its own, so that no other number depends on it."""
    draws = np.random.default_rng(list(f"label noise {identity} {metric}".encode()))
    return float(draws.normal(0, 0.05 * amount))


def _model(grid: Grid, kl: np.ndarray, reason: str, has_posterior: bool) -> dict[str, Any]:
    total = float(kl.sum()) if has_posterior and not reason else None
    return {
        "status": "diverged" if reason else "trained",
        "reason": reason,
        "steps": grid.steps // 2 if reason else grid.steps,
        "seconds": 0.07 * grid.steps,
        "device": "cpu",
        "loss": None if total is None else 40.0 + total,
        "reconstruction": None if total is None else 40.0,
        "kl": total,
        "elbo": None if total is None else -40.0 - total,
        "kl_per_latent": [] if total is None else kl.tolist(),
        "training_steps": grid.steps,
        "versions": json.dumps({"torch": "2.13.0", "numpy": "2.4.6", "python": "3.11.9"}),
        "instructions": "x86_64, AVX-512",
        "memory_mb": 500.0,
        "tries": 1,
    }


def _curve(grid: Grid, kl: float, draws: np.random.Generator) -> list[dict[str, Any]]:
    steps = np.linspace(grid.steps / grid.logged, grid.steps, grid.logged).astype(int)
    time = steps / grid.steps
    reconstruction = 90 - 2 * kl + 500 * np.exp(-6 * time) + draws.normal(0, 3, len(steps))
    divergence = kl * (1 - np.exp(-4 * time)) + draws.normal(0, 0.3, len(steps))
    return [
        {"step": int(s), "loss": r + k, "reconstruction": r, "kl": k, "regulariser": k}
        for s, r, k in zip(steps, reconstruction.tolist(), divergence.tolist(), strict=True)
    ]


def _rank(pool: str, udr: float, kl: np.ndarray) -> dict[str, Any]:
    return {
        "similarity": "lasso",
        "pool": pool,
        "p": 0,
        "udr": udr,
        "udr_eq2": udr * 0.98,
        "informative": int((kl > 0.01).sum()),
        "comparisons": 10,
        "collapsed": False,
    }


def _pictures(data: str, kl: np.ndarray, has_posterior: bool) -> list[dict[str, Any]]:
    order = [int(latent) for latent in np.argsort(-kl, kind="stable")]
    channels = 1 if data in ("dsprites", "smallnorb") else 3
    dead = tuple(bool(kl[latent] <= 0.01) for latent in order)
    if not has_posterior:
        order, dead = list(range(len(kl))), ()
    zero_shot = {"kind": "zero_shot", "order": [], "kl": [], "png": _blobs(2, 8, channels, ())}
    return [
        *([zero_shot] if data == "teapots" else []),
        {
            "kind": "traversal",
            "order": order,
            "kl": kl[order].tolist() if has_posterior else [],
            "png": _blobs(len(order), 9, channels, dead),
        },
        {"kind": "reconstruction", "order": [], "kl": [], "png": _blobs(2, 8, channels, ())},
        {"kind": "samples", "order": [], "kl": [], "png": _blobs(4, 8, channels, ())},
    ]


@cache
def _blobs(rows: int, columns: int, channels: int, dead: tuple[bool, ...]) -> bytes:
    """A grid of pictures of 64 × 64 with one blob each, moving along a row."""
    y, x = np.mgrid[0:64, 0:64]
    canvas = np.ones((rows * 66 - 2, columns * 66 - 2, channels))
    for r in range(rows):
        for c in range(columns):
            t = c / (columns - 1)
            cx, cy, size = 32.0, 32.0, 9.0
            if r % 3 == 0:
                cx = 16 + 32 * t
            elif r % 3 == 1:
                cy = 16 + 32 * t
            else:
                size = 4 + 10 * t
            blob = np.exp(-((((x - cx) ** 2 + (y - cy) ** 2) / (2 * size**2)) ** 4))
            picture = blob[..., None] * np.array([1.0, 0.75, 0.55])[:channels]
            if r < len(dead) and dead[r]:
                picture = 0.25 * picture + 0.55
            canvas[r * 66 : r * 66 + 64, c * 66 : c * 66 + 64] = picture
    levels = (canvas * 255).round().astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(levels[..., 0] if channels == 1 else levels).save(file, "PNG")
    return file.getvalue()


def _write(store: Store, table: str, key: str, rows: list[dict[str, Any]]) -> None:
    names = [column.name for column in schema(table)]
    store.write_part(table, key, {name: [row[name] for row in rows] for name in names})


def blank_column(store: Store, table: str, column: str, value: object) -> None:
    """Put one value into a column of all rows of a table."""
    for part in store.parts(table):
        rows = store.read(table, keys=[part])
        place = rows.schema.get_field_index(column)
        field = rows.schema.field(place)
        values = pa.array([value] * rows.num_rows, field.type)
        store.write_part(table, part, rows.set_column(place, field, values))


def without(*tables: str) -> Callable[[Store], None]:
    def remove(store: Store) -> None:
        for table in tables:
            for part in store.parts(table):
                store.remove_part(table, part)

    return remove


MakeStore = Callable[[Grid], Store]


@pytest.fixture
def make_store(tmp_path: Path) -> MakeStore:
    """Builds a store of a grid; each call a new one."""

    def make(grid: Grid) -> Store:
        store = Store(tmp_path / f"store-{len(list(tmp_path.iterdir()))}")
        fill(store, grid)
        return store

    return make
