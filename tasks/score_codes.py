"""Metrics of the user's own codes and factors: no images, no model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from metrics import HEADLINE
from metrics.base.arrays import BadArray, Codes, Factors
from metrics.base.inputs import INTERVENED, Inputs, Score
from metrics.base.predictors import SEEDS
from metrics.base.rows import table_groups, table_interventions, table_pairs, table_variations
from metrics.evaluate import evaluate, needs
from tasks.own import OwnCodes
from tasks.streams import stream
from tasks.study.spec import Metrics
from tasks.words import plural

Rows: TypeAlias = tuple[Codes, Factors]

STUDY_POINTS = Metrics().points + Metrics().test_points
MANY_POINTS = 100_000
OUT_OF_MEMORY = "not enough memory"


@dataclass(frozen=True)
class Result:
    """A metric's scores; without any, the reason."""

    metric: str
    scores: list[Score]
    reason: str = ""

    @property
    def out_of_memory(self) -> bool:
        return self.reason.startswith(OUT_OF_MEMORY)


def drawn_points(own: OwnCodes, points: int | None, seed: int) -> OwnCodes:
    """So many of the rows, drawn without replacement, in the file's order; all if there are no
    more."""
    if points is None or points >= len(own.codes):
        return own
    draws = stream("score", "points", seed)
    rows = np.sort(draws.choice(len(own.codes), points, replace=False))
    targets = None if own.targets is None else own.targets[rows]
    return replace(own, codes=own.codes[rows], factors=own.factors[rows], targets=targets)


def slow_metrics(own: OwnCodes, names: Sequence[str]) -> list[str]:
    """Those that learn predictors, whose time grows with the rows, if there are many."""
    if len(own.codes) < MANY_POINTS:
        return []
    return [name for name in names if needs([name]) & {"test_table", "interventions"}]


def score_of(inputs: Inputs, name: str, seed: int) -> Result:
    """A metric's scores of the inputs that split_inputs draws with the same seed."""
    try:
        return Result(name, evaluate(name, inputs, stream("score", name, seed)))
    except (ValueError, MemoryError) as error:
        return Result(name, [Score(HEADLINE, math.nan)], _reason(error))


def split_inputs(own: OwnCodes, names: Sequence[str], seed: int) -> Inputs:
    """The first two thirds of the rows train, the rest test; further rows are as in the file.

    Metrics without a split use the training part. Groups are drawn from the rows of their part:
    as many as the papers take, of rows that share the value of the factor that is fixed.
    """
    rows = len(own.codes)
    if rows < 3:
        raise BadArray("codes", plural(rows, "row"), "3 or more, two thirds to train")
    settings, wanted = Metrics(), needs(names)
    cut = 2 * rows // 3
    train = (own.codes[:cut], own.factors[:cut])
    test = (own.codes[cut:], own.factors[cut:])
    targets = (None, None) if own.targets is None else (own.targets[:cut], own.targets[cut:])
    size, counts = settings.group_size, (settings.points, settings.test_points)
    kinds: dict[str, Callable[..., Any]] = {
        "groups": table_groups,
        "pairs": table_pairs,
        "variations": table_variations,
    }
    drawn: dict[str, Any] = {}
    impossible: dict[str, str] = {}
    for kind, draw in kinds.items():
        if kind in wanted:
            for part, table, count in zip(("train", "test"), (train, test), counts, strict=True):
                draws = stream("score", f"{part} {kind}", seed)
                try:
                    drawn[f"{part}_{kind}"] = draw(*table, count, size, draws)
                except (ValueError, MemoryError) as error:
                    impossible[kind] = _reason(error)
    if "interventions" in wanted:
        try:
            drawn["interventions"] = _interventions((own.codes, own.factors), test, seed)
        except (ValueError, MemoryError) as error:
            impossible["interventions"] = _reason(error)
    trees = int(stream("score", "trees", seed).integers(SEEDS))
    return Inputs(
        codes=train[0],
        factors=train[1],
        test_codes=test[0],
        test_factors=test[1],
        targets=targets[0],
        test_targets=targets[1],
        validation_codes=own.validation and own.validation[0],
        validation_targets=own.validation and own.validation[1],
        zero_shot_codes=own.zero_shot and own.zero_shot[0],
        zero_shot_targets=own.zero_shot and own.zero_shot[1],
        continuous=own.continuous,
        tree_seed=trees,
        impossible=impossible,
        **drawn,
    )


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"{OUT_OF_MEMORY} ({text or 'this machine has no more'}); --points N scores fewer"
    return text


def _interventions(whole: Rows, test: Rows, seed: int) -> tuple[Codes, ...]:
    """Drawn from the test rows; from all rows if those lack a value or the rows to set it in.

    Trees have learned two thirds of all rows, so that predictions there are fairer than elsewhere.
    """
    names = ("score", "interventions", seed)
    columns = zip(test[1].T, whole[1].T, strict=True)
    if all(set(few.tolist()) == set(every.tolist()) for few, every in columns):
        with suppress(ValueError):
            return table_interventions(*test, INTERVENED, stream(*names))
    return table_interventions(*whole, INTERVENED, stream(*names))
