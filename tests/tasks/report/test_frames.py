"""What is read from the store."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pyarrow.parquet as pq
import pytest

from infra.store import Store
from infra.tables import AXES
from tasks.report.frames import CELL, Frames, parts, read_frames
from tasks.report.results import read_results
from tasks.study.survey import survey
from tests.tasks.report.conftest import Grid, MakeStore

GRID = Grid(seeds=8, pictures=False)


def frames_of(store: Store, grid: Grid) -> Frames:
    return read_frames(store, grid.study())


def test_only_headlines_are_scores(make_store: MakeStore) -> None:
    """The helper also writes another part and a factor's own score, of 9 each."""
    frames = frames_of(make_store(GRID), GRID)
    assert len(frames.scores) == 64 * 2
    assert frames.scores["value"].max() <= 1


def test_the_ranking_of_all_comparisons_is_taken(make_store: MakeStore) -> None:
    store = make_store(GRID)
    for part in store.parts("ranks"):
        rows = store.read("ranks", keys=[part]).to_pandas()
        fewer = rows.assign(p=5, udr=-1.0)
        both = pd.concat([rows, fewer], ignore_index=True)
        store.write_part("ranks", part, {name: both[name].tolist() for name in both})
    frames = frames_of(store, GRID)
    assert len(frames.ranks) == 64 * 2
    assert frames.ranks["udr"].min() >= 0


def test_long_curves_are_thinned_and_keep_their_ends(make_store: MakeStore) -> None:
    grid = replace(GRID, seeds=1, steps=10_000, logged=500)
    steps = frames_of(make_store(grid), grid).curves["step"]
    assert steps.nunique() == 60
    assert (steps.min(), steps.max()) == (20, 10_000)


def test_any_part_of_a_metric_can_be_read(make_store: MakeStore) -> None:
    grid = replace(GRID, metrics=("mig", "dci"))
    store = make_store(grid)
    accuracy = ("dci", "informativeness_test")
    for part in store.parts("scores"):
        rows = store.read("scores", keys=[part]).to_pylist()
        accuracies = [row for row in rows if (row["metric"], row["part"]) == accuracy]
        for row in accuracies[: len(accuracies) // 2]:
            row["value"] = None
        store.write_part("scores", part, {name: [row[name] for row in rows] for name in rows[0]})
    frames = frames_of(store, grid)
    models = frames.trained
    wanted = [accuracy, ("dci", "score"), ("dci", "no such part")]
    values_of = parts(frames, models, wanted)
    scores = store.read("scores").to_pandas()
    scores = scores[(scores.metric == "dci") & scores.factor.isna()]
    for key in wanted:
        of_part = scores[scores.part == key[1]].set_index("model_id")["value"]
        pd.testing.assert_series_equal(
            values_of[key],
            of_part.reindex(models["model_id"]).set_axis(models.index),
            check_names=False,
        )
    assert values_of[accuracy].notna().sum() == len(models) // 2
    assert values_of["dci", "no such part"].isna().all()


@pytest.mark.parametrize("axes", [("latents",), tuple(AXES)])
def test_stores_of_older_versions_have_the_studys_own_values(
    make_store: MakeStore, axes: tuple[str, ...]
) -> None:
    """Their parts lack the columns of axes."""
    grid = replace(GRID, seeds=2, latents=6)
    store = make_store(grid)
    for table in ("models", "scores", "ranks", "curves"):
        for part in store.parts(table):
            rows = store.read(table, keys=[part]).drop_columns(list(axes))
            pq.write_table(rows, store.path("tables", table, f"{part}.parquet"))
    frames = frames_of(store, grid)
    assert len(frames.trained) == 16 and len(frames.scores) == 32 and len(frames.ranks) == 32
    assert set(frames.models["latents"]) == {6}
    assert set(frames.models["architecture"]) == {"paper"}
    assert set(frames.models["method"]) == {"beta_vae", "factor_vae"}
    states = survey(grid.study(), store)
    assert next(state.cell.name for state in states) == "dsprites-beta_vae-1"


def test_a_method_at_each_number_of_latents_is_a_sweep_of_its_own(make_store: MakeStore) -> None:
    grid = replace(GRID, seeds=2, latents=(4, 10), data=("dsprites",))
    results = read_results(make_store(grid), grid.study())
    models = results.models
    assert list(dict.fromkeys(models["method"])) == [
        *("beta_vae-latents_4", "beta_vae-latents_10"),
        *("factor_vae-latents_4", "factor_vae-latents_10"),
    ]
    assert (models["method"].str.endswith("_4") == (models["latents"] == 4)).all()
    assert len(models.groupby(CELL)) == 8 and set(models.groupby(CELL).size()) == {2}
    assert len(set(results.styles.values())) == 4 and list(results.styles) == list(
        grid.study().sweeps
    )
