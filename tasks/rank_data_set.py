"""The ranking of one data set of a store, also while its study runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from infra.errors import WrongInput
from infra.store import Store
from infra.tables import AXES
from tasks.best import best_first
from tasks.compare import codes_of, compare_here, kl_of_trained
from tasks.rank import Scores, pair_scores, rankings
from tasks.study.axes import sweep_of
from tasks.study.model import Model
from tasks.study.pair_parts import wanted_parts
from tasks.study.scores import headlines, read_scores
from tasks.study.spec import Udr
from tasks.study.survey import CellState
from tasks.words import ranking_name, strength_value

Rows = list[dict[str, Any]]
KEYS = ("model_id", "method", *AXES, "strength", "seed")
SWEEP = ("method", *AXES)
RANK = ("udr", "informative", "comparisons", "collapsed")


@dataclass(frozen=True)
class DataSetRanking:
    """The models of one data set."""

    data: str
    models: Rows  # best first
    strengths: Rows  # the median of each strength of each method
    strengths_pool: str  # by which strengths are compared
    missing: int  # not trained, or without a readable representation
    unreadable: list[str]  # ids of the latter

    @property
    def collapsed(self) -> int:
        return sum(row["collapsed"] for row in self.models)


def rank_data_set(
    store: Store, udr: Udr, name: str, states: Sequence[CellState], plot: Path | None
) -> DataSetRanking:
    """Rank what is trained by one similarity: models by the first pool, strengths by the last if
    it has any UDR. Pairs that the store lacks are compared in this process."""
    trained = [model for state in states for model in state.trained]
    newer, unreadable = compare_here(store, trained, udr)
    models = [model for model in trained if model.id not in unreadable]
    rows: Rows = []
    of_strengths: Rows = []
    pool = udr.pools[0]
    if models:
        ranks = [table.to_pylist() for table in rankings(store, models, udr, newer)]
        rows = _with_scores(store, models, ranks[0])
        compared = any(row["udr"] is not None for row in ranks[-1])
        of_strengths, pool = (ranks[-1], udr.pools[-1]) if compared else (rows, pool)
    ranking = DataSetRanking(
        data=name,
        models=rows,
        strengths=medians_of_strengths(of_strengths),
        strengths_pool=pool,
        missing=sum(len(state.cell.models) for state in states) - len(models),
        unreadable=sorted(unreadable),
    )
    if plot is not None:
        if not rows:
            raise WrongInput("--plot", "no trained model", "a store with trained models")
        by_id = {model.id: model for model in models}
        ordered = [by_id[row["model_id"]] for row in rows]
        scores = pair_scores(store, ordered, wanted_parts(ordered, udr), newer)
        _draw(store, ordered, udr, ranking, scores, plot)
    return ranking


def _with_scores(store: Store, models: Sequence[Model], ranks: Rows) -> Rows:
    """Best first, with the headline of every metric."""
    cells: dict[str, set[str]] = {}
    for model in models:
        cells.setdefault(model.cell, set()).add(model.id)
    columns = ["model_id", "metric", "part", "factor", "value"]
    keys = store.keys_of("scores", cells)
    scores: dict[str, dict[str, float | None]] = {}
    for row in read_scores(store, columns, keys, headlines()).to_pylist():
        scores.setdefault(row["model_id"], {})[row["metric"]] = row["value"]
    return [
        {
            "rank": place,
            **{name: row[name] for name in (*KEYS, *RANK)},
            "scores": scores.get(row["model_id"], {}),
        }
        for place, row in enumerate(best_first(ranks), 1)
    ]


def medians_of_strengths(rows: Rows) -> Rows:
    """The median UDR of each strength, and whether it is the best of its method at the same values
    of all axes."""
    values: dict[tuple[Any, ...], dict[float, list[float]]] = {}
    for row in rows:
        if row["udr"] is not None:
            sweep = tuple(row[name] for name in SWEEP)
            values.setdefault(sweep, {}).setdefault(row["strength"], []).append(row["udr"])
    lines: Rows = []
    for sweep, strengths in sorted(values.items()):
        medians = {strength: median(udr) for strength, udr in strengths.items()}
        best = max(medians.values())
        lines += [
            {
                **dict(zip(SWEEP, sweep, strict=True)),
                "strength": strength,
                "udr": value,
                "models": len(strengths[strength]),
                "best": value == best and min(medians.values()) < best,
            }
            for strength, value in sorted(medians.items())
        ]
    return lines


def _draw(
    store: Store,
    models: Sequence[Model],
    udr: Udr,
    ranking: DataSetRanking,
    scores: Scores,
    target: Path,
) -> None:
    from tasks.plots import BestStrengths, PlottedModel, Side, draw_models

    def side(place: int) -> Side:
        model = models[place]
        cell = f"{model.sweep} {strength_value(model.method, model.strength)}".strip()
        name = f"{cell}, seed {model.seed} ({model.id[:6]})"
        informative = kl_of_trained(store, [model])[model.id] > udr.kl_threshold
        return name, codes_of(store, model), informative

    def sweep(row: Mapping[str, Any]) -> str:
        return sweep_of(row, models[0].axes)

    plotted = [
        PlottedModel(row["model_id"], row["udr"], sweep(row), row["strength"], row["collapsed"])
        for row in ranking.models
    ]
    marked = [(sweep(row), row["strength"]) for row in ranking.strengths if row["best"]]
    best = BestStrengths(ranking.strengths_pool, marked)
    similarity = udr.similarities[0]
    title = f"{ranking.data}: {ranking_name(similarity)}, {similarity}, pool {udr.pools[0]}"
    draw_models(plotted, scores[0], side, similarity, title, target, best)
