"""Which model is best by UDR: the same answer for the commands, the dashboard and the report.

Conventions:
- Rows are plain mappings; a model without a UDR has None or NaN there, and comes last.
- Equal models are in the order of their ids; rows without ids stay in the order in which they come.
- A ranking of all comparisons (p = 0) counts for more than one of p comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from metrics import SIMILARITIES

# Pools from the fairest for choosing a model to the least. Duan et al. 2020, section 4: comparing
# over all strengths is preferable for choosing models, within one strength for choosing strengths.
POOL_ORDER = ("method", "data", "cell")
ADVISED_POOLS = ("method", "cell")  # by which models are ranked, and by which strengths

Row = TypeVar("Row", bound=Mapping[Any, Any])


@dataclass(frozen=True)
class BestOfNumber(Generic[Row]):
    """The best of the models that have so many informative latents."""

    informative: int
    models: int
    best: Row

    def as_json(self) -> dict[str, Any]:
        return {"informative": self.informative, "models": self.models, "best": self.best}


def best_first(rows: Iterable[Row], score: str = "udr") -> list[Row]:
    """The rows by falling score."""

    def place(row: Row) -> tuple[bool, float, str]:
        value = _score(row, score)
        return value is None, -(value or 0.0), str(row.get("model_id", ""))

    return sorted(rows, key=place)


def best_and_worst(rows: Iterable[Row], score: str = "udr") -> tuple[Row, ...]:
    """The first and the last model that have a score; a single one alone, or none at all."""
    ranked = best_first((row for row in rows if _score(row, score) is not None), score)
    return (ranked[0], ranked[-1]) if len(ranked) > 1 else tuple(ranked)


def best_per_informative(rows: Iterable[Row], score: str = "udr") -> list[BestOfNumber[Row]]:
    """For each number of informative latents that a ranked model has, from 1 on."""
    by_number: dict[int, list[Row]] = {}
    for row in rows:
        informative = _score(row, "informative")
        if informative and _score(row, score) is not None:
            by_number.setdefault(int(informative), []).append(row)
    return [
        BestOfNumber(informative, len(models), best_first(models, score)[0])
        for informative, models in sorted(by_number.items())
    ]


def main_ranking(rows: Iterable[Row]) -> list[Row]:
    """Of rows of the table `ranks`, those of the ranking by which models are chosen."""
    ranked = [row for row in rows if _score(row, "udr") is not None]
    first = min((ranking_place(row["similarity"], row["pool"]) for row in ranked), default=None)
    chosen = [row for row in ranked if ranking_place(row["similarity"], row["pool"]) == first]
    return list({row["model_id"]: row for row in sorted(chosen, key=_comparisons)}.values())


def ranking_place(similarity: str, pool: str) -> tuple[int, str, int]:
    """Sorts rankings: by similarities in the order of their table, then the fairest pool."""
    known = list(SIMILARITIES)
    first = known.index(similarity) if similarity in known else len(known)
    place = POOL_ORDER.index(pool) if pool in POOL_ORDER else len(POOL_ORDER)
    return first, similarity, place


def _comparisons(row: Mapping[Any, Any]) -> float:
    return row["p"] or math.inf


def _score(row: Mapping[Any, Any], name: str) -> float | None:
    value = row[name]
    return None if value is None or math.isnan(value) else float(value)
