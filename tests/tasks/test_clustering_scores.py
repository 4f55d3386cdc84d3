"""The metric `clustering` in a study: its rows, and where it is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data.base.cache import ENVIRONMENT
from flows.cli import main
from infra.errors import WrongInput
from infra.store import Store
from tasks.clustering import learning, reward_predictor, transition
from tasks.clustering.learning import Settings
from tasks.data_sets import load
from tasks.score import score_model
from tasks.study.reading import parse_study, read_study
from tasks.train import train_model

SPEC = {
    "name": "agents",
    "data": [{"name": "scene", "pictures": 1000}],
    "sources": ["look-alike"],
    "methods": {"beta_vae": [1]},
    "seeds": 1,
    "probe": 20,
    "training": {"steps": 2, "batch_size": 4},
    "metrics": {"names": ["mig", "clustering"], "points": 40, "test_points": 20},
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = Settings(agents=2, explored=200, together=5, first=10, budget=10, tested=4)
    monkeypatch.setattr(learning, "Settings", lambda: settings)
    monkeypatch.setattr(transition, "STEPS", 5)
    monkeypatch.setattr(reward_predictor, "STEPS", 5)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "cache"))
    load.cache_clear()


def test_rows_are_the_same_whenever_they_are_computed(quick: None, tmp_path: Path) -> None:
    """With other metrics, alone, and after them."""
    study = parse_study(SPEC)
    (model,) = study.cells()[0].models
    stores = [Store(tmp_path / name) for name in ("together", "later")]
    only_mig = parse_study({**SPEC, "metrics": {**SPEC["metrics"], "names": ["mig"]}})
    for store in stores:
        train_model(store, study, model)
    assert score_model(stores[0], study, model) == "scored"
    assert score_model(stores[1], only_mig, model) == "scored"
    assert score_model(stores[1], study, model) == "scored"
    rows = [_values(store) for store in stores]
    assert rows[0] == rows[1]
    assert rows[0]["clustering", "score"] == rows[0]["clustering", "budget"] == 10
    assert 0 <= rows[0]["clustering", "success"] <= 1
    assert score_model(stores[0], study, model) == "done"


def _values(store: Store) -> dict[tuple[str, str], float]:
    rows = store.read("scores").to_pylist()
    return {(r["metric"], r["part"]): r["value"] for r in rows if r["metric"] == "clustering"}


def test_other_data_sets_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for data in (["dsprites"], [{"name": "scene", "pictures": 1000}, "dsprites"]):
        with pytest.raises(WrongInput, match=r"metrics\.names.*clustering only with data: scene"):
            parse_study({**SPEC, "data": data})
    assert main(["plan", "smoke", "--set", "metrics.names=[clustering]"]) == 2
    assert "clustering only with data: scene; not with" in capsys.readouterr().err


def test_a_file_of_codes_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "own.npz", codes=np.zeros((9, 2)), factors=np.zeros((9, 1), np.int64))
    assert main(["score", str(tmp_path / "own.npz"), "--metrics", "mig,clustering"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tolstoy: --metrics: found 'clustering'; accepted: metrics of codes")


def test_the_presets_are_the_papers_and_a_small_one() -> None:
    """Duan et al. 2020, appendix A.8: three strengths, ten seeds; Holtz et al. 2022: β = 0, too."""
    paper, small = read_study("duan-2020-clustering"), read_study("clustering-small")
    assert paper.methods == {"beta_vae": (0, 0.01, 0.1, 1)} and len(paper.seed_list) == 10
    assert small.methods == {"beta_vae": (0.01, 0.1, 1)}
    for study in (paper, small):
        assert [choice.name for choice in study.data] == ["scene"] and study.traces
        assert "clustering" in study.metrics.names and study.udr.similarities == ("spearman",)
