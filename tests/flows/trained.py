"""Stores as if models had been trained, and workers in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from flows.driver import StudyRun
from infra.store import Store
from infra.workers import Resources
from tasks.model_row import write_row
from tasks.study.model import Model
from tasks.study.reading import parse_study
from tasks.study.spec import Study
from tasks.study.survey import survey

POINTS, LATENTS = 60, 3
STUDY: dict[str, Any] = {
    "name": "made-up",
    "data": [{"name": "dsprites", "source": "redrawn"}],
    "methods": {"beta_vae": [1, 4], "factor_vae": [10]},
    "seeds": 2,
    "latents": LATENTS,
    "probe": POINTS,
    "metrics": ["mig"],
    "udr": {"pools": ["cell", "method"]},
}


class Inline:
    """Workers that do each call at once, here, when its result is asked for."""

    stopping = False
    count = 1
    gib = 4.0

    def __init__(self, does: Callable[..., object] | None = None) -> None:
        self.does = does
        self.called: list[tuple[Any, ...]] = []
        self.functions: list[str] = []

    def calls(self, function: Callable[..., Any], *_: object, priority: int = 0) -> InlineCalls:
        return InlineCalls(self, self.does or function)

    def mean_seconds(self, function: Callable[..., Any]) -> float | None:
        return None

    def missing(self, resources: Resources) -> tuple[str, float, float] | None:
        """A machine of this memory."""
        memory = resources.memory_gib or 0.0
        return ("memory", memory, self.gib) if memory > self.gib else None

    def map(
        self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]
    ) -> Iterator[tuple[tuple[Any, ...], object]]:
        made = self.calls(function)
        for call in calls:
            made.add(call)
        return iter(made)


class InlineCalls:
    def __init__(self, of: Inline, function: Callable[..., Any]) -> None:
        self.of, self.function = of, function
        self.pending: list[tuple[Any, ...]] = []

    def add(self, call: tuple[Any, ...], rank: tuple[int, ...] = ()) -> None:
        self.pending.append(call)

    def end(self) -> None:
        pass

    def __iter__(self) -> Iterator[tuple[tuple[Any, ...], object]]:
        while self.pending:
            call = self.pending.pop(0)
            self.of.called.append(call)
            self.of.functions.append(self.function.__name__)
            try:
                yield call, self.function(*call)
            except Exception as error:  # as a worker hands it on
                yield call, error


def made_up(place: Path, **changes: Any) -> tuple[Study, Store]:
    """A store with this study's spec and nothing else."""
    study, store = parse_study({**STUDY, **changes}), Store(place)
    store.write_json(study.model_dump(mode="json"), "study.json")
    return study, store


def codes_of(model: Model) -> np.ndarray[Any, Any]:
    """Signals that all models share, mixed the less the larger the strength."""
    signals = np.random.default_rng(0).normal(size=(POINTS, LATENTS))
    mine = np.random.default_rng([len(model.method), int(model.strength), model.seed])
    mixing = np.eye(LATENTS) + mine.normal(size=(LATENTS, LATENTS)) / model.strength
    return (signals @ mixing).astype(np.float32)


def train(store: Store, models: Iterable[Model], kl: Iterable[float] = (1.0, 0.5, 0.0)) -> None:
    """The rows of trained models, with a score each."""
    kl = list(kl)
    for model in models:
        means = codes_of(model).tolist()
        columns = {**model.keys, "row": np.arange(POINTS), "mean": means, "logvar": means}
        columns["factors"] = None
        store.write_part("representations", model.id, columns)
        scores = {
            "metric": ["mig", "mig"],
            "part": ["score", "gap"],
            "factor": None,
            "value": [model.strength / 100 + model.seed / 1000, 9.0],
        }
        beside = {"reason": "", "seconds": 0.0, "stream": ""}
        store.write_part("scores", model.id, {**model.keys, **scores, **beside})
        sums = {"reconstruction": 1.0, "kl": sum(kl), "elbo": -1.0 - sum(kl)}
        write_row(model, store, "trained", kl_per_latent=[kl], **sums)


def models_of(study: Study) -> list[Model]:
    return [model for cell in study.cells() for model in cell.models]


def compared(study: Study, store: Store, workers: Any = None) -> StudyRun:
    """The compare stage of a run over all groups."""
    sweep = StudyRun(study, store, survey(study, store))
    for group in sweep.groups:
        sweep.compare(workers or Inline(), group)
    return sweep
