"""How far a run is, as gauges that every Ray node offers to Prometheus.

Ray puts `ray_` before each name. infra/deploy/grafana.json draws them.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flows.progress import Progress

GAUGES = {
    "tolstoy_models_trained": "Models that this run has trained",
    "tolstoy_models_failed": "Models that failed or diverged in this run",
    "tolstoy_models_left": "Models that are not trained yet",
    "tolstoy_models_scored": "Models that this run has scored",
    "tolstoy_scores_waiting": "Models that are trained and not scored yet",
    "tolstoy_steps_per_second": "Optimiser steps of all workers in a second, over the last minute",
}
PREFIX = "ray_"  # Ray's, of the names that Prometheus reads
STUDY = "study"  # the tag that names the store
COLLECTED = "RAY_enable_metrics_collection"  # Ray's own switch
EVERY_SECONDS = 5.0
PACE_SECONDS = 60.0


class StepsPerSecond:
    """Steps per second over the last minute; models report theirs every ten seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: deque[tuple[float, float]] = deque()

    def of(self, steps: float) -> float:
        """Their number now that so many steps are done."""
        now = self._clock()
        self._counts.append((now, steps))
        while len(self._counts) > 2 and self._counts[1][0] <= now - PACE_SECONDS:
            self._counts.popleft()
        began, before = self._counts[0]
        return max(0.0, steps - before) / (now - began) if now > began else 0.0


def values(progress: Progress, steps_per_second: float) -> dict[str, float]:
    """The value of each gauge."""
    todo, done = progress.todo, progress.done
    failed = sum(progress.bad.values())
    not_trained = max(0, todo["train"] - done["train"])
    not_scored = max(0, todo["score"] - done["score"])
    return {
        "tolstoy_models_trained": done["train"] - failed,
        "tolstoy_models_failed": failed,
        "tolstoy_models_left": not_trained,
        "tolstoy_models_scored": done["score"],
        "tolstoy_scores_waiting": max(0, not_scored - not_trained),
        "tolstoy_steps_per_second": steps_per_second,
    }


def are_collected() -> bool:
    return os.environ.get(COLLECTED, "").lower() not in ("0", "false")


@contextmanager
def published(progress: Progress, study: str, every: float = EVERY_SECONDS) -> Iterator[None]:
    """Set the gauges while the block runs, on the Ray that this process is connected to."""
    if not are_collected():
        yield
        return
    from ray.util.metrics import Gauge

    gauges = {name: Gauge(name, text, (STUDY,)) for name, text in GAUGES.items()}
    pace, ended = StepsPerSecond(), threading.Event()

    def publish(steps_per_second: float) -> None:
        for name, value in values(progress, steps_per_second).items():
            gauges[name].set(value, {STUDY: study})

    def repeat() -> None:
        publish(pace.of(progress.steps_done))
        while not ended.wait(every):
            publish(pace.of(progress.steps_done))

    thread = threading.Thread(target=repeat, name="sets gauges", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        publish(0.0)
