"""The stored pictures of a model, as the page holds them."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from typing import Any

from infra.store import Store
from tasks.report.questions import Picture
from tasks.study.model import cell_name

PNG = b"\x89PNG\r\n\x1a\n"


def pictures_of(store: Store, model: Mapping[Any, Any]) -> dict[str, Picture | None]:
    """By kind; they are read only now, since a study has gigabytes of them."""
    cell = cell_name(model["data"], model["method"], model["strength"])
    rows = store.rows_of("pictures", model["model_id"], cell).to_pylist()
    return {row["kind"]: _picture(row) for row in rows}


def _picture(row: dict[str, Any]) -> Picture | None:
    """None for bytes that are no PNG: a damaged picture must not cost the page."""
    png = row["png"]
    if not isinstance(png, bytes) or not png.startswith(PNG) or len(png) < 24:
        return None
    width, height = struct.unpack(">II", png[16:24])
    uri = "data:image/png;base64," + base64.b64encode(png).decode()
    order, kl = row["order"] or [], row["kl"] or []
    return Picture(uri, width, height, tuple(zip(order, kl, strict=False)))
