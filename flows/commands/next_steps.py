"""What to type after a run: the commands that fit what this study has."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from flows.commands.failures import command
from infra.store import Store
from metrics import METRICS
from tasks.best import best_first, main_ranking
from tasks.study.scores import headlines, read_scores
from tasks.study.spec import Study
from tasks.study.survey import CellState
from tasks.words import data_name, metric_name

DATA_SETS_NAMED = 3
RANKED = ("model_id", "similarity", "pool", "p", "udr", "comparisons")


def next_steps(study: Study, store: Store, states: Sequence[CellState]) -> str:
    """Commands, each with what it is for."""
    tolstoy, place = command(), shlex.quote(str(store))
    trained = [state for state in states if state.trained]
    if not trained:
        return _listed([(f"{tolstoy} status {place}", "what is done, failed and left")])
    steps = []
    if max(_models_by_method(trained).values()) > 1:
        steps.append((f"{tolstoy} rank {place}", "which strength, which model? without labels"))
    if study.traces is not None and max(len(state.trained) for state in trained) > 1:
        steps.append((f"{tolstoy} rank {place} --by dynamics", "which cell learns most alike?"))
    data_sets = list(dict.fromkeys(state.cell.data for state in trained))[:DATA_SETS_NAMED]
    for data, (model_id, why) in best_models(study, store, trained, data_sets).items():
        steps.append((f"{tolstoy} show {model_id} --store {place}", f"{why} of {data_name(data)}"))
    steps.append((f"{tolstoy} cite {place}", "BibTeX of what this study used"))
    steps.append((f"{tolstoy} report {place}", "write the report again"))
    return _listed(steps)


def _listed(steps: Sequence[tuple[str, str]]) -> str:
    width = max(len(typed) for typed, _ in steps)
    return "\n".join(["Next:", *(f"  {typed:<{width}}  # {purpose}" for typed, purpose in steps)])


def _models_by_method(trained: Sequence[CellState]) -> Counter[str]:
    """How many models could be compared with each other."""
    models: Counter[str] = Counter()
    for state in trained:
        models[state.cell.group] += len(state.trained)
    return models


def best_models(
    study: Study, store: Store, trained: Sequence[CellState], data_sets: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """By data set, the id of its best trained model, and by what it is the best: UDR, or else the
    study's first score; without either, the first model."""
    ids: dict[str, dict[str, None]] = {data: {} for data in data_sets}
    for state in trained:
        if state.cell.data in ids:
            ids[state.cell.data] |= dict.fromkeys(model.id for model in state.trained)
    ranks = [row for row in store.read("ranks", RANKED).to_pylist() if row["comparisons"]]
    best = {}
    for data, of_data in ids.items():
        ranked = best_first(main_ranking(row for row in ranks if row["model_id"] in of_data))
        if ranked:
            best[data] = str(ranked[0]["model_id"]), "the best model by UDR"
        else:
            best[data] = _best_by_score(study, store, of_data)
    return best


def _best_by_score(study: Study, store: Store, ids: Collection[str]) -> tuple[str, str]:
    scored = _first_scores(store, ids)
    for metric in study.metrics.names:
        if metric in scored and METRICS[metric].better != "neither":
            rows = scored[metric]
            best = rows[0] if METRICS[metric].better == "more" else rows[-1]
            return str(best["model_id"]), f"the best model by {metric_name(metric)}"
    return next(iter(ids)), "a model"


def _first_scores(store: Store, ids: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """By metric, the rows of its headline with a value, the highest first."""
    columns = ["model_id", "metric", "part", "factor", "value"]
    by_metric: dict[str, list[dict[str, Any]]] = {}
    for row in read_scores(store, columns, where=headlines()).to_pylist():
        if row["model_id"] in ids and row["value"] is not None:
            by_metric.setdefault(row["metric"], []).append(row)
    return {metric: best_first(rows, "value") for metric, rows in by_metric.items()}
