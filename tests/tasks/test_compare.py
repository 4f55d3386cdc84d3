from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from infra.store import Store
from tasks.compare import compare_models
from tasks.outcome import write_outcome
from tasks.settings import ComparisonOrder, Model, Udr

POINTS, LATENTS = 80, 3
FIRST = Model(
    *("dsprites", "redrawn", "beta_vae", 4.0, 0, "paper", LATENTS, 50, 4),
    *(1e-3, 0.9, 0.999, 1e-8, "float32"),
)
MODELS = [replace(FIRST, strength=s, seed=seed) for s in (4.0, 16.0) for seed in (0, 1)]
KL = (1.5, 0.2, 0.005)  # the last is below the threshold
GROUP = "dsprites-beta_vae"


def order(store: Store, **settings) -> ComparisonOrder:
    return ComparisonOrder(store.uri, Udr(**settings))


def codes_of(model: Model) -> np.ndarray:
    """Mixtures of three signals, other ones for every model."""
    signals = np.random.default_rng(0).normal(size=(POINTS, LATENTS))
    mine = np.random.default_rng(int(model.strength) * 10 + model.seed)
    mixed = signals @ mine.normal(size=(LATENTS, LATENTS)) + 0.1 * mine.normal(size=signals.shape)
    return mixed.astype(np.float32)


def put(store: Store, model: Model, kl=KL, status="trained") -> None:
    if status == "trained":
        codes = codes_of(model).tolist()
        store.write_part(
            "representations",
            model.id,
            {**model.keys, "row": np.arange(POINTS), "mean": codes, "logvar": codes},
        )
    write_outcome(model, store, status, kl_per_latent=[list(kl) if status == "trained" else []])


@pytest.fixture
def store(tmp_path) -> Store:
    store = Store(tmp_path)
    for model in MODELS:
        put(store, model)
    return store


def pairs(store: Store, column: str = "udr") -> dict[tuple[str, str], float]:
    rows = store.read("pairs").to_pylist()
    found = {(row["regressor_id"], row["model_id"]): row[column] for row in rows}
    assert len(found) == len(rows)
    return found


def ranks(store: Store, pool: str) -> dict[str, dict[str, object]]:
    rows = [row for row in store.read("ranks").to_pylist() if row["pool"] == pool]
    found = {row["model_id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def by_hand(regressor: Model, target: Model) -> tuple[float, float]:
    """Both formulas from a lasso of scikit-learn over the informative latents."""
    x, y = (codes_of(model)[:, :2].astype(float) for model in (regressor, target))
    x, y = ((v - v.mean(0)) / v.std(0) for v in (x, y))
    matrix = np.array([np.abs(Lasso(alpha=0.1, tol=1e-10).fit(x, t).coef_) for t in y.T]).T
    rows = [max(row) ** 2 / sum(row) if sum(row) else 0.0 for row in matrix]
    columns = [max(column) ** 2 / sum(column) if sum(column) else 0.0 for column in matrix.T]
    return (sum(rows) / 2 + sum(columns) / 2) / 2, (sum(rows) + sum(columns)) / 4


def test_pairs_are_the_lasso_of_every_ordered_pair(store):
    assert compare_models(GROUP, MODELS, order(store)) == "compared"
    found, eq2 = pairs(store), pairs(store, "udr_eq2")
    assert len(found) == 4 * 3
    for regressor in MODELS:
        for target in MODELS:
            if regressor is not target:
                udr, other = by_hand(regressor, target)
                place = (regressor.id, target.id)
                assert found[place] == pytest.approx(udr, abs=1e-4)
                assert eq2[place] == pytest.approx(other, abs=1e-4)
    one, other = MODELS[0].id, MODELS[1].id
    assert abs(found[one, other] - found[other, one]) > 1e-4  # or direction is not tested


def test_keys_are_the_targets(store):
    compare_models(GROUP, MODELS, order(store))
    by_id = {model.id: model for model in MODELS}
    for row in store.read("pairs").to_pylist() + store.read("ranks").to_pylist():
        keys = by_id[row["model_id"]].keys
        assert {name: row[name] for name in keys} == keys
        assert row["similarity"] == "lasso"


@pytest.mark.parametrize(("pool", "others"), [("cell", 1), ("method", 3)])
def test_ranks_are_medians_over_the_pool(pool, others, store):
    compare_models(GROUP, MODELS, order(store))
    for column in ("udr", "udr_eq2"):
        found = pairs(store, column)
        for model in MODELS:
            peers = [
                peer
                for peer in MODELS
                if peer is not model and (pool == "method" or peer.cell == model.cell)
            ]
            row = ranks(store, pool)[model.id]
            assert row[column] == pytest.approx(median(found[m.id, model.id] for m in peers))
            assert row["comparisons"] == len(peers) == others
            assert (row["informative"], row["collapsed"], row["p"]) == (2, False, 0)


def test_only_the_pools_asked_for(store):
    compare_models(GROUP, MODELS, order(store, pools=("cell",)))
    assert set(store.read("ranks")["pool"].to_pylist()) == {"cell"}


def test_the_threshold_decides_what_is_informative(store):
    compare_models(GROUP, MODELS, order(store, kl_threshold=0.001))
    assert {row["informative"] for row in ranks(store, "cell").values()} == {3}


def test_fewer_comparisons_are_a_draw_of_them(store):
    compare_models(GROUP, MODELS, order(store, p=1))
    found = pairs(store)
    for model_id, row in ranks(store, "method").items():
        assert (row["p"], row["comparisons"]) == (1, 1)
        assert row["udr"] in [v for (_, target), v in found.items() if target == model_id]


@pytest.mark.parametrize("p", [None, 2])
def test_the_order_of_the_models_does_not_matter(p, store, tmp_path):
    other = Store(tmp_path / "other")
    for model in reversed(MODELS):
        put(other, model)
    compare_models(GROUP, MODELS, order(store, p=p))
    compare_models(GROUP, [MODELS[i] for i in (2, 0, 3, 1)], order(other, p=p))
    for table in ("pairs", "ranks"):
        assert store.read(table).equals(other.read(table))


def test_what_is_unchanged_is_not_compared_again(store):
    compare_models(GROUP, MODELS, order(store))
    before = store.listing("tables", "ranks"), store.read("ranks")
    assert compare_models(GROUP, MODELS[::-1], order(store)) == "done"
    assert store.listing("tables", "ranks") == before[0]
    assert compare_models(GROUP, MODELS, order(store, kl_threshold=0.5)) == "compared"
    assert not store.read("ranks").equals(before[1])


def test_an_added_model_is_compared_with_all(store):
    compare_models(GROUP, MODELS, order(store))
    older = pairs(store)
    added = replace(FIRST, seed=7)
    put(store, added)
    assert compare_models(GROUP, [*MODELS, added], order(store)) == "compared"
    newer = pairs(store)
    assert len(newer) == 5 * 4 and {place: newer[place] for place in older} == older
    assert ranks(store, "cell")[added.id]["comparisons"] == 2


@pytest.mark.parametrize("table", ["pairs", "ranks"])
def test_a_lost_part_is_made_again(table, store):
    compare_models(GROUP, MODELS, order(store))
    before = store.read(table)
    store.remove_part(table, GROUP)
    assert compare_models(GROUP, MODELS, order(store)) == "compared"
    assert store.read(table).equals(before)


def test_models_that_did_not_train_are_left_out(store):
    wild, unknown = replace(FIRST, seed=8), replace(FIRST, seed=9)
    put(store, wild, status="diverged")
    compare_models(GROUP, [*MODELS, wild, unknown], order(store))
    assert ranks(store, "cell").keys() == {model.id for model in MODELS}
    assert compare_models("nobody", [wild, unknown], order(store)) == "done"
    assert store.parts("ranks") == [GROUP]


def test_a_collapsed_model_scores_zero_and_lowers_nobody(store):
    compare_models(GROUP, MODELS, order(store))
    before = ranks(store, "method")
    collapsed = replace(FIRST, seed=5)
    put(store, collapsed, kl=(0.001, 0.0, 0.01))
    compare_models(GROUP, [*MODELS, collapsed], order(store))
    after = ranks(store, "method")
    row = after.pop(collapsed.id)
    assert (row["udr"], row["collapsed"], row["informative"]) == (0.0, True, 0)
    assert after == before


def test_a_lone_model_has_no_rank(store):
    alone = replace(FIRST, strength=1.0)
    put(store, alone)
    compare_models(GROUP, [*MODELS, alone], order(store))
    row = ranks(store, "cell")[alone.id]
    assert (row["udr"], row["udr_eq2"], row["comparisons"]) == (None, None, 0)
    assert ranks(store, "method")[alone.id]["comparisons"] == 4


def test_merged_cells_are_read_too(store):
    compare_models("before", MODELS, order(store))
    store.merge("models", MODELS[0].cell, [model.id for model in MODELS[:2]])
    assert not store.has_part("models", MODELS[0].id)
    compare_models("after", MODELS, order(store))
    for table in ("pairs", "ranks"):
        before, after = (store.read(table, keys=[name]) for name in ("before", "after"))
        assert before.equals(after)


def test_a_lost_representation_is_named(store):
    store.remove_part("representations", MODELS[1].id)
    with pytest.raises(LookupError, match=MODELS[1].id):
        compare_models(GROUP, MODELS, order(store))
    assert store.parts("pairs") == store.parts("ranks") == []
