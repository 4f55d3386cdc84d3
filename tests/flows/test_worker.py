"""A call on a worker ends in time, whatever hangs, and its log shows where it hung."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flows.worker import rank, score, train
from infra.errors import WrongInput
from infra.store import Store
from tasks.log import Log, comparison_log
from tasks.study.reading import parse_study

HANGS = """
import sys, time, types
from importlib import abc
from flows.worker import compare, dynamics, score, train
from tasks.study.reading import parse_study

def wait(*_):
    time.sleep(60)

class Drive(abc.MetaPathFinder):
    def find_spec(self, name, *_):
        wait() if name in {f"tasks.{module}" for module in CALLED} else None

CALLED = {
    "train": "train_model",
    "score": "score_model",
    "compare": "compare_tile",
    "dynamics": "score_cell",
}
place, where, what = sys.argv[1:]
if where == "import":
    sys.meta_path.insert(0, Drive())
else:
    for name, does in CALLED.items():
        sys.modules[f"tasks.{name}"] = types.SimpleNamespace(**{does: wait})
limit = {"minutes_per_model": 0.005}
study = parse_study({
    "name": "test", "data": ["dsprites"], "methods": {"beta_vae": [4]}, "seeds": 1,
    "training": limit, "metrics": limit, "running": {"minutes_per_comparison": 0.005},
})
(model,) = study.cells()[0].models
if what == "compare":
    compare(place, study, "group", [model], [(model.cell, model.cell)])
elif what == "dynamics":
    dynamics(place, study, model.cell, [model])
else:
    {"train": train, "score": score}[what](place, study, model)
"""


@pytest.mark.parametrize("what", ["train", "score", "compare", "dynamics"])
@pytest.mark.parametrize("where", ["import", "call"])
def test_a_call_that_hangs_ends_and_its_stack_is_in_the_log(
    tmp_path: Path, where: str, what: str
) -> None:
    store = Store(tmp_path)
    store.write_json({}, "study.json")
    command = [sys.executable, "-c", HANGS, str(tmp_path), where, what]
    done = subprocess.run(command, timeout=60)
    folder = "comparisons" if what in ("compare", "dynamics") else "models"
    (name,) = store.names(folder)
    assert done.returncode == 1
    assert Log(store, folder, name).reason_for_end == "not done within 0.005 minutes"
    assert b"in wait" in store.read_bytes(folder, name, "log.txt")


def test_the_last_line_of_an_earlier_attempt_is_not_the_reason_of_a_later_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path).write_json({}, "study.json")
    log = comparison_log(Store(tmp_path), "group")
    log.end("not done within 5 minutes", "here")
    monkeypatch.setattr("tasks.rank.rank_models", lambda *_: None)
    spec = {"name": "test", "data": ["dsprites"], "methods": {"beta_vae": [4]}}
    study = parse_study({**spec, "running": {"minutes_per_comparison": 5.0}})
    rank(str(tmp_path), study, "group", [])
    assert log.reason_for_end == ""


def test_a_machine_without_the_store_s_drive_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.worker.VISIBLE_SECONDS", 0.05)
    study = parse_study({"name": "test", "data": ["dsprites"], "methods": {"beta_vae": [4]}})
    model = study.cells()[0].models[0]
    store = tmp_path / "store"
    for call in (train, score):
        with pytest.raises(WrongInput, match=f"--store: found {store}, which is not on machine"):
            call(str(store), study, model)
    assert not store.exists()
