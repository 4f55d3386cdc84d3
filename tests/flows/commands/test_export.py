"""`tolstoy export`: one row per model, and the queries of docs/tables.md on it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from flows.cli import main
from infra.store import Store
from infra.tables import QUERIES
from tasks.study.stored import STUDY_FILE
from tests.tasks.report.conftest import Grid, fill

GRID = Grid(
    seeds=5,
    metrics=("mig", "dci", "unsupervised"),
    diverged={("dsprites", "beta_vae", 4.0, 1): "loss is not finite at step 61"},
    curves=False,
    pictures=False,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store(tmp_path_factory.mktemp("store"))
    fill(made, GRID)
    made.write_json(GRID.study().model_dump(mode="json"), STUDY_FILE)
    return made


@pytest.fixture
def wide(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    assert main(["export", store.root, "--to", "study.parquet"]) == 0
    return pd.read_parquet("study.parquet")


def test_a_row_per_model_with_every_number_that_is_not_of_a_factor(
    wide: pd.DataFrame, store: Store
) -> None:
    models = store.read("models").to_pandas()
    assert sorted(wide["model_id"]) == sorted(models["model_id"]) and len(wide) == 40
    scores = store.read("scores").to_pandas()
    scores = scores[scores["factor"].isna()]
    for row in scores.sample(60, random_state=0).itertuples():
        name = row.metric if row.part == "score" else f"{row.metric}.{row.part}"
        assert wide.set_index("model_id").loc[row.model_id, name] == row.value
    ranks = store.read("ranks").to_pandas()
    for row in ranks.sample(20, random_state=0).itertuples():
        assert wide.set_index("model_id").loc[row.model_id, f"udr.lasso.{row.pool}"] == row.udr
    (lost,) = wide[wide["status"] == "diverged"].to_dict("records")
    assert lost["reason"] == "loss is not finite at step 61"
    assert pd.isna(lost["mig"]) and pd.isna(lost["udr.lasso.cell"])
    assert not wide.filter(like="shape").columns.any(), "numbers per factor stay where they are"


def test_csv_has_the_same(wide: pd.DataFrame, store: Store) -> None:
    assert main(["export", store.root, "--to", "study.csv"]) == 0
    same = pd.read_csv("study.csv", keep_default_na=True)
    assert list(same) == list(wide)
    pd.testing.assert_series_equal(same["mig"], wide["mig"])


def test_the_queries_of_the_docs_have_the_same_answers(wide: pd.DataFrame) -> None:
    cells = wide.groupby(["data", "method", "strength"])["mig"].median().sort_values()
    rho = wide["udr.lasso.method"].corr(wide["mig"], method="spearman")
    ranked = wide.dropna(subset=["udr.lasso.method"]).sort_values("udr.lasso.method")
    best = ranked.groupby("data")["model_id"].last().to_dict()

    space: dict[str, Any] = {}
    exec(QUERIES["pandas"].replace('models["udr', 'agreement = models["udr', 1), space)
    assert space["cells"].index[0] == cells.index[-1]
    assert space["agreement"] == pytest.approx(rho)
    assert dict(space["best"].itertuples(index=False)) == best

    first, second, third = (
        duckdb.sql(query).fetchall() for query in QUERIES["sql"].split(";") if query.strip()
    )
    assert first[0][:3] == cells.index[-1] and len(first) == len(cells)
    assert second[0][0] == pytest.approx(rho, abs=0.02)
    assert dict(third) == best


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_query_in_r_runs(wide: pd.DataFrame) -> None:
    done = subprocess.run(["Rscript", "-e", QUERIES["r"]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert wide.groupby("data")["udr.lasso.method"].max().size == 2
    assert all(re.search(name, done.stdout) for name in GRID.data)


@pytest.mark.parametrize(
    ("target", "said"),
    [("x.xlsx", "ends in .parquet or .csv"), ("no/x.csv", "folder does not exist")],
)
def test_a_wrong_target_is_one_line(
    target: str, said: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", store.root, "--to", target]) == 2
    err = capsys.readouterr().err
    assert err.startswith("tolstoy: --to: found") and said in err and err.count("\n") == 1


def test_nothing_is_overwritten(wide: pd.DataFrame, store: Store) -> None:
    assert main(["export", store.root, "--to", "study.parquet"]) == 2
    pd.testing.assert_frame_equal(pd.read_parquet("study.parquet"), wide)
