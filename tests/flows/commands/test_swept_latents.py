"""Commands on a store whose study sweeps the number of latents; its merged parts have the values in
their names."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pytest

from flows.cli import main
from flows.commands.report import median_rows
from infra.store import Store
from tasks.report.coverage import Counts
from tasks.report.fewer_curves import curves
from tasks.report.header import header
from tasks.report.results import read_results
from tasks.study.measurements import network
from tasks.study.survey import survey
from tests.tasks.report.conftest import Grid, fill, fill_pairs

GRID = Grid(
    data=("dsprites",), methods={"beta_vae": (1.0, 4.0)}, seeds=8, latents=(4, 10), pictures=False
)
STUDY = GRID.study()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(Path(tmp_path_factory.mktemp("swept")))
    fill(store, GRID)
    fill_pairs(store)
    store.write_json(STUDY.model_dump(mode="json"), "study.json")
    return store


def test_show_finds_the_scores_of_a_cells_merged_part(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = store.read("models").to_pylist()
    chosen = next(row for row in rows if row["latents"] == 4)
    arguments = ["show", chosen["model_id"], "--store", str(store), "--out", str(tmp_path)]
    assert main([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["latents"] == 4 and set(facts["scores"]) == set(GRID.metrics)
    assert main(arguments) == 0
    assert "strength 1, architecture paper, 4 latents, seed 0" in capsys.readouterr().out


def test_medians_are_of_the_cells_own_models(store: Store) -> None:
    states = survey(STUDY, store)
    names, lines = median_rows(STUDY, store, states)
    place = names.index("mig")
    scores = [
        row
        for row in store.read("scores").to_pylist()
        if (row["metric"], row["part"], row["factor"]) == ("mig", "score", None)
    ]
    for state, line in zip(states, lines, strict=True):
        model = state.cell.models[0]
        values = [
            row["value"]
            for row in scores
            if (row["strength"], row["latents"]) == (model.strength, model.latents)
        ]
        assert len(values) == 8 and line[place] == f"{median(values):.3f}", line


def test_the_pool_of_a_method_has_all_numbers_of_latents(store: Store) -> None:
    """Curves over fewer comparisons draw partners from the pool that a ranking compares with."""
    found = curves(read_results(store, STUDY), "lasso")
    partners = {curve.ranking.pool: max(curve.p) for curve in found}
    assert partners == {"cell": 5, "method": 30}, "7 others of the cell, 31 of the method"


def test_a_plan_measures_the_largest_network() -> None:
    assert network(STUDY) == {"architecture": "paper", "latents": 10}


def test_no_model_of_a_finished_sweep_is_counted_as_waiting(store: Store) -> None:
    results = read_results(store, STUDY)
    assert set(Counts(results).status) == {"trained"}
    grown = STUDY.model_copy(update={"latents": (4, 10, 16)})
    status = list(Counts(read_results(store, grown)).status)
    assert status.count("waiting") == 16, "two strengths with eight seeds"


def test_the_head_of_a_report_counts_the_whole_grid(store: Store) -> None:
    grown = STUDY.model_copy(update={"latents": (4, 10, 16)})
    head = header(grown, read_results(store, grown).frames)
    assert (head.all, head.waiting) == (48, 16)
    assert ("Latents", "4, 10, 16") in head.facts
