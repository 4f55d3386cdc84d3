"""A small study whose models and scores are made up, while all that reaches its store is real.

Nothing is computed but hashes: a model's numbers follow from its id and its steps, each from the
one before, so that a training which resumes from a wrong place ends with other numbers.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from flows.driver import StudyRun
from flows.open_study import open_study
from infra.store import Store
from infra.workers import Decision
from models.training import CurvePoint
from tasks.score import COLUMNS
from tasks.study.model import FAILED, Model
from tasks.study.reading import parse_study
from tasks.study.spec import Study
from tasks.study.weight_files import IDENTITY, WEIGHTS
from tests.flows.trained import Inline, InlineCalls

LATENTS, POINTS = 3, 20
SPEC: dict[str, Any] = {
    "name": "made-up",
    "data": [{"name": "dsprites", "source": "redrawn"}],
    "methods": {"beta_vae": [1]},
    "seeds": [0, 1],
    "latents": LATENTS,
    "probe": POINTS,
    "training": {"steps": 2, "checkpoint_steps": 1, "log_every": 1, "checkpoint_seconds": 9999},
    "metrics": ["mig"],
    "udr": {"similarities": ["spearman"], "pools": ["cell"]},
}
TABLES = ("models", "curves", "representations", "pictures", "scores", "pairs", "ranks")
VARY = ("seconds", "memory_mb", "tries")  # columns of measurements


def study(storage_minutes: float) -> Study:
    return parse_study({**SPEC, "running": {"storage_minutes": storage_minutes}})


class MadeUpTraining:
    """In place of models.training.Training."""

    def __init__(self, model: Model, after_chunk: Callable[[Any], None]) -> None:
        self.model, self.after_chunk = model, after_chunk
        self.state, self.done, self.seconds = model.id, 0, 0.0
        self.curve: list[CurvePoint] = []
        self.network = self
        self.instructions: str | None = None

    def run(self, on_gpu: bool) -> None:
        while self.done < self.model.steps:
            self.done += 1
            self.state = hashlib.sha256(f"{self.state} {self.done}".encode()).hexdigest()
            loss = int(self.state[:6], 16) / 2**24
            self.curve.append(CurvePoint(self.done, loss, loss, 0.0, 0.0))
            self.after_chunk(self)

    def checkpoint(self) -> bytes:
        return json.dumps([self.state, self.done, self.curve]).encode()

    def restore(self, content: bytes) -> None:
        self.state, self.done, curve = json.loads(content)
        self.curve = [CurvePoint(*point) for point in curve]

    def eval(self) -> MadeUpTraining:
        return self

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {"weight": torch.tensor([point.loss for point in self.curve])}


def _codes(network: MadeUpTraining, images: None) -> tuple[Any, Any]:
    draws = np.random.default_rng(int(network.state[:12], 16))
    means = draws.normal(size=(POINTS, LATENTS)).astype(np.float32)
    return means, -np.abs(means)


def _scores(
    store: Store, study: Study, model: Model, older: object, missing: list[str]
) -> dict[str, list[object]]:
    weights = store.read_bytes("models", model.id, WEIGHTS)
    assert store.read_json("models", model.id, IDENTITY)["channels"] == 1
    value = int(hashlib.sha256(weights).hexdigest()[:6], 16) / 2**24
    row = {"protocol": 1, "metric": "mig", "part": "score", "factor": None, "value": value}
    row |= {"reason": "", "seconds": 0.0, "stream": ""}
    return {name: [row[name]] for name in COLUMNS}


@contextmanager
def made_up_models() -> Iterator[list[str]]:
    """Trains and scores nothing; yields the ids of the models whose training began or went on."""
    trained: list[str] = []

    def training(attempt: Any, data_set: object) -> MadeUpTraining:
        trained.append(attempt.model.id)
        return MadeUpTraining(attempt.model, attempt._after_chunk)

    picture = io.BytesIO()
    Image.new("L", (64 * 11, 64)).save(picture, "PNG")
    pictures = {"kind": ["traversal"], "order": [[0]], "kl": [[1.0]], "png": [picture.getvalue()]}
    numbers = {"reconstruction": 1.0, "kl": 1.0, "elbo": -2.0}
    numbers |= {"kl_per_latent": [[1.0] * LATENTS]}  # type: ignore[dict-item]
    probe = SimpleNamespace(images=None, targets=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.train._Attempt._training", training)
        patch.setattr("tasks.train._Attempt._quantities", lambda *_: dict(numbers))
        patch.setattr("tasks.train._Attempt._pictures", lambda *_: pictures)
        patch.setattr("tasks.train.encode", _codes)
        patch.setattr("tasks.train.probe_of", lambda *_: probe)
        patch.setattr("tasks.train.check_machine", lambda *_: None)
        patch.setattr("tasks.train.load", lambda _: SimpleNamespace(channels=1))
        patch.setattr("tasks.score._rows", _scores)
        patch.setattr("flows.storage_wait.PROBE_SECONDS", 0.0)
        patch.setattr("flows.driver.CLAIM_SECONDS", 0.0)
        patch.setattr("infra.drivers.lock.SETTLE_SECONDS", 0.0)
        patch.setattr("infra.drivers.lock.RELEASE_SECONDS", 0.0)  # or how fast we are would count
        for module in ("infra.store", "flows.driver"):  # the same order of calls each time
            patch.setattr(f"{module}.ThreadPoolExecutor", InTurn)
        yield trained


class InTurn:
    """An executor without threads."""

    def __init__(self, *_: object, thread_name_prefix: str = "") -> None:
        pass

    def submit(self, function: Callable[..., object], *arguments: object) -> SimpleNamespace:
        function(*arguments)
        return SimpleNamespace(result=lambda: None)

    def __enter__(self) -> InTurn:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    map = staticmethod(map)


class Claiming(Inline):
    """Workers in this process that ask before each call whether it may run, as Ray's queue does."""

    def calls(
        self,
        function: Callable[..., Any],
        resources: object = None,
        decide: Callable[..., Any] = lambda *_: Decision.NOW,
        priority: int = 0,
    ) -> InlineCalls:
        def decided(*call: Any) -> Any:
            while (decision := decide(*call)) is Decision.LATER:
                pass
            if decision is not Decision.NOW:
                raise decision
            return function(*call)

        decided.__name__ = function.__name__
        return InlineCalls(self, decided)


def run(study: Study, uri: str) -> list[str]:
    """Do what of the study is not done; returns what went wrong, as `tolstoy run` prints it."""
    store, workers = Store(uri), Claiming()
    with open_study(study, store, set()) as opened:
        if opened.finished:
            return []
        sweep = StudyRun(opened.study, store, opened.states, opened.lock)
        sweep.open(workers)  # type: ignore[arg-type]
        for cell in sweep.cells:
            sweep.train(workers, cell)  # type: ignore[arg-type]
            sweep.score(cell)
        for group in sweep.groups:
            sweep.compare(workers, group)  # type: ignore[arg-type]
    failed = [state.cell.name for state in sweep.cells.values() if state.count(FAILED)]
    return [*sweep.progress.troubles, *(f"{name} has failed models" for name in failed)]


def contents(uri: str | Path) -> dict[str, list[str]]:
    """The rows of every table, without what differs from run to run; and the weights."""
    store = Store(uri)
    rows_of = {}
    for table in TABLES:
        columns = [name for name in store.read(table).column_names if name not in VARY]
        rows_of[table] = sorted(map(repr, store.read(table, columns).to_pylist()))
    weights = [("models", name, WEIGHTS) for name in store.names("models")]
    rows_of["weights"] = [
        f"{place[1]} {hashlib.sha256(store.read_bytes(*place)).hexdigest()}"
        for place in weights
        if store.exists(*place)
    ]
    return rows_of
