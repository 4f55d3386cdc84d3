"""Traversals for the dashboard: the best model of each method, small enough for a page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

from infra.store import Store
from tasks.study.model import Model
from tasks.study.spec import Study
from tasks.study.survey import CellState

MAX_PICTURES = 6
LATENTS = 5  # rows of a traversal that are shown, those with the largest KL
WIDTH = 300  # pixels


@dataclass(frozen=True)
class Traversal:
    """A model's traversal, as a data URI."""

    title: str
    uri: str


def traversals(study: Study, store: Store, states: Sequence[CellState]) -> list[Traversal]:
    """Of the best model of each method: by UDR if models are ranked, else by ELBO."""
    value, by = _values(store)
    best: dict[str, Model] = {}
    for model in (m for state in states for m in state.trained if m.id in value):
        if model.method not in best or value[model.id] > value[best[model.method].id]:
            best[model.method] = model
    return [
        Traversal(
            f"{model.method} {model.strength:g} on {model.data}, seed {model.seed}: "
            f"{by} {value[model.id]:.3f} ({model.id[:6]})",
            uri,
        )
        for model in list(best.values())[:MAX_PICTURES]
        if (uri := _picture(store, model))
    ]


def _values(store: Store) -> tuple[dict[str, float], str]:
    """The value by which models are chosen, and its name."""
    ranks = store.read("ranks", ["model_id", "udr"]).to_pylist()
    if udr := {row["model_id"]: row["udr"] for row in ranks if row["udr"] is not None}:
        return udr, "UDR"
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
