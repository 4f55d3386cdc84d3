"""What workers are given ends in time, whatever hangs, and says where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flows.work import compare
from infra.store import Store
from tasks.log import Log, comparison_log
from tasks.orders import ComparisonOrder
from tasks.study.spec import Udr

HANGS = """
import sys, time, types
from importlib import abc
from flows.work import compare, score, train
from tasks.orders import ComparisonOrder, ScoringOrder
from tasks.study.model import Model
from tasks.study.spec import DataChoice, Metrics
from tasks.orders import TrainingOrder
from tasks.study.spec import Training, Udr

def wait(*_):
    time.sleep(60)

class Drive(abc.MetaPathFinder):
    def find_spec(self, name, *_):
        wait() if name in ("tasks.train", "tasks.score", "tasks.compare") else None

place, where, what = sys.argv[1:]
if where == "import":
    sys.meta_path.insert(0, Drive())
else:
    for does in ("train_model", "score_model", "compare_tile"):
        name = does.partition("_")[0]
        sys.modules[f"tasks.{name}"] = types.SimpleNamespace(**{does: wait})
data, limit = DataChoice(name="dsprites"), {"minutes_per_model": 0.005}
model = Model("dsprites", "redrawn", "beta_vae", 4, 0, "paper", 3, 9, 4, 0.1, 0, 0, 0, "float32")
if what == "train":
    train(model, TrainingOrder(place, data, 9, Training(**limit)))
elif what == "score":
    score(model, ScoringOrder(place, data, Metrics(names=("mig",), **limit)))
else:
    compare("group", [model], ComparisonOrder(place, Udr(), ((model.cell, model.cell),), 0.005))
"""


@pytest.mark.parametrize("what", ["train", "score", "compare"])
@pytest.mark.parametrize("where", ["import", "call"])
def test_what_hangs_ends_and_leaves_its_last_words(tmp_path: Path, where: str, what: str) -> None:
    command = [sys.executable, "-c", HANGS, str(tmp_path), where, what]
    done = subprocess.run(command, timeout=60)
    store = Store(tmp_path)
    folder = "comparisons" if what == "compare" else "models"
    (name,) = store.names(folder)
    assert done.returncode == 1
    assert Log(store, folder, name).last_words == "not done within 0.005 minutes"
    assert b"in wait" in store.read_bytes(folder, name, "log.txt")


def test_last_words_of_an_older_try_are_not_those_of_a_comparison_that_fails_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = comparison_log(Store(tmp_path), "group")
    log.end("not done within 5 minutes", "here")
    monkeypatch.setattr("tasks.rank.rank_models", lambda *_: "ranked")
    assert compare("group", [], ComparisonOrder(str(tmp_path), Udr(), minutes=5.0)) == "ranked"
    assert log.last_words == ""
