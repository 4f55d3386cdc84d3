"""Which models a survey finds scored, against the plainest way to find them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infra.store import Store
from metrics import METRICS
from tasks.study.model import Model
from tasks.study.survey import survey
from tests.flows.trained import made_up, models_of, train

WANTED = ["mig", "sap", "irs"]
OLDER = METRICS["irs"].protocol - 1  # so that its rows count as missing


def write_scores(store: Store, model: Model, rows: list[tuple[str, int]]) -> None:
    columns = {
        "metric": [metric for metric, _ in rows],
        "protocol": [protocol for _, protocol in rows],
        "part": "score",
        "factor": None,
        "value": 0.5,
        "reason": "",
        "seconds": 0.0,
        "stream": "",
    }
    store.write_part("scores", model.id, {**model.keys, **columns})


@pytest.mark.parametrize("seed", range(5))
def test_a_model_is_scored_that_has_every_metric_of_the_study(seed: int, tmp_path: Path) -> None:
    """Some models have own parts, some are merged, and some have both; some rows are outdated."""
    assert OLDER > 0
    study, store = made_up(tmp_path / "store", seeds=4, metrics=WANTED)
    train(store, models_of(study))
    draws = np.random.default_rng(seed)
    newest: dict[str, list[tuple[str, int]]] = {}

    def write_some(models: list[Model]) -> None:
        for model in models:
            names = [n for n in (*WANTED, "modularity") if draws.random() < 0.8] * 2
            rows = [(n, OLDER if n == "irs" and draws.random() < 0.3 else 2) for n in names]
            newest[model.id] = rows
            write_scores(store, model, rows)

    models = models_of(study)
    write_some(models)
    for cell in study.cells()[:2]:
        store.merge("scores", cell.name, [model.id for model in cell.models])
    write_some([model for model in models if draws.random() < 0.3])
    states = survey(study, store)
    current = {
        model_id: {metric for metric, protocol in rows if (metric, protocol) != ("irs", OLDER)}
        for model_id, rows in newest.items()
    }
    scored = {model_id for model_id, names in current.items() if names >= set(WANTED)}
    with_scores = {model_id for model_id, names in current.items() if names}
    assert set().union(*(state.scored for state in states)) == scored
    assert set().union(*(state.with_scores for state in states)) == with_scores
    assert 0 < len(scored) < len(models)


def test_without_metrics_every_model_with_a_row_is_scored(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store", metrics=[])
    first, *_ = models_of(study)
    train(store, [first])
    assert set().union(*(state.scored for state in survey(study, store))) == {first.id}


def test_a_metric_that_no_model_has_leaves_all_unscored(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store", metrics=["mig", "sap"])
    train(store, models_of(study))
    assert not any(state.scored for state in survey(study, store))
    assert all(len(state.with_scores) == 2 for state in survey(study, store))
