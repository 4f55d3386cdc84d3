"""Models for tests, small and quick; `changed` takes fields of the model or of its recipe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from models.recipe import Recipe
from tasks.study.model import Model

SMALL = Model(
    data="dsprites",
    source="redrawn",
    method="beta_vae",
    strength=4.0,
    seed=0,
    architecture="paper",
    latents=3,
    recipe=Recipe(steps=50, batch_size=4, learning_rate=1e-3),
)


def changed(model: Model = SMALL, **changes: Any) -> Model:
    recipe = {name: changes.pop(name) for name in Recipe.model_fields if name in changes}
    return replace(model, **changes, recipe=model.recipe.model_copy(update=recipe))
