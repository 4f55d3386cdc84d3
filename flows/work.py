"""What is given to Ray: one function per stage, called on a worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tasks.settings import ComparisonOrder, Model, ScoringOrder, TrainingOrder


def train(model: Model, order: TrainingOrder) -> str:
    """On a worker: torch is imported there, and never by the driver."""
    from tasks.train import train_model

    return train_model(model, order)


def score(model: Model, order: ScoringOrder) -> str:
    from tasks.score import score_model

    return score_model(model, order)


def compare(group: str, models: list[Model], order: ComparisonOrder) -> str:
    """The pairs of a tile, or, where no cells are named, the rankings of a group."""
    if order.cells:
        from tasks.compare import compare_tile

        return compare_tile(models, order)
    from tasks.ranking import rank_models

    return rank_models(group, models, order)


@dataclass(frozen=True)
class Work:
    """A benchmark passes functions that do nothing."""

    train: Callable[[Model, TrainingOrder], str] = train
    score: Callable[[Model, ScoringOrder], str] = score
    compare: Callable[[str, list[Model], ComparisonOrder], str] = compare
