"""What workers are given ends in time, whatever hangs, and says where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from infra.store import Store
from tasks.log import last_words

HANGS = """
import sys, time, types
from importlib import abc
from flows.work import score, train
from tasks.settings import DataChoice, Metrics, Model, ScoringOrder, Training, TrainingOrder

def wait(*_):
    time.sleep(60)

class Drive(abc.MetaPathFinder):
    def find_spec(self, name, *_):
        wait() if name in ("tasks.train", "tasks.score") else None

place, where, what = sys.argv[1:]
if where == "import":
    sys.meta_path.insert(0, Drive())
else:
    for name in ("train", "score"):
        sys.modules[f"tasks.{name}"] = types.SimpleNamespace(**{f"{name}_model": wait})
data, limit = DataChoice(name="dsprites"), {"minutes_per_model": 0.005}
model = Model("dsprites", "redrawn", "beta_vae", 4, 0, "paper", 3, 9, 4, 0.1, 0, 0, 0, "float32")
if what == "train":
    train(model, TrainingOrder(place, data, 9, Training(**limit)))
else:
    score(model, ScoringOrder(place, data, Metrics(names=("mig",), **limit)))
"""


@pytest.mark.parametrize("what", ["train", "score"])
@pytest.mark.parametrize("where", ["import", "call"])
def test_what_hangs_ends_and_leaves_its_last_words(tmp_path: Path, where: str, what: str) -> None:
    command = [sys.executable, "-c", HANGS, str(tmp_path), where, what]
    done = subprocess.run(command, timeout=60)
    store = Store(tmp_path)
    (model_id,) = store.names("models")
    assert done.returncode == 1
    assert last_words(store, model_id) == "not done within 0.005 minutes"
    assert b"in wait" in store.read_bytes("models", model_id, "log.txt")
