"""A model learns from teapots, and every metric says a number or why there is none."""

from pathlib import Path

import numpy as np
import pytest

from infra.store import Store
from metrics import OF_ALL_DATA
from tasks import data_sets
from tasks.score import score_model
from tasks.study.reading import parse_study
from tasks.train import train_model
from tests.data.teapots_of import few_teapots

READ_TARGETS = ("dci_lasso", "dci_forest", "sap")
WITHOUT_ROWS = {"rf_vae", "fairness"}  # of so few pictures hardly two differ in one factor alone


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    few_teapots(monkeypatch, 400)
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "data"))
    for function in (data_sets.load, data_sets.probe_of):
        function.cache_clear()
    yield Store(Path(tmp_path / "store"))
    for function in (data_sets.load, data_sets.probe_of):
        function.cache_clear()


@pytest.mark.slow
def test_a_study_of_few_teapots_is_trained_and_scored(store):
    study = parse_study(
        {
            "name": "teapots",
            "data": [{"name": "teapots", "source": "look-alike"}],
            "methods": {"beta_vae": [1]},
            "seeds": 1,
            "latents": 3,
            "probe": 20,
            "training": {"steps": 10, "batch_size": 8},
            "metrics": {
                "names": list(OF_ALL_DATA),
                "points": 200,
                "test_points": 100,
                "group_size": 8,
            },
        }
    )
    ((model,),) = (cell.models for cell in study.cells())
    assert train_model(store, study, model) == "trained"
    assert score_model(store, study, model) == "scored"
    rows = [row for row in store.read("scores").to_pylist() if row["part"] == "score"]
    headlines = {row["metric"]: row for row in rows if row["factor"] is None}
    assert set(headlines) == set(OF_ALL_DATA)
    for name, row in headlines.items():
        if row["value"] is None:
            assert name in WITHOUT_ROWS and "a table with such rows" in row["reason"]
        else:
            assert np.isfinite(row["value"]), name
    assert set(READ_TARGETS) <= {
        name for name, row in headlines.items() if row["value"] is not None
    }
    data_set = data_sets.load(study.data[0])
    assert data_set.pictures == 400 and data_set.source == "look-alike"
