"""The stored pictures of models, as the report has them: a few kilobytes each."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow.compute as pc
from PIL import Image

from infra.pictures import GAP
from infra.store import Store, merged_key
from tasks.report.questions import Picture
from tasks.study.model import cell_of

KINDS = ("traversal", "reconstruction")
QUALITY = 50  # of WebP
SCALES = (1.0, 0.75, 0.5, 0.35)  # the next is tried if a file has more bytes than LARGEST
LARGEST = 10_000


def pictures_of(
    store: Store,
    models: Sequence[Mapping[Any, Any]],
    kinds: Collection[str] = KINDS,
    by_latent: bool = False,
    orders: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, dict[str, Picture | None]]:
    """By model and kind; they are read only now, since a study has gigabytes of them.

    With `by_latent` the rows of a traversal are in the order of the latents, not of their KL; with
    `orders` as these say, which have all latents by model.
    """
    ids = [str(model["model_id"]) for model in models]
    cells = dict.fromkeys(map(cell_of, models))
    chosen = pc.field("model_id").isin(ids) & pc.field("kind").isin(list(kinds))
    rows = store.read("pictures", keys=[*ids, *map(merged_key, cells)], where=chosen)
    pictures: dict[str, dict[str, Picture | None]] = {model_id: {} for model_id in ids}
    for row in rows.to_pylist():
        picture = _picture(row, by_latent, (orders or {}).get(row["model_id"]))
        pictures[row["model_id"]][row["kind"]] = picture
    return pictures


def first_rows(picture: Picture | None, height: int) -> Picture | None:
    """The top of a picture, down to this height, as another picture."""
    if picture is None or picture.height < height:
        return None
    file = io.BytesIO()
    with Image.open(io.BytesIO(picture.content)) as whole:
        part = round(height * whole.height / picture.height)  # the file may be smaller
        whole.crop((0, 0, whole.width, part)).save(file, "WEBP", quality=QUALITY)
    stem = picture.name.removesuffix(".webp")
    return Picture(f"{stem}-top.webp", file.getvalue(), picture.width, height, ())


def _picture(row: dict[str, Any], by_latent: bool, wanted: Sequence[int] | None) -> Picture | None:
    """None for bytes that are no picture: a damaged one must not cost the report."""
    order: list[int] = row["order"] or []
    kl: dict[int, float] = dict(zip(order, row["kl"] or [], strict=False))
    rows, kind = order, row["kind"]
    places: tuple[int, ...] = ()
    if order and (by_latent or wanted):
        rows, kind = (list(wanted), "factors") if wanted else (sorted(order), "latents")
        places = tuple(order.index(latent) for latent in rows)
    try:
        content, width, height = _compressed(row["png"], places)
    except (OSError, TypeError, ValueError, SyntaxError):
        return None
    name = f"{row['model_id']}-{kind}.webp"
    columns = _columns(width, height, len(rows))
    of_rows = tuple((latent, kl.get(latent)) for latent in rows)
    return Picture(name, content, width, height, of_rows, columns)


@lru_cache(maxsize=128)  # several pages have the same models
def _compressed(png: bytes, places: tuple[int, ...]) -> tuple[bytes, int, int]:
    """The small file of a picture, with the rows at these places, and its size."""
    with Image.open(io.BytesIO(png)) as opened:
        picture = opened.convert("RGB")
    if places:
        picture = _arranged(picture, places)
    return small_file(picture), picture.width, picture.height


def small_file(picture: Image.Image) -> bytes:
    """A WebP of at most LARGEST bytes, or of a third of the width and height.

    A model that has hardly been trained draws noise, which no format makes small.
    """
    content = b""
    for scale in SCALES:
        size = round(picture.width * scale), round(picture.height * scale)
        file = io.BytesIO()
        scaled = picture if scale == 1 else picture.resize(size, Image.Resampling.LANCZOS)
        scaled.save(file, "WEBP", quality=QUALITY)
        content = file.getvalue()
        if len(content) <= LARGEST:
            break
    return content


def _columns(width: int, height: int, rows: int) -> int:
    """How many pictures stand in each row of a grid of square ones."""
    return round((width + GAP) * rows / (height + GAP)) if rows else 0


def _arranged(picture: Image.Image, places: Sequence[int]) -> Image.Image:
    """The rows of a grid that were at these places, in this order."""
    pixels = np.asarray(picture)
    each = (picture.height + GAP) // len(places)
    arranged = pixels.copy()
    for to, place in enumerate(places):
        source, target = place * each, to * each
        height = each - GAP
        arranged[target : target + height] = pixels[source : source + height]
    return Image.fromarray(arranged)
