from __future__ import annotations

from dataclasses import dataclass

from tasks.study.spec import DataChoice, Metrics, Training, Udr


@dataclass(frozen=True)
class TrainingOrder:
    """How to train, beyond what the model's identity says, and where the model goes."""

    store: str
    data: DataChoice
    probe: int
    training: Training


@dataclass(frozen=True)
class ScoringOrder:
    """Which scores, and where the model lies."""

    store: str
    data: DataChoice
    metrics: Metrics


@dataclass(frozen=True)
class ComparisonOrder:
    """How to compare, and where the models lie.

    With cells: the pairs of models of these pairs of cells. Without: the rankings.
    """

    store: str
    udr: Udr
    cells: tuple[tuple[str, str], ...] = ()
    minutes: float | None = None
