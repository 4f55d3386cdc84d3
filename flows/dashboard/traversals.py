"""Traversals for the dashboard: the best model of each method, small enough for a page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from infra.store import Store
from tasks.best import best_and_worst, main_ranking
from tasks.study.model import Model
from tasks.study.survey import CellState
from tasks.words import strength_value

MAX_PICTURES = 6
LATENTS = 5  # rows of a traversal that are shown, those with the largest KL
WIDTH = 300  # pixels


@dataclass(frozen=True)
class Traversal:
    """A model's traversal, as a data URI."""

    title: str
    uri: str


def traversals(store: Store, states: Sequence[CellState]) -> list[Traversal]:
    """The best model of each method: by UDR where it is ranked, else by ELBO."""
    scores, score_name = _scores(store)
    rows: dict[str, list[dict[str, Any]]] = {}
    for model in (m for state in states for m in state.trained if m.id in scores):
        row = {"model_id": model.id, "score": scores[model.id], "model": model}
        rows.setdefault(model.method, []).append(row)
    best = [ends[0] for of_method in rows.values() if (ends := best_and_worst(of_method, "score"))]
    return [
        Traversal(
            f"{cell} on {model.data}, seed {model.seed}: {score_name} {row['score']:.3f} "
            f"({model.id[:6]})",
            uri,
        )
        for row in best[:MAX_PICTURES]
        for model in [row["model"]]
        for cell in [f"{model.method} {strength_value(model.method, model.strength)}".strip()]
        if (uri := _picture(store, model))
    ]


def _scores(store: Store) -> tuple[dict[str, float], str]:
    """What models are chosen by, and its name."""
    ranks = store.read("ranks", ["model_id", "similarity", "pool", "p", "udr"]).to_pylist()
    if ranked := main_ranking(ranks):
        return {row["model_id"]: row["udr"] for row in ranked}, "UDR"
    models = store.read("models", ["model_id", "elbo"]).to_pylist()
    return {row["model_id"]: row["elbo"] for row in models if row["elbo"] is not None}, "ELBO"


def _picture(store: Store, model: Model) -> str:
    from PIL import Image, UnidentifiedImageError

    rows = store.rows_of("pictures", model.id, model.cell).to_pylist()
    for row in rows:
        if row["kind"] != "traversal":
            continue
        try:
            picture = Image.open(io.BytesIO(row["png"]))
            height = picture.height * min(LATENTS, len(row["order"])) // len(row["order"])
            part = picture.crop((0, 0, picture.width, height))
            part.thumbnail((WIDTH, WIDTH))
        except (UnidentifiedImageError, OSError, ZeroDivisionError):
            return ""  # a damaged picture
        file = io.BytesIO()
        part.save(file, "PNG", optimize=True)
        return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
    return ""
