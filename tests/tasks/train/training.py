"""Trains a small model in a store, and reads what was written of it."""

from pathlib import Path
from typing import Any

from infra.store import Store
from tasks.log import LOG
from tasks.study.model import Model
from tasks.study.reading import parse_study
from tasks.study.spec import Study
from tests.tasks.made_models import SMALL

ROOT = Path(__file__).parents[3]
MODEL = SMALL
WRITTEN = ("representations", "curves", "pictures", "models")
PROBE = 20


def in_store(
    folder: Path, seconds: float = 1e9, steps: int | None = None, log_every: int = 20, **more: Any
) -> tuple[Store, Study]:
    """A store, and a study that says how often logs and checkpoints are written."""
    often = {"log_every": log_every, "checkpoint_seconds": seconds, "checkpoint_steps": steps}
    return Store(folder), parse_study(
        {
            "name": "test",
            "data": ["dsprites"],
            "methods": {"beta_vae": [4]},
            "probe": PROBE,
            "training": {**often, **more},
        }
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != LOG  # times and processes
    }


def weights(folder: Path, model: Model = MODEL) -> bytes:
    return Store(folder).read_bytes("models", model.id, "weights.safetensors")


def outcome(folder: Path, model: Model = MODEL) -> dict[str, object]:
    (row,) = Store(folder).read("models", keys=[model.id]).to_pylist()
    return row


def log(folder: Path, model: Model = MODEL) -> str:
    return Store(folder).read_bytes("models", model.id, LOG).decode()
