"""What is read from the store."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from infra.store import Store
from tasks.report.frames import Frames, parts, read_frames
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
