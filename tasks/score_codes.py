"""Metrics of anyone's codes and factors: no images, no model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from metrics.base.arrays import Codes, Factors
from metrics.base.inputs import INTERVENED, Inputs, Score
from metrics.base.predictors import SEEDS
from metrics.base.rows import table_groups, table_interventions, table_pairs, table_variations
from metrics.evaluate import evaluate, needs
from tasks.own_codes import OwnCodes
from tasks.streams import stream
from tasks.study.spec import Metrics

Rows: TypeAlias = tuple[Codes, Factors]


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
    if "interventions" in wanted:
        try:
            given["interventions"] = _interventions((own.codes, own.factors), test, seed)
        except ValueError as error:
            impossible["interventions"] = str(error)
    trees = int(stream("score", "trees", seed).integers(SEEDS))
    given |= {"test_codes": test[0], "test_factors": test[1], "tree_seed": trees}
    return Inputs(*train, impossible=impossible, **given)


def _interventions(whole: Rows, test: Rows, seed: int) -> tuple[Codes, ...]:
    """Drawn from the test rows; from all rows if those lack a value or the rows to set it in.

    Of all rows trees have learned two thirds, so that predictions look fairer than on new ones.
    """
    names = ("score", "interventions", seed)
    columns = zip(test[1].T, whole[1].T, strict=True)
    if all(set(few.tolist()) == set(every.tolist()) for few, every in columns):
        with suppress(ValueError):
            return table_interventions(*test, INTERVENED, stream(*names))
    return table_interventions(*whole, INTERVENED, stream(*names))
