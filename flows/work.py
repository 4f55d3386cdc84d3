"""What is given to Ray: one function per stage, called on a worker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from infra.store import Store
from infra.time_limit import ended_after
from tasks.log import comparison_log, model_log
from tasks.orders import ComparisonOrder, ScoringOrder, TrainingOrder
from tasks.study.model import Model
from tasks.study.spec import PerModel


def train(model: Model, order: TrainingOrder) -> str:
    """On a worker: torch is imported there, and never by the driver."""
    with _in_time(model, order.store, order.training):
        from tasks.train import train_model

        return train_model(model, order)


def score(model: Model, order: ScoringOrder) -> str:
    with _in_time(model, order.store, order.metrics):
        from tasks.score import score_model

        return score_model(model, order)


def compare(group: str, models: list[Model], order: ComparisonOrder) -> str:
    """The pairs of a tile, or, where no cells are named, the rankings of a group."""
    log = comparison_log(Store(order.store), group)
    if order.minutes is not None:  # so that last words are never those of an older try
        log.add(f"{'comparing' if order.cells else 'ranking'} {len(models)} models")
    with ended_after(order.minutes, log.end):
        if order.cells:
            from tasks.compare import compare_tile

            return compare_tile(models, order)
        from tasks.rank import rank_models

        return rank_models(group, models, order)


def _in_time(model: Model, store: str, given: PerModel) -> AbstractContextManager[None]:
    """From the first moment: imports may hang as well, on a drive that does not answer."""
    return ended_after(given.minutes_per_model, model_log(Store(store), model.id).end)


@dataclass(frozen=True)
class Work:
    """A benchmark passes functions that do nothing."""

    train: Callable[[Model, TrainingOrder], str] = train
    score: Callable[[Model, ScoringOrder], str] = score
    compare: Callable[[str, list[Model], ComparisonOrder], str] = compare
