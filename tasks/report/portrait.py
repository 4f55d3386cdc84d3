"""One model as the report shows it: facts, scores, its traversal and its reconstructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tasks.report.every_model import model_link
from tasks.report.figures.portraits import pictures_of
from tasks.report.labels import method_label
from tasks.report.questions import Picture, Portrait
from tasks.report.results import Column, Results
from tasks.words import method_name, number, strength_text


def portrait(
    heading: str,
    caption: str,
    model: Mapping[Any, Any],
    columns: Sequence[Column],
    results: Results,
    pictures: Mapping[str, Picture | None] | None = None,
    order: str = "by falling KL",
) -> Portrait:
    """`pictures` by kind; they are read from the store if they are not given."""
    collapsed = ", collapsed: no informative latent" if model["collapsed"] else ""
    latents = f"{model['informative']:.0f} of {model['latents']}"
    facts = (
        ("", method_label(model["method"], results.styles, model["strength"])),
        ("seed", str(model["seed"])),
        *((column.title, number(float(model[column.id]))) for column in columns),
        *((("informative latents", latents),) if pd.notna(model["informative"]) else ()),
        *((("KL", number(float(model["kl"]), 2)),) if pd.notna(model["kl"]) else ()),
        ("model_id", model_link(model)),
    )
    if pictures is None:
        pictures = pictures_of(results.store, [model])[str(model["model_id"])]
    return Portrait(
        heading=heading + collapsed,
        facts=facts,
        caption=caption,
        description=(
            f"Latent traversal of {method_name(model['method'])} at strength "
            f"{strength_text(model['strength'])}, seed {model['seed']}: one row per latent, "
            f"{order}."
        ),
        traversal=pictures.get("traversal"),
        reconstruction=pictures.get("reconstruction"),
        informative=results.study.udr.kl_threshold,
        samples=pictures.get("samples"),
        zero_shot=pictures.get("zero_shot"),
    )
