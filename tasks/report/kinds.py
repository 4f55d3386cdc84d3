"""Kinds of models on pictures with real factors, as Eastwood and Williams 2018 compare them.

A kind is a method at one strength on one data set; its models differ in their seed only. Numbers
are means over them. What shows a single model shows the one with the first seed, whatever its
scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.report import intervals
from tasks.report.frames import DATA_SET, groups, of_factors, parts
from tasks.report.intervals import Interval
from tasks.report.labels import method_label
from tasks.report.published import KINDS
from tasks.report.questions import Cell
from tasks.report.real_factors import RealFactors, real_factors
from tasks.report.results import Results
from tasks.study.axes import method_of
from tasks.words import MISSING, cell_title, number, plural

REGRESSORS = {"dci_lasso": "lasso", "dci_forest": "forests"}  # what a sentence calls them
# Beginnings of parts per latent: a row of R, and the disentanglement of a code.
IMPORTANCE, CODES = "importance latent", "disentanglement latent"
MOST_SHOWN = 8  # kinds of a data set of which single models are shown
NO_SCORES = (
    "No model has scores of regressors of real factors. The metrics dci_lasso and dci_forest "
    "give them."
)


@dataclass(frozen=True)
class Kind:
    """A method at one strength, and its trained models by rising seed."""

    method: str
    strength: float
    models: pd.DataFrame = field(compare=False)

    @property
    def title(self) -> str:
        return cell_title(self.method, self.strength)

    @property
    def in_paper(self) -> str:
        """What the paper calls it; empty if it has none such."""
        own = method_of(self.method), self.strength
        return next((name for name, kind in KINDS.items() if kind == own), "")

    @cached_property
    def first(self) -> dict[str, Any]:
        """The model with the first seed."""
        return {str(name): value for name, value in self.models.iloc[0].items()}

    def cell(self, results: Results) -> Cell:
        """The head of a table's row."""
        label = method_label(self.method, results.styles, self.strength)
        is_other = self.in_paper and not self.title.startswith(self.in_paper)
        below = (f"in the paper {self.in_paper}",) if is_other else ()
        return Cell(label, self.title, below, style="who")


@dataclass(frozen=True)
class OfData:
    """A data set with real factors, and the kinds that are trained on it."""

    data: str
    source: str
    factors: RealFactors
    kinds: tuple[Kind, ...]

    @property
    def shown(self) -> list[Kind]:
        """The kinds of which single models are shown: of many those of the paper, or of each other
        method the lowest and the highest strength."""
        if len(self.kinds) <= MOST_SHOWN:
            return list(self.kinds)
        chosen: list[Kind] = []
        for method in dict.fromkeys(kind.method for kind in self.kinds):
            own = sorted((k for k in self.kinds if k.method == method), key=lambda k: k.strength)
            chosen += [k for k in own if k.in_paper] or own[:: max(1, len(own) - 1)]
        return chosen


def by_data(results: Results) -> list[OfData]:
    """The data sets with real factors that have trained models, in the order of the study."""
    factors = {choice.name: real_factors(choice) for choice in results.study.data}
    found = []
    for (data, source), rows in groups(results.models, DATA_SET):
        if of_data := factors.get(data):
            kinds = tuple(
                Kind(method, float(strength), models.sort_values("seed"))
                for (method, strength), models in groups(rows, ["method", "strength"])
            )
            found.append(OfData(data, source, of_data, kinds))
    return found


@dataclass(frozen=True)
class Estimate:
    """The mean of a number over a kind's seeds; None where no model has it."""

    mean: float | None = None
    n: int = 0
    interval: Interval | None = None  # where there are enough seeds
    deviation: float | None = None  # between seeds, likewise

    @property
    def text(self) -> str:
        return number(self.mean, 2) + (f" ({self.interval.text()})" if self.interval else "")

    def cell(self, *below: str) -> Cell:
        own = (self.interval.text(),) if self.interval else ()
        return Cell(number(self.mean, 2) if self.n else MISSING, self.mean, (*own, *below))


def estimate(values: Sequence[float], *names: object) -> Estimate:
    """Of one value per seed; `names` are those of the draws of its interval."""
    if not len(values):
        return Estimate()
    table = np.array([values], dtype=float)
    draws = intervals.stream("kinds", *names)
    interval = intervals.bootstrap(table, lambda drawn: drawn.mean(axis=(1, 2)), draws)
    deviation = float(table.std(ddof=1)) if interval else None
    return Estimate(float(table.mean()), len(values), interval, deviation)


class RegressorScores:
    """Parts of the scores of both regressors, by model and factor."""

    def __init__(self, results: Results, sets: Sequence[OfData], wanted: Sequence[str]) -> None:
        """`wanted` are parts, or the beginnings of parts per latent: IMPORTANCE, CODES."""
        every = [kind.models for of_data in sets for kind in of_data.kinds]
        models = pd.concat(every) if every else results.models.iloc[:0]
        most = int(models["latents"].max()) if every else 0
        names = [
            name
            for part in wanted
            for name in (
                [f"{part} {i}" for i in range(most)] if part in (IMPORTANCE, CODES) else [part]
            )
        ]
        pairs = [(regressor, name) for regressor in REGRESSORS for name in names]
        self._values: dict[tuple[str, str, str, str], float] = {}
        for pair, values in parts(results.frames, models, pairs).items():
            known = values.dropna()
            ids = models.loc[known.index, "model_id"]
            self._values |= {(i, *pair, ""): v for i, v in zip(ids, known, strict=True)}
        rows = of_factors(results.store, models, pairs)
        keys = zip(rows["model_id"], rows["metric"], rows["part"], rows["factor"], strict=True)
        self._values |= dict(zip(keys, rows["value"].astype(float), strict=True))

    def by_model(self, kind: Kind, regressor: str, part: str, factor: str = "") -> dict[str, float]:
        """Of each model that has it; without a factor that of all factors."""
        keys = {i: (i, regressor, part, factor) for i in kind.models["model_id"]}
        return {i: self._values[key] for i, key in keys.items() if key in self._values}

    def mean(self, kind: Kind, regressor: str, part: str, factor: str = "") -> Estimate:
        values = list(self.by_model(kind, regressor, part, factor).values())
        return estimate(values, kind.method, kind.strength, regressor, part, factor)

    def regressors(self, of_data: OfData, part: str) -> list[str]:
        """Those of which any kind has this part."""
        return [r for r in REGRESSORS if any(self.by_model(k, r, part) for k in of_data.kinds)]

    def codes(self, kind: Kind, regressor: str) -> NDArray[np.float64]:
        """Disentanglement (models, latents), of the models that have it."""
        every = [
            [self._values.get((i, regressor, f"{CODES} {latent}", "")) for latent in range(latents)]
            for i, latents in zip(kind.models["model_id"], kind.models["latents"], strict=True)
        ]
        table = np.array(every, dtype=float)
        complete: NDArray[np.float64] = table[np.isfinite(table).all(axis=1)]
        return complete

    def importance(
        self, model: dict[str, Any], regressor: str, factors: Sequence[str]
    ) -> NDArray[np.float64] | None:
        """R of a model, (latents, factors); None where the store lacks any of it."""
        every = [
            [
                self._values.get((model["model_id"], regressor, f"{IMPORTANCE} {latent}", factor))
                for factor in factors
            ]
            for latent in range(int(model["latents"]))
        ]
        matrix = np.array(every, dtype=float)
        return matrix if matrix.size and np.isfinite(matrix).all() else None

    def main_importance(
        self, model: dict[str, Any], factors: Sequence[str]
    ) -> NDArray[np.float64] | None:
        """R by forests, which see dependences of any form; by the lasso where there is no other."""
        every = (self.importance(model, name, factors) for name in ("dci_forest", "dci_lasso"))
        return next((matrix for matrix in every if matrix is not None), None)


def ranked(
    kinds: Sequence[Kind], estimates: Sequence[Estimate], less: bool = False
) -> list[tuple[Kind, Estimate]]:
    """Those that have a number, the one with the most first, or with the least."""
    known = [(k, e) for k, e in zip(kinds, estimates, strict=True) if e.mean is not None]
    sign = 1 if less else -1
    return sorted(known, key=lambda pair: sign * (pair[1].mean or 0.0))


def few_seeds(of_data: OfData) -> str:
    """Why there are no intervals, where there are none."""
    most = max(len(kind.models) for kind in of_data.kinds)
    if most >= intervals.FEWEST_SEEDS:
        return ""
    return (
        f"{plural(most, 'seed')} of a kind {'is' if most == 1 else 'are'} too few for intervals: "
        "small differences may be chance."
    )
