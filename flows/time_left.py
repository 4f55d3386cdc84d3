"""The time that is left of a whole run: one number, computed from what the run itself took so far.

Conventions:
- Workers are never idle while models are left. So what the scores leave of the workers' time is
  what training took, and an error in the seconds of a score hardly matters while both advance.
- Time is counted from the first report of steps, as the workers start before it.
- What has not begun is guessed: the first scores, and the report. Comparisons count once the first
  of them has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

# So much of the steps, or so many seconds, say how fast a run is; at first one worker compiles.
SURE_PART, SURE_SECONDS = 0.05, 60.0
SCORING_PART = 0.2  # of a model's training, until a model has been scored
# `tolstoy bench report` (docs/performance.md): two minutes for 12,600 models.
REPORT_SECONDS, REPORT_SECONDS_PER_MODEL = 7.0, 0.009


@dataclass(frozen=True)
class Counts:
    """What is left by stage, the models to train in this run, optimiser steps, and the models of
    the report, 0 if none is written."""

    left: Mapping[str, int]
    to_train: int
    steps: int
    steps_done: int
    models: int


@dataclass(frozen=True)
class Since:
    """What happened after the first report of steps."""

    seconds: float
    steps: int
    scores: int


@dataclass(frozen=True)
class Pace:
    """How many workers there are, and the seconds of one call of a stage, where they are known."""

    workers: Callable[[], int] = lambda: 1
    seconds_of: Callable[[str], float | None] = lambda stage: None


def minutes_left(counts: Counts, since: Since | None, pace: Pace) -> float | None:
    """Of all stages and the report; None while nothing says how fast the run is."""
    models = _seconds_of_models(counts, since, pace)
    later = {stage: counts.left[stage] for stage in ("compare", "dynamics") if counts.left[stage]}
    known = {stage: pace.seconds_of(stage) for stage in later}
    if models is None or (models == 0 and later and None in known.values()):
        return None
    seconds = models + sum(count * (known[stage] or 0.0) for stage, count in later.items())
    report = REPORT_SECONDS + REPORT_SECONDS_PER_MODEL * counts.models if counts.models else 0.0
    return (seconds / max(1, pace.workers()) + report) / 60


def _seconds_of_models(counts: Counts, since: Since | None, pace: Pace) -> float | None:
    """What training and scoring still take, if one worker did all of it."""
    to_train, to_score = counts.left["train"], counts.left["score"]
    steps_left = max(0, counts.steps - counts.steps_done)
    per_score = pace.seconds_of("score")
    if not (to_train and steps_left):  # or models that are not trained in steps
        per_model = pace.seconds_of("train")
        if (to_train and per_model is None) or (to_score and per_score is None):
            return None
        return to_train * (per_model or 0.0) + to_score * (per_score or 0.0)
    if since is None or not since.steps:
        return None
    if since.steps < SURE_PART * counts.steps and since.seconds < SURE_SECONDS:
        return None
    spent = pace.workers() * since.seconds
    if per_score is None:
        per_step = spent / since.steps
        per_score = SCORING_PART * per_step * counts.steps / counts.to_train
    else:
        per_step = max(0.0, spent - since.scores * per_score) / since.steps
    return per_step * steps_left + per_score * to_score
