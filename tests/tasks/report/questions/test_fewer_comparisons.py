"""UDR from fewer comparisons, against plain loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from infra.store import Store
from metrics.udr import aggregate
from models import METHODS
from tasks.report.fewer_curves import (
    COMPARISONS,
    DRAWS,
    Curve,
    averaged,
    curves,
    curves_of_versions,
    version_rows,
)
from tasks.report.page import write_report
from tasks.report.questions import Figures, Table
from tasks.report.questions.fewer_comparisons import answer, fewer_rows
from tasks.report.resampling import fewer, medians, packed, pair_matrix
from tasks.report.results import Column, Results, read_results
from tests.tasks.report.conftest import Grid, MakeStore, fill_pairs
from tests.tasks.report.parsed import checked

GRID = Grid(
    data=("dsprites", "dsprites-more"),
    methods={"beta_vae": (1.0, 4.0), "factor_vae": (4.0, 40.0)},
    seeds=12,
    metrics=("mig", "fairness", "unsupervised"),
    pools=("cell", "method", "data"),
    pictures=False,
    curves=False,
)
MIG = Column("mig", "MIG").id


def compared_models(
    targets: int, partners: int, draws: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    compared = draws.random((targets, partners))
    compared[draws.random(compared.shape) < 0.3] = np.nan
    compared[0] = np.nan
    dead = np.zeros(targets, dtype=bool)
    dead[2] = True
    return compared, dead


@pytest.mark.parametrize(("partners", "asked"), [(20, (1, 5, 10, 20, 45)), (3000, (1, 5, 1000))])
def test_fewer_comparisons_are_medians_over_the_first_in_a_random_order(
    partners: int, asked: tuple[int, ...]
) -> None:
    """Many numbers are needed: numpy partitions few numbers by sorting them."""
    compared, dead = compared_models(9, partners, np.random.default_rng(1))
    medians = fewer(compared, dead, asked, np.random.default_rng(7))
    order = np.random.default_rng(7).random(compared.shape)
    for p, scores in zip(asked, medians, strict=True):
        for model in range(9):
            compared_with = [j for j in range(partners) if not np.isnan(compared[model, j])]
            first = sorted(compared_with, key=lambda j, model=model: order[model, j])[:p]
            wanted = np.median(compared[model, first]) if first else np.nan
            wanted = 0.0 if dead[model] else wanted
            assert scores[model] == pytest.approx(wanted, nan_ok=True, abs=1e-15)


def test_every_partner_is_drawn_equally_often_and_never_twice() -> None:
    compared = np.tile(10.0 ** np.arange(5), (4000, 1))  # of two, the mean tells which
    alive = np.zeros(4000, dtype=bool)
    one, two, all_five = fewer(compared, alive, (1, 2, 5), np.random.default_rng(0))
    values, counts = np.unique(one, return_counts=True)
    assert len(values) == 5 and counts.min() > 680 and counts.max() < 920  # 800, sd 25
    values, counts = np.unique(two, return_counts=True)
    assert len(values) == 10 and counts.min() > 310 and counts.max() < 490  # 400, sd 19
    assert set(all_five) == {100.0}


def stored(make_store: MakeStore, grid: Grid) -> Results:
    store = make_store(grid)
    fill_pairs(store)
    return read_results(store, grid.study())


def plain_udr(store: Store, models: pd.DataFrame, everyone: pd.DataFrame) -> pd.Series[float]:
    """Scores of some models, each against all of `everyone`, as a ranking has them."""
    pairs = store.read("pairs").to_pandas()
    ids = list(everyone["model_id"])
    matrix = pairs.pivot(index="regressor_id", columns="model_id", values="udr")
    matrix = matrix.reindex(index=ids, columns=ids).to_numpy()
    dead = everyone["collapsed"].to_numpy(dtype=bool)
    scores, _ = aggregate(matrix, dead, None, np.random.default_rng(0))
    return pd.Series(scores, ids).loc[list(models["model_id"])]


def test_packed_rows_have_the_same_numbers_and_medians() -> None:
    draws = np.random.default_rng(3)
    compared = np.where(draws.random((6, 40)) < 0.2, draws.random((6, 40)), np.nan)
    compared[4] = np.nan
    narrow, dead = packed(compared), np.arange(6) == 5
    assert narrow.shape == (6, np.isfinite(compared).sum(axis=1).max())
    for row, numbers in zip(compared, narrow, strict=True):
        left = row[np.isfinite(row)]
        assert np.array_equal(numbers[: len(left)], left)
        assert np.isnan(numbers[len(left) :]).all()
    assert np.array_equal(medians(narrow, dead), medians(compared, dead), equal_nan=True)
    assert packed(np.empty((2, 0))).shape == (2, 0)


def test_curves_end_at_the_rankings_own_correlation(make_store: MakeStore) -> None:
    results = stored(make_store, GRID)
    store, wide = results.store, results.models
    wide.loc[wide.index[[3, 40]], "collapsed"] = True
    wide.loc[wide.index[7], MIG] = np.nan
    all_curves = curves(results, "lasso")
    names = {(c.data, c.method, c.ranking.pool, c.metric.name) for c in all_curves}
    assert names == {
        (data, method, pool, metric)
        for data in GRID.data
        for method in GRID.methods
        for pool in GRID.pools
        for metric in ("mig", "fairness")  # total correlation has no direction
    }
    for curve in all_curves:
        of_data = wide[wide["data"] == curve.data]
        rows = of_data[of_data["method"] == curve.method]
        by = {"cell": ["method", "strength"], "method": ["method"], "data": ["data"]}
        pools = [part for _, part in of_data.groupby(by[curve.ranking.pool])]
        udr = pd.concat([plain_udr(store, part, part) for part in pools])
        metric = rows.set_index("model_id")[curve.metric.id].dropna()
        sign = -1 if curve.metric.name == "fairness" else 1
        wanted = sign * spearmanr(udr.loc[metric.index], metric).statistic
        assert curve.with_all == pytest.approx(wanted)
        assert curve.models == len(metric)
        # of 12 in a cell 11 others, of 24 in a method 23, of 48 in a data set 47, or 45 living
        last = {"cell": 10, "method": 20, "data": 40 if curve.data == "dsprites" else 45}
        assert curve.p[-1] == last[curve.ranking.pool]
        assert curve.p == COMPARISONS[: len(curve.p)]


def test_few_comparisons_are_worse_and_less_certain(make_store: MakeStore) -> None:
    results = stored(make_store, replace(GRID, seeds=40))
    for curve in curves(results, "lasso"):
        if curve.metric.name == "mig":
            assert 0 < curve.deviation[-1] < curve.deviation[0]
            assert curve.mean[0] < curve.mean[-1] <= curve.with_all + 0.05


def test_mean_and_deviation_are_over_the_draws(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draws whose correlations with the metric are 1 and -1 by turns."""
    results = stored(make_store, replace(GRID, data=("dsprites",)))
    wide = results.models
    wide[MIG] = np.arange(len(wide), dtype=float)
    times = iter(range(10**6))

    def turned(compared: np.ndarray, dead: np.ndarray, p: Any, draws: Any) -> np.ndarray:
        return np.tile(np.arange(len(dead), dtype=float), (len(p), 1)) * (-1) ** next(times)

    monkeypatch.setattr("tasks.report.fewer_curves.fewer", turned)
    curve = curves(results, "lasso")[0]
    assert DRAWS == 20
    assert curve.mean == pytest.approx([0.0] * len(curve.p), abs=1e-12)
    assert curve.deviation == pytest.approx([(20 / 19) ** 0.5] * len(curve.p))


def test_only_models_of_the_pool_are_compared(make_store: MakeStore) -> None:
    """The paper's all-to-all ranks ten seeds of each strength likewise."""
    results = stored(make_store, GRID)
    store, wide = results.store, results.models
    ranks = results.frames.ranks
    seeds = ranks["model_id"].map(wide.set_index("model_id")["seed"])
    few = replace(results.frames, ranks=ranks[(ranks["pool"] != "method") | (seeds < 4)])
    of_few_models = curves(replace(results, frames=few), "lasso")
    within_method = [c for c in of_few_models if c.ranking.pool == "method"]
    assert {(c.models, c.p) for c in within_method} == {(8, (5,))}
    of_few = wide[(wide["seed"] < 4) & (wide["data"] == "dsprites")]
    rows = of_few[of_few["method"] == "beta_vae"]
    udr = plain_udr(store, rows, rows)
    metric = rows.set_index("model_id")[MIG]
    assert within_method[0].with_all == pytest.approx(
        spearmanr(udr, metric.loc[udr.index]).statistic
    )


def test_another_metric_changes_no_curve(make_store: MakeStore) -> None:
    results = stored(make_store, GRID)
    fewer_metrics = tuple(column for column in results.columns if column.name != "fairness")
    both = curves(results, "lasso")
    alone = curves(replace(results, columns=fewer_metrics), "lasso")
    same = [curve for curve in both if curve.metric.name == "mig"]
    for one, other in zip(same, alone, strict=True):
        assert (one.ranking, one.p) == (other.ranking, other.p)
        assert one.mean == pytest.approx(other.mean, abs=1e-12)
        assert one.deviation == pytest.approx(other.deviation, abs=1e-12)


@pytest.mark.parametrize(
    ("seeds", "pools"),
    [(2, ()), (3, ("data",)), (4, ("method", "data")), (6, ("method", "data")), (7, GRID.pools)],
)
def test_a_curve_needs_more_than_five_partners(
    make_store: MakeStore, seeds: int, pools: tuple[str, ...]
) -> None:
    results = stored(make_store, replace(GRID, seeds=seeds, data=("dsprites",)))
    all_curves = curves(results, "lasso")
    assert {curve.ranking.pool for curve in all_curves} == set(pools)


def test_without_pairs_or_labels_there_is_no_curve(make_store: MakeStore) -> None:
    results = stored(make_store, GRID)
    store, wide = results.store, results.models
    unlabelled = wide.assign(**{metric.id: np.nan for metric in results.metrics})
    assert curves(replace(results, models=unlabelled), "lasso") == []
    assert curves(results, "spearman") == []
    equal = curves(replace(results, models=wide.assign(**{MIG: 0.5})), "lasso")
    assert {curve.metric.name for curve in equal} == {"fairness"}
    for part in store.parts("pairs"):
        store.remove_part("pairs", part)
    assert curves(results, "lasso") == []


def test_pairs_of_other_similarities_and_unknown_models_are_not_taken(
    make_store: MakeStore,
) -> None:
    results = stored(make_store, GRID)
    store, wide = results.store, results.models
    (part,) = (part for part in store.parts("pairs") if "more" not in part)
    other = store.read("pairs", keys=[part]).to_pandas().assign(similarity="spearman", udr=-1.0)
    models = wide[wide["data"] == "dsprites"].iloc[3:]  # "dsprites-" begins both names
    matrix = pair_matrix(store, models, "lasso")
    pairs = store.read("pairs").to_pandas().set_index(["regressor_id", "model_id"])["udr"]
    store.write_part("pairs", f"spearman{part.removeprefix('lasso')}", dict(other.items()))
    assert np.array_equal(pair_matrix(store, models, "lasso"), matrix, equal_nan=True)
    assert (np.nan_to_num(pair_matrix(store, models, "spearman"), nan=-1) == -1).all()
    ids = list(models["model_id"])
    for i, one in enumerate(ids):
        for j, other in enumerate(ids):
            wanted = np.nan if i == j else pairs[one, other]
            assert matrix[i, j] == pytest.approx(wanted, nan_ok=True)


def curve(**other: Any) -> Curve:
    cell = Column("lasso", "UDR, same strength", "cell")
    metric = Column("beta_vae", "BetaVAE score")
    facts: dict[str, Any] = {"data": "dsprites", "source": "redrawn", "method": "beta_vae"}
    facts |= {"ranking": cell, "metric": metric, "models": 9, "with_all": 0.8}
    facts |= {"p": (5, 10), "mean": (0.4, 0.6), "deviation": (0.1, 0.05)}
    return Curve(**(facts | other))


def test_rows_are_means_of_the_curves_that_reach_so_far() -> None:
    longer = {"p": (5,), "mean": (0.2,), "deviation": (0.3,), "with_all": 0.4}
    row = averaged([curve(), curve(data="cars3d", **longer)], "both")
    assert row is not None and row.curves == 2
    assert row.cells[0] == (pytest.approx(0.3), pytest.approx(0.2))
    assert row.cells[1] == (pytest.approx(0.6), pytest.approx(0.05))
    assert row.cells[2:] == (None,) * 7
    assert row.with_all == pytest.approx(0.6)
    assert averaged([], "nothing") is None


def test_the_papers_row_stands_below_the_same_case_only() -> None:
    method = Column("lasso", "UDR, all strengths", "method")
    same, *others = curve(), curve(data="cars3d"), curve(method="dip_vae_i"), curve(ranking=method)
    titles = [row.title for row in fewer_rows([same, *others], True)]
    assert titles[1] == "The same in the paper" and len(titles) == 4
    ours, papers = fewer_rows([same, *others], True)[:2]
    assert ours.cells[0] == (pytest.approx(0.4), pytest.approx(0.1))
    assert papers.cells[0] == (0.51, 0.07) and papers.cells[-1] == (0.61, 0.01)
    for curve_list, beside in (([same, *others], False), (others, True)):
        assert "The same in the paper" not in [row.title for row in fewer_rows(curve_list, beside)]


def as_similarity(store: Store, name: str, noise: float) -> None:
    """Pairs and ranks of a second similarity: those of the first with noise added."""
    draws = np.random.default_rng(3)
    for part in (part for part in store.parts("pairs") if part.startswith("lasso~")):
        rows = store.read("pairs", keys=[part]).to_pydict()
        udr = (np.array(rows["udr"]) + draws.normal(0, noise, len(rows["udr"]))).tolist()
        other = {**rows, "udr": udr, "udr_eq2": udr, "similarity": [name] * len(udr)}
        store.write_part("pairs", part.replace("lasso~", f"{name}~"), other)
    for part in ("dsprites-beta_vae", "dsprites-factor_vae"):
        rows = store.read("ranks", keys=[part]).to_pydict()
        store.write_part("ranks", f"{part}-{name}", {**rows, "similarity": [name] * len(rows["p"])})


def test_every_version_has_a_row_a_line_and_its_published_numbers(make_store: MakeStore) -> None:
    """The same pairs with much noise added are a worse version of UDR."""
    grid = replace(
        GRID, data=("dsprites",), steps=300_000, metrics=("beta_vae", "mig"), pools=("cell",)
    )
    store = make_store(grid)
    fill_pairs(store)
    as_similarity(store, "lasso_cv", 0.0)
    as_similarity(store, "spearman", 3.0)
    results = read_results(store, grid.study())
    every = curves_of_versions(results)
    assert {c.ranking.name for c in every} == {"lasso", "lasso_cv", "spearman"}
    rows = {row.ranking: row for row in version_rows(every, results.metrics)}
    same, cv, worse = (rows[ranking.title] for ranking in results.rankings)
    assert same.curves == cv.curves == worse.curves == 4, "two methods, two scores"
    assert cv.with_all == pytest.approx(same.with_all), "the same pairs"
    assert worse.with_all < same.with_all - 0.2
    answered = answer(results)
    tables = [content for content in answered.content if isinstance(content, Table)]
    assert [row.cells[1].text for row in tables[0].rows] == [r.title for r in results.rankings]
    figures = [content for content in answered.content if isinstance(content, Figures)]
    data = figures[0].groups[0].figures[0].data
    assert list(data["ranking"].unique()) == [ranking.title for ranking in results.rankings]
    shown = data[(data["ranking"] == worse.ranking) & (data["p"] == 5)].iloc[0]
    assert (shown["mean"], shown["deviation"]) == worse.cells[0]
    papers = [row for row in answered.published if "P = 5" in row.what and row.what[-5:] == "P = 5"]
    assert [row.what.split(" with ")[0] for row in papers] == [same.ranking, cv.ranking]


def test_the_papers_case_is_of_its_strengths_where_all_are_there(make_store: MakeStore) -> None:
    strengths = METHODS["beta_vae"].strengths
    grid = replace(
        GRID,
        data=("dsprites",),
        methods={"beta_vae": (*strengths, 50.0)},
        seeds=7,
        metrics=("beta_vae",),
        pools=("cell",),
    )
    store = make_store(grid)
    fill_pairs(store)
    results = read_results(store, grid.study())
    of_paper = results.models[results.models["strength"].isin(strengths)]
    (ours, *_), (expected, *_) = (
        answer(each).published for each in (results, replace(results, models=of_paper))
    )
    assert ours.ours == expected.ours and ours.n == expected.n == 42


@pytest.mark.parametrize(
    ("similarity", "name", "paper"),
    [
        ("centrality", "ModelCentrality", "Lin et al. 2020. InfoGAN-CR and ModelCentrality"),
        ("cka", "CKA", "Kornblith et al. 2019. Similarity of neural network representations"),
        ("cca", "CCA", "Raghu et al. 2017. SVCCA"),
    ],
)
def test_centrality_is_a_ranking_but_no_version_of_udr(
    similarity: str, name: str, paper: str, make_store: MakeStore
) -> None:
    grid = replace(GRID, data=("dsprites",), metrics=("mig",), pools=("cell",))
    store = make_store(grid)
    fill_pairs(store)
    as_similarity(store, similarity, 0.0)
    results = read_results(store, grid.study())
    titles = [ranking.title for ranking in results.rankings]
    assert titles == ["UDR, same strength", f"{name}, same strength"]
    assert results.udr == results.rankings[0] and results.udr_versions == results.rankings[:1]
    assert {curve.ranking.name for curve in curves_of_versions(results)} == {"lasso"}
    as_similarity(store, "spearman", 0.0)
    titles = [ranking.title for ranking in read_results(store, grid.study()).rankings]
    assert titles == [
        "UDR, same strength (lasso)",
        "UDR, same strength (spearman)",
        f"{name}, same strength",
    ]
    page = checked(write_report(store, grid.study()))
    assert paper in page.everything_readable
