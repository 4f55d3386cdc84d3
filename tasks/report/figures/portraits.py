"""The stored pictures of a model, as the report holds them: a tenth of the PNG's size."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from infra.store import Store, merged_key
from tasks.report.questions import Picture
from tasks.study.model import cell_name

QUALITY = 80  # of WebP


def pictures_of(
    store: Store, models: Sequence[Mapping[Any, Any]]
) -> dict[str, dict[str, Picture | None]]:
    """By model and kind, of models of one cell; they are read only now, since a study has
    gigabytes of them."""
    ids = [str(model["model_id"]) for model in models]
    first = models[0]
    cell = cell_name(first["data"], first["method"], first["strength"])
    rows = store.read("pictures", keys=[*ids, merged_key(cell)])
    rows = rows.filter(pc.is_in(rows["model_id"], pa.array(ids, pa.string()))).to_pylist()
    pictures: dict[str, dict[str, Picture | None]] = {model_id: {} for model_id in ids}
    for row in rows:
        pictures[row["model_id"]][row["kind"]] = _picture(row)
    return pictures


def first_rows(picture: Picture | None, height: int) -> Picture | None:
    """The top of a picture, as high as this, as a picture of its own."""
    if picture is None or picture.height < height:
        return None
    file = io.BytesIO()
    with Image.open(io.BytesIO(picture.content)) as whole:
        whole.crop((0, 0, picture.width, height)).save(file, "WEBP", quality=QUALITY)
    stem = picture.name.removesuffix(".webp")
    return Picture(f"{stem}-top.webp", file.getvalue(), picture.width, height, ())


def _picture(row: dict[str, Any]) -> Picture | None:
    """None for bytes that are no picture: a damaged one must not cost the report."""
    try:
        with Image.open(io.BytesIO(row["png"])) as png:
            width, height = png.size
            file = io.BytesIO()
            png.convert("RGB").save(file, "WEBP", quality=QUALITY)
    except (OSError, TypeError, ValueError, SyntaxError):
        return None
    name = f"{row['model_id']}-{row['kind']}.webp"
    order, kl = row["order"] or [], row["kl"] or []
    return Picture(name, file.getvalue(), width, height, tuple(zip(order, kl, strict=False)))
