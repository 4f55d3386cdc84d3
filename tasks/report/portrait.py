"""One model as the report shows it: facts, scores, its traversal and its reconstructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from models import METHODS, RESNETS
from tasks.report.every_model import model_link
from tasks.report.figures.portraits import pictures_of
from tasks.report.labels import method_label
from tasks.report.questions import Picture, Portrait
from tasks.report.results import Column, Results
from tasks.study.spec import Study
from tasks.words import cell_title, method_name, number


def range_text(study: Study) -> str:
    """How far traversals move a latent: what `reach` of each network says, which needs torch."""
    reaches: dict[int, list[str]] = {}
    for method, architecture in product(study.methods, study.values_of("architecture")):
        names = reaches.setdefault(_reach(method, architecture), [])
        if method_name(method) not in names:
            names.append(method_name(method))
    several = len(reaches) > 1
    return ", ".join(
        f"from −{reach} to {reach}" + (f" ({', '.join(names)})" if several else "")
        for reach, names in reaches.items()
    )


def _reach(method: str, architecture: str) -> int:
    if method == "infogan":  # its prior ends there
        return 1
    return 3 if architecture in RESNETS and METHODS[method].has_posterior else 2


def portrait(
    heading: str,
    caption: str,
    model: Mapping[Any, Any],
    columns: Sequence[Column],
    results: Results,
    pictures: Mapping[str, Picture | None] | None = None,
    order: str = "",
    captured: Mapping[int, str] | None = None,
) -> Portrait:
    """`pictures` by kind; they are read from the store if they are not given. `order` is that of
    the traversal's rows; without it they are as stored."""
    has_kl = pd.notna(model["kl"])
    order = order or ("by falling KL" if has_kl else "in their own order")
    collapsed = ", collapsed: no informative latent" if model["collapsed"] else ""
    latents = f"{model['informative']:.0f} of {model['latents']}"
    facts = (
        ("", method_label(model["method"], results.styles, model["strength"])),
        ("seed", str(model["seed"])),
        *((column.title, number(float(model[column.id]))) for column in columns),
        *((("informative latents", latents),) if pd.notna(model["informative"]) else ()),
        *((("KL", number(float(model["kl"]), 2)),) if has_kl else ()),
        ("model_id", model_link(model)),
    )
    if pictures is None:
        pictures = pictures_of(results.store, [model])[str(model["model_id"])]
    return Portrait(
        heading=heading + collapsed,
        facts=facts,
        caption=caption,
        description=(
            f"Latent traversal of {cell_title(model['method'], model['strength'])}, seed "
            f"{model['seed']}: one row per latent, {order}."
        ),
        traversal=pictures.get("traversal"),
        reconstruction=pictures.get("reconstruction"),
        informative=results.study.udr.kl_threshold,
        samples=pictures.get("samples"),
        zero_shot=pictures.get("zero_shot"),
        captured=captured,
    )
