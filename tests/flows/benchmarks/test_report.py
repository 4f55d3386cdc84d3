"""The made-up store of `tolstoy bench report` has what a real study would have, and a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.benchmarks import made_up, report
from infra.store import Store
from infra.tables import TABLES
from tasks.study.groups import all_ranked
from tasks.study.pair_parts import missing_parts
from tasks.study.reading import parse_study
from tasks.study.spec import Study
from tasks.study.stored import stored_study
from tasks.study.survey import survey

NAMES = ("mig", "modularity", "jemmig", "unsupervised")


@pytest.fixture(scope="module")
def study() -> Study:
    return parse_study(
        {
            "name": "made-up",
            "data": ["dsprites", "cars3d"],
            "methods": {"beta_vae": [1, 4], "factor_vae": [10]},
            "seeds": 3,
            "metrics": list(NAMES),
            "training": {"steps": 3000},
            "udr": {"similarities": ["lasso", "spearman"]},
        }
    )


@pytest.fixture(scope="module")
def store(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store(Path(tmp_path_factory.mktemp("made-up")))
    made_up.fill(made, study)
    return made


def test_nothing_is_left_for_a_run_to_do(store: Store, study: Study) -> None:
    assert stored_study(store) == study
    states = survey(study, store)
    assert [len(state.scored) for state in states] == [3] * 6
    assert all_ranked(study, store, states)
    for data in ("dsprites", "cars3d"):
        models = [m for state in states if state.cell.data == data for m in state.trained]
        assert not missing_parts(store, models, study.udr)
    assert store.read("pairs").num_rows == 2 * 2 * (6 * 5 + 3 * 2), "ordered pairs of a method"
    assert {name for name in TABLES if not store.parts(name)} == {"representations", "dynamics"}


def test_every_metric_has_all_its_parts_and_factors(store: Store) -> None:
    rows = store.read("scores").to_pandas()
    for data, factors in (("dsprites", 5), ("cars3d", 3)):
        one = rows[rows["model_id"] == rows.loc[rows["data"] == data, "model_id"].iloc[0]]
        for name in NAMES:
            parts = one[one["metric"] == name]
            assert len(parts) == len(made_up.parts_of(name, factors))
            assert parts["value"].notna().all()
        assert one["factor"].nunique() == factors
    assert "kl latent 3" in set(rows["part"])


def test_the_whole_grid_is_that_of_the_aim() -> None:
    whole = report.study(None)
    cells = whole.model_copy(update={"seeds": 1}).cells()
    assert len(cells) * len(whole.seed_list) == 12_600
    assert len(whole.metrics.names) == 18
    assert report.study(600).seeds == 3
    assert report.study(1).seeds == 2


@pytest.mark.slow
def test_the_command_is_measured_against_the_aims(
    store: Store, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "study", lambda size: study)
    monkeypatch.setattr(report.browser, "missing", lambda: "no browser here")
    rows = {row.name: row for row in report.measure(18)}
    assert set(rows) == {"report", "its processor time", "its memory", "first page"}
    assert rows["its memory"].baseline == 2.0 and 0.05 < rows["its memory"].ours < 2
    assert 0.01 < rows["first page"].ours < 3
    assert "18 models" in rows["report"].note
    assert "not opened: no browser here" in rows["first page"].note
