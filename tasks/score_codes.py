"""Metrics of anyone's codes and factors: no images, no model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from metrics.evaluate import evaluate, needs
from metrics.inputs import Inputs, Score, table_groups, table_pairs, table_variations
from tasks.own_codes import OwnCodes
from tasks.settings import Metrics
from tasks.streams import stream


@dataclass(frozen=True)
class Result:
    """A metric's scores under one seed; without any, the reason."""

    metric: str
    seed: int
    scores: list[Score]
    reason: str = ""


def scores_of(own: OwnCodes, names: Sequence[str], seeds: Sequence[int]) -> Iterator[Result]:
    """Every metric under every seed, as they come."""
    for seed in seeds:
        inputs = split_inputs(own, names, seed)
        for name in names:
            try:
                scores = evaluate(name, inputs, stream("score", name, seed))
                yield Result(name, seed, scores)
            except ValueError as error:
                reason = " ".join(str(error).split())
                yield Result(name, seed, [Score("score", math.nan)], reason)


def split_inputs(own: OwnCodes, names: Sequence[str], seed: int) -> Inputs:
    """The first two thirds of the rows train, the rest test.

    Metrics without a split use the training part. Groups are drawn from the rows of their part:
    as many as the papers take, of rows that share the value of the factor that is fixed.
    """
    rows = len(own.codes)
    if rows < 3:
        raise ValueError(f"codes: found {rows} rows; 3 or more are accepted, two thirds to train")
    settings, wanted = Metrics(), needs(names)
    cut = 2 * rows // 3
    train = (own.codes[:cut], own.factors[:cut])
    test = (own.codes[cut:], own.factors[cut:])
    size, counts = settings.group_size, (settings.points, settings.test_points)
    kinds: dict[str, Callable[..., Any]] = {
        "groups": table_groups,
        "pairs": table_pairs,
        "variations": table_variations,
    }
    given: dict[str, Any] = {}
    impossible: dict[str, str] = {}
    for kind, drawn in kinds.items():
        if kind in wanted:
            for part, rows_of, count in zip(("train", "test"), (train, test), counts, strict=True):
                draws = stream("score", f"{part} {kind}", seed)
                try:
                    given[f"{part}_{kind}"] = drawn(*rows_of, count, size, draws)
                except ValueError as error:
                    impossible[kind] = str(error)
    return Inputs(*train, test_codes=test[0], test_factors=test[1], impossible=impossible, **given)
