"""Factors by how well they are found, and by how many latents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from infra.store import Store
from tasks.report.questions import Sentence, Table
from tasks.report.questions.factors import FOUND, MEASURES, answer, factor_values, medians
from tasks.report.results import read_results
from tests.tasks.report.conftest import FACTORS, LATENTS, Grid, MakeStore

GRID = Grid(data=("dsprites",), seeds=5, metrics=("mig", "dci"), curves=False, pictures=False)


def plant(store: Store, part: str, values: dict[str, float]) -> None:
    """The same value of DCI's part per factor in all models."""
    for key in store.parts("scores"):
        rows = store.read("scores", keys=[key]).to_pylist()
        for row in rows:
            if (row["metric"], row["part"]) == ("dci", part) and row["factor"]:
                row["value"] = values[row["factor"]]
        store.write_part("scores", key, {name: [row[name] for row in rows] for name in rows[0]})


def test_values_are_medians_over_models(make_store: MakeStore) -> None:
    store = make_store(GRID)
    scores = store.read("scores").to_pandas()
    gaps = scores[(scores.metric == "mig") & (scores.part == "gap")]
    table = medians(factor_values(read_results(store, GRID.study())))
    measure = next(place for place, each in enumerate(MEASURES) if each.metric == "mig")
    assert set(table.index) == set(FACTORS)
    for factor in FACTORS:
        wanted = np.median(gaps[gaps.factor == factor]["value"])
        assert table.loc[factor, measure] == pytest.approx(wanted)
    assert [MEASURES[place].metric for place in table.columns] == ["dci", "mig", "dci"]


@pytest.mark.parametrize("latents", [1, 2, 4, LATENTS])
def test_equal_importances_count_as_that_many_latents(make_store: MakeStore, latents: int) -> None:
    store = make_store(GRID)
    complete = 1 - np.log(latents) / np.log(LATENTS)
    plant(store, "completeness", dict.fromkeys(FACTORS, complete))
    table = medians(factor_values(read_results(store, GRID.study())))
    (spread,) = (place for place in table.columns if place >= len(FOUND))
    assert table[spread].tolist() == pytest.approx([latents] * 3)


def test_the_sentence_names_the_best_and_the_most_spread_factor(make_store: MakeStore) -> None:
    store = make_store(GRID)
    plant(store, "informativeness_test", {"shape": 0.5, "scale": 0.25, "x": 0.95})
    plant(store, "completeness", {"shape": 0.0, "scale": 0.5, "x": 1.0})
    content = answer(read_results(store, GRID.study())).content
    (finding,) = (c for c in content if isinstance(c, Sentence) and c.kind == "finding")
    assert finding.text == (
        "<b>dSprites</b>, accuracy of trees: x 0.95 is found best; then shape 0.50, scale 0.25. "
        "The fewest latents hold x, 1.0; the most hold shape, 10.0."
    )
    tables = [c for c in content if isinstance(c, Table)]
    assert [row.cells[0].text for row in tables[0].rows] == ["x", "shape", "scale"]
    assert [len(table.rows) for table in tables] == [3, 4, 4], "three factors; four cells, twice"


def test_without_scores_per_factor_it_says_which_metrics_have_some(make_store: MakeStore) -> None:
    grid = replace(GRID, metrics=("factor_vae",))
    result = answer(read_results(make_store(grid), grid.study()))
    assert result.is_missing
    assert "MIG, SAP" in result.content[0].text


def test_own_data_may_have_any_factors(make_store: MakeStore) -> None:
    store = make_store(GRID)
    for key in store.parts("scores"):
        rows: pd.DataFrame = store.read("scores", keys=[key]).to_pandas()
        names = rows["factor"].map({"shape": "<b>", "scale": "1", "x": "x"}, na_action="ignore")
        columns = {name: rows[name].tolist() for name in rows}
        factors = [name if isinstance(name, str) else None for name in names]
        store.write_part("scores", key, columns | {"factor": factors})
    text = str(answer(read_results(store, GRID.study())).content[1].text)
    assert "&lt;b&gt;" in text and "<b> 0" not in text
