"""Pictures of the best and the worst model by UDR, so that a reader sees what the ranking means."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from infra.store import Store
from tasks.report.frames import DATA_SET, groups
from tasks.report.tables import Column
from tasks.study.model import cell_name
from tasks.words import number

MOST_GROUPS = 14  # with more data sets × methods, one pair per data set
PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Picture:
    """A PNG for the page, and the latent and KL of each of its rows."""

    uri: str
    width: int
    height: int
    rows: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Portrait:
    """One model: who it is, what it scores, how it looks."""

    role: str  # best, worst, only, example
    model_id: str
    method: str
    strength: float
    seed: int
    collapsed: bool
    informative: int | None
    kl: float
    scores: tuple[tuple[str, str], ...]
    traversal: Picture | None
    reconstruction: Picture | None


@dataclass(frozen=True)
class Choice:
    """Models to show of one data set, and of one method or of all."""

    data: str
    source: str
    method: str | None
    models: tuple[tuple[str, str], ...]  # role, model_id


def choose(wide: pd.DataFrame, udr: Column | None) -> list[Choice]:
    """Best and worst by UDR; where nothing is ranked, one example."""
    keys = [*DATA_SET, "method"]
    by_method = wide[keys].drop_duplicates().shape[0] <= MOST_GROUPS
    found = []
    for key, rows in groups(wide, keys if by_method else DATA_SET):
        data, source, *method = key
        found.append(Choice(data, source, method[0] if method else None, _extremes(rows, udr)))
    return found


def _extremes(rows: pd.DataFrame, udr: Column | None) -> tuple[tuple[str, str], ...]:
    ranked = rows.dropna(subset=[udr.key]) if udr else rows.iloc[:0]
    if ranked.empty or udr is None:
        return (("example", str(rows["model_id"].iloc[0])),)
    if len(ranked) == 1:
        return (("only", str(ranked["model_id"].iloc[0])),)
    ordered = ranked.sort_values([udr.key, "model_id"], ascending=[False, True])["model_id"]
    return (("best", str(ordered.iloc[0])), ("worst", str(ordered.iloc[-1])))


def portraits(
    store: Store, choice: Choice, wide: pd.DataFrame, shown: Sequence[Column]
) -> list[Portrait]:
    """The chosen models with their pictures, which are read only now: a study has gigabytes."""
    of_data = wide[(wide["data"] == choice.data) & (wide["source"] == choice.source)]
    known = [column for column in shown if of_data[column.key].notna().any()]
    ranking_first = sorted(known, key=lambda column: not column.is_udr)
    found = []
    for role, model_id in choice.models:
        row = wide.loc[wide["model_id"] == model_id].iloc[0]
        cell = cell_name(row["data"], row["method"], row["strength"])
        kinds = {
            picture["kind"]: _picture(picture)
            for picture in store.rows_of("pictures", model_id, cell).to_pylist()
        }
        found.append(
            Portrait(
                *(role, model_id, row["method"], float(row["strength"]), int(row["seed"])),
                *(bool(row["collapsed"]), _count(row["informative"]), float(row["kl"])),
                tuple((c.title, number(float(row[c.key]))) for c in ranking_first),
                *(kinds.get("traversal"), kinds.get("reconstruction")),
            )
        )
    return found


def _count(value: float) -> int | None:
    return None if pd.isna(value) else int(value)


def _picture(row: dict[str, Any]) -> Picture | None:
    """None for bytes that are no PNG: a damaged picture must not cost the page."""
    png = row["png"]
    if not isinstance(png, bytes) or not png.startswith(PNG) or len(png) < 24:
        return None
    width, height = struct.unpack(">II", png[16:24])
    uri = "data:image/png;base64," + base64.b64encode(png).decode()
    order, kl = row["order"] or [], row["kl"] or []
    return Picture(uri, width, height, tuple(zip(order, kl, strict=False)))
