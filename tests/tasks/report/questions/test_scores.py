"""The numbers behind the page, against plain computations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from tasks.report.agreement import ENOUGH, spearman
from tasks.report.papers import beats_random, comparisons, variance_explained
from tasks.report.plan import plan_of
from tasks.report.portraits import MOST_GROUPS, choose
from tasks.report.tables import (
    Column,
    agreements,
    cell_rows,
    columns,
    curve_summary,
    failures,
    per_model,
)

from infra.store import Store
from tasks.report.frames import Frames, read_frames
from tasks.words import duration, number
from tests.tasks.report.conftest import Grid, MakeStore, fill

GRID = Grid(seeds=8, pictures=False)


def frames_of(store: Store, grid: Grid) -> Frames:
    return read_frames(store, plan_of(grid.study()))


def test_spearman_is_scipys(make_store: MakeStore) -> None:
    store = make_store(GRID)
    frames = frames_of(store, GRID)
    shown = columns(frames, plan_of(GRID.study()))
    rows = agreements(per_model(frames), shown, list(GRID.methods))
    assert len(rows) == 2 * 2 * 2  # data sets, pools, metrics
    ranks, scores = store.read("ranks").to_pandas(), store.read("scores").to_pandas()
    scores = scores[(scores.part == "score") & scores.factor.isna()]
    for row in rows:
        metric = row.metric.key.removeprefix("metric ")
        both = ranks[(ranks.data == row.data) & (ranks.pool == row.udr.pool)].merge(
            scores[scores.metric == metric][["model_id", "value"]], on="model_id"
        )
        assert row.overall.n == len(both) == 32
        assert row.overall.rho == pytest.approx(spearmanr(both.udr, both.value).statistic)
        for method, found in zip(GRID.methods, row.per_method, strict=True):
            part = both[both.method == method]
            assert found is not None
            assert found.n == 16
            assert found.rho == pytest.approx(spearmanr(part.udr, part.value).statistic)


def test_spearman_leaves_out_what_is_missing_and_shares_ties() -> None:
    one = pd.Series([1.0, 2.0, 2.0, 3.0, np.nan, 9.0, 4.0])
    other = pd.Series([2.0, 1.0, 5.0, 5.0, 7.0, np.nan, 3.0])
    found = spearman(one, other)
    assert found.n == 5
    kept = [0, 1, 2, 3, 6]
    assert found.rho == pytest.approx(spearmanr(one[kept], other[kept]).statistic)


def test_spearman_refuses_too_few_and_constants() -> None:
    few = pd.Series(range(ENOUGH - 1), dtype=float)
    assert spearman(few, few).rho is None
    assert "too few" in str(spearman(few, few))
    enough = pd.Series(range(ENOUGH), dtype=float)
    assert spearman(enough, enough).rho == pytest.approx(1)
    assert spearman(enough, enough * 0).rho is None


def test_only_headlines_are_scores(make_store: MakeStore) -> None:
    """The helper also writes another part and a factor's own score, of 9 each."""
    frames = frames_of(make_store(GRID), GRID)
    assert len(frames.scores) == 64 * 2
    assert frames.scores["value"].max() <= 1


def test_sources_are_never_mixed(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), seeds=2, pictures=False)
    store = make_store(grid)
    for table in ("models", "scores", "curves", "ranks"):
        for part in store.parts(table):
            rows = store.read(table, keys=[part])
            renamed = [f"x{model_id}" for model_id in rows["model_id"].to_pylist()]
            place = rows.schema.get_field_index("model_id")
            rows = rows.set_column(place, rows.schema.field(place), [renamed])
            store.write_part(table, f"other-{part}", rows)
            store.remove_part(table, part)
    fill(store, replace(grid, sources={"dsprites": "official"}))
    frames = frames_of(store, grid)
    shown = columns(frames, plan_of(grid.study()))
    rows = cell_rows(frames, per_model(frames), shown)
    assert [(row.source, row.trained) for row in rows] == 4 * [("official", 2)] + 4 * [
        ("redrawn", 2)
    ]
    assert sum(summary.best for row in rows for summary in row.scores) == 2 * len(shown)


def test_cells_follow_the_order_of_the_study(make_store: MakeStore) -> None:
    methods = {"factor_vae": (40.0, 10.0), "beta_vae": (16.0, 2.0)}
    grid = Grid(methods=methods, seeds=1, data=("noisy_dsprites", "dsprites"))
    frames = frames_of(make_store(grid), grid)
    rows = cell_rows(frames, per_model(frames), columns(frames, plan_of(grid.study())))
    assert [(row.data, row.method, row.strength) for row in rows[:5]] == [
        ("noisy_dsprites", "factor_vae", 10.0),
        ("noisy_dsprites", "factor_vae", 40.0),
        ("noisy_dsprites", "beta_vae", 2.0),
        ("noisy_dsprites", "beta_vae", 16.0),
        ("dsprites", "factor_vae", 10.0),
    ]


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


def test_where_all_are_equal_none_is_best(make_store: MakeStore) -> None:
    store = make_store(GRID)
    frames = frames_of(store, GRID)
    shown = columns(frames, plan_of(GRID.study()))
    flat = per_model(frames).assign(**{column.key: 0.0 for column in shown})
    rows = cell_rows(frames, flat, shown)
    assert not any(summary.best for row in rows for summary in row.scores)


def test_failures_of_a_cell_with_one_reason_are_one_row(make_store: MakeStore) -> None:
    reasons = {("dsprites", "beta_vae", 1.0, seed): "too hot" for seed in (0, 2)}
    reasons[("dsprites", "beta_vae", 1.0, 3)] = "too cold"
    grid = replace(GRID, diverged=reasons)
    found = failures(frames_of(make_store(grid), grid))
    assert [(row.reason, row.seeds) for row in found] == [("too hot", (0, 2)), ("too cold", (3,))]


def test_curves_are_medians_over_seeds(make_store: MakeStore) -> None:
    store = make_store(GRID)
    summary = curve_summary(frames_of(store, GRID))
    raw = store.read("curves").to_pandas()
    row = summary.sample(1, random_state=1).iloc[0]
    same = raw[
        (raw.data == row.data)
        & (raw.method == row.method)
        & (raw.strength == row.strength)
        & (raw.step == row.step)
    ]
    assert len(same) == 8
    assert row["kl median"] == pytest.approx(same.kl.median())
    assert row["reconstruction min"] == pytest.approx(same.reconstruction.min())
    assert row["reconstruction max"] == pytest.approx(same.reconstruction.max())


def test_long_curves_are_thinned_and_keep_their_ends(make_store: MakeStore) -> None:
    grid = replace(GRID, seeds=1, steps=10_000, logged=500)
    steps = frames_of(make_store(grid), grid).curves["step"]
    assert steps.nunique() == 60
    assert (steps.min(), steps.max()) == (20, 10_000)


def test_with_many_data_sets_and_methods_there_is_a_pair_per_data_set() -> None:
    udr = Column("udr lasso method", "UDR", True, "method")
    wide = pd.DataFrame(
        {
            "data": np.repeat([f"d{i}" for i in range(5)], 6),
            "source": "redrawn",
            "method": 5 * ["a", "a", "b", "b", "c", "c"],
            "model_id": [f"{i:02}" for i in range(30)],
            udr.key: np.tile([0.1, 0.2, 0.6, 0.4, 0.3, np.nan], 5),
        }
    )
    assert wide[["data", "method"]].drop_duplicates().shape[0] > MOST_GROUPS
    found = choose(wide, udr)
    assert [choice.method for choice in found] == 5 * [None]
    assert found[1].models == (("best", "08"), ("worst", "06"))
    fewer = choose(wide[wide["data"] == "d0"], udr)
    assert [choice.method for choice in fewer] == ["a", "b", "c"]
    assert fewer[2].models == (("only", "04"),)


def test_variance_explained_is_that_of_least_squares() -> None:
    draws = np.random.default_rng(3)
    rows = pd.DataFrame({"method": draws.choice(list("abc"), 60), "strength": 1.0})
    rows["score"] = draws.normal(size=60) + rows["method"].map({"a": 0, "b": 1, "c": 3})
    design = (rows["method"].to_numpy()[:, None] == np.array(list("abc"))).astype(float)
    fitted = design @ np.linalg.lstsq(design, rows["score"].to_numpy(), rcond=None)[0]
    left = ((rows["score"] - fitted) ** 2).sum()
    wanted = 1 - left / ((rows["score"] - rows["score"].mean()) ** 2).sum()
    assert 0.2 < wanted < 0.95
    assert variance_explained(rows, "score", ["method"]) == pytest.approx(wanted)
    assert variance_explained(rows, "score", ["strength"]) is None


def test_a_choice_that_always_wins_beats_random_always() -> None:
    clear = np.array([[0.9, 0.91, 0.92], [0.5, 0.51, 0.52], [0.1, 0.11, 0.12]])
    tables = {("x", "mig"): clear, ("y", "mig"): clear, ("x", "sap"): -clear}
    assert beats_random(tables, True, True) == 1.0
    assert beats_random(tables, True, False) == 1.0
    opposite = beats_random(tables, False, True)
    assert opposite == pytest.approx(1 / 3, abs=0.03)  # only a tie with itself
    assert beats_random({("x", "mig"): clear}, False, False) is None


def test_only_the_papers_own_data_stand_beside_the_papers(make_store: MakeStore) -> None:
    grid = Grid(seeds=6, sources={"dsprites": "look-alike"}, pictures=False, curves=False)
    wide = per_model(frames_of(make_store(grid), grid))
    labels = [row[0] for comparison in comparisons(wide) for row in comparison.rows]
    assert any(label.startswith("Color-dSprites") for label in labels)
    assert not any(label.startswith("dSprites") for label in labels)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        (0.12345, "0.123"),
        (-0.00001, "0.000"),
        (-0.5, "−0.500"),
        (12.3456, "12.35"),
        (1234.56, "1,234.6"),
    ],
)
def test_numbers_are_written_for_readers(value: float | None, text: str) -> None:
    assert number(value) == text


def test_durations_have_a_unit_that_fits() -> None:
    assert [duration(s) for s in (5, 120, 7200, 200_000)] == [
        "5 seconds",
        "2.0 minutes",
        "2.0 hours",
        "2.3 days",
    ]
