"""A user's pictures as a data set, and what was read with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from data.base.table import Table


@dataclass(frozen=True, eq=False)
class OwnDataSet(Table):
    """In the folder were also files that are no pictures, counted by ending in `ignored`, and
    broken ones, `skipped`. So many pictures were `transparent` and are drawn on black."""

    ignored: Mapping[str, int] = field(default_factory=dict)
    skipped: int = 0
    transparent: int = 0
