"""Pairs and rankings of a small store against scikit-learn, and what is computed when."""

import itertools
from collections import Counter
from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from infra.store import Store
from metrics import SIMILARITIES
from metrics.udr import pairwise, similarity_matrix
from tasks import compare
from tasks.compare import compare_here, compare_tile, kl_of_trained
from tasks.model_row import write_row
from tasks.rank import rank_models, rankings
from tasks.study.model import Model
from tasks.study.pair_parts import missing_parts, tiles
from tasks.study.reading import parse_study
from tasks.study.spec import Study, Udr
from tests.tasks.made_models import SMALL

POINTS, LATENTS = 80, 3
FIRST = SMALL
MODELS = [
    replace(FIRST, method=method, strength=s, seed=seed)
    for method, s in (("beta_vae", 4.0), ("beta_vae", 16.0), ("factor_vae", 4.0))
    for seed in (0, 1)
]
KL = (1.5, 0.2, 0.005)  # the last is below the threshold
GROUP = "dsprites"
ALL = {"pools": ("cell", "method", "data")}


def study(udr: Udr) -> Study:
    spec = {"name": "test", "data": ["dsprites"], "methods": {"beta_vae": [4]}}
    return parse_study(spec).model_copy(update={"udr": udr})


def compare_models(store: Store, models: list[Model], most: int = 400, **settings) -> list[str]:
    """What a run does with the trained models of a data set; returns the missing parts."""
    udr = Udr(**{**ALL, **settings})
    known = kl_of_trained(store, models)
    trained = [model for model in models if model.id in known]
    missing = missing_parts(store, trained, udr)
    for tile in tiles(missing, most):
        cells = tuple({part.cells for part in tile})
        inside = [model for model in trained if any(model.cell in pair for pair in cells)]
        assert compare_tile(store, study(udr), inside, cells) == []
    if trained:
        rank_models(store, study(udr), GROUP, trained)
    return [part.name for part in missing]


def codes_of(model: Model) -> np.ndarray:
    """Mixtures of three signals, other ones for every model."""
    signals = np.random.default_rng(0).normal(size=(POINTS, LATENTS))
    mine = np.random.default_rng([len(model.method), int(model.strength), model.seed])
    mixed = signals @ mine.normal(size=(LATENTS, LATENTS)) + 0.1 * mine.normal(size=signals.shape)
    return mixed.astype(np.float32)


def put(store: Store, model: Model, kl=KL, status="trained", codes=None) -> None:
    if status == "trained":
        rows = (codes_of(model) if codes is None else codes).tolist()
        store.write_part(
            "representations",
            model.id,
            {**model.keys, "row": np.arange(POINTS), "mean": rows, "logvar": rows, "factors": None},
        )
    write_row(model, store, status, kl_per_latent=[list(kl) if status == "trained" else []])


@pytest.fixture
def store(tmp_path) -> Store:
    store = Store(tmp_path / "store")
    for model in MODELS:
        put(store, model)
    return store


def pairs(store: Store, column: str = "udr") -> dict[tuple[str, str], float]:
    rows = store.read("pairs").to_pylist()
    scores = {(row["regressor_id"], row["model_id"]): row[column] for row in rows}
    assert len(scores) == len(rows)
    return scores


def ranks(store: Store, pool: str) -> dict[str, dict[str, object]]:
    rows = [row for row in store.read("ranks").to_pylist() if row["pool"] == pool]
    by_model = {row["model_id"]: row for row in rows}
    assert len(by_model) == len(rows)
    return by_model


def times(store: Store) -> dict[str, int]:
    return dict(store.listing("tables", "pairs"))


def peers_of(model: Model, pool: str, models=MODELS) -> list[Model]:
    same = {"cell": lambda m: m.cell, "method": lambda m: m.method, "data": lambda m: m.data}[pool]
    return [peer for peer in models if peer is not model and same(peer) == same(model)]


def by_hand(regressor: Model, target: Model) -> tuple[float, float]:
    """Both formulas from a lasso of scikit-learn over the informative latents."""
    return of_codes(*(codes_of(model)[:, :2] for model in (regressor, target)))


def of_codes(regressor: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    x, y = (codes.astype(float) for codes in (regressor, target))
    x, y = ((v - v.mean(0)) / v.std(0) for v in (x, y))
    matrix = np.array([np.abs(Lasso(alpha=0.1, tol=1e-10).fit(x, t).coef_) for t in y.T]).T
    rows = [max(row) ** 2 / sum(row) if sum(row) else 0.0 for row in matrix]
    columns = [max(column) ** 2 / sum(column) if sum(column) else 0.0 for column in matrix.T]
    udr = (sum(rows) / len(rows) + sum(columns) / len(columns)) / 2
    return udr, (sum(rows) + sum(columns)) / (len(rows) + len(columns))


def test_models_of_other_numbers_of_latents_are_compared_as_they_are(tmp_path):
    """Each informative latent of one predicts, or is predicted by, those of the other."""
    store, axes = Store(tmp_path / "store"), ("latents",)
    narrow = [replace(FIRST, seed=seed, axes=axes) for seed in (0, 1)]
    wide = [replace(FIRST, seed=seed, latents=5, axes=axes) for seed in (0, 1)]
    codes = {}
    for place, model in enumerate([*narrow, *wide]):
        own = np.random.default_rng(place).normal(size=(LATENTS, model.latents))
        noise = 0.1 * np.random.default_rng([9, place]).normal(size=(POINTS, model.latents))
        codes[model.id] = (codes_of(FIRST) @ own + noise).astype(np.float32)
        kl = (*KL[:2], *(0.3,) * (model.latents - LATENTS), KL[2])
        put(store, model, kl=kl, codes=codes[model.id])
    compare_models(store, [*narrow, *wide], pools=("cell", "method"))
    udr_of, eq2 = pairs(store), pairs(store, "udr_eq2")
    for regressor, target in itertools.permutations([*narrow, *wide], 2):
        # a model's last latent is uninformative, whatever their number
        both = (codes[model.id][:, :-1] for model in (regressor, target))
        udr, other = of_codes(*both)
        assert udr_of[regressor.id, target.id] == pytest.approx(udr, abs=1e-5)
        assert eq2[regressor.id, target.id] == pytest.approx(other, abs=1e-5)
    of_method, of_cell = ranks(store, "method"), ranks(store, "cell")
    assert {row["comparisons"] for row in of_method.values()} == {3}
    assert {row["comparisons"] for row in of_cell.values()} == {1}
    assert [of_method[model.id]["latents"] for model in (*narrow, *wide)] == [3, 3, 5, 5]
    assert [of_method[model.id]["informative"] for model in (*narrow, *wide)] == [2, 2, 4, 4]


def test_pairs_are_the_lasso_of_every_ordered_pair(store):
    compare_models(store, MODELS)
    udr_of, eq2 = pairs(store), pairs(store, "udr_eq2")
    assert udr_of.keys() == {(a.id, b.id) for a, b in itertools.permutations(MODELS, 2)}
    for regressor, target in itertools.permutations(MODELS, 2):
        udr, other = by_hand(regressor, target)
        place = (regressor.id, target.id)
        assert udr_of[place] == pytest.approx(udr, abs=1e-4)
        assert eq2[place] == pytest.approx(other, abs=1e-4)
    gaps = [
        abs(udr_of[a.id, b.id] - udr_of[b.id, a.id]) for a, b in itertools.combinations(MODELS, 2)
    ]
    assert min(gaps) > 1e-4, "or direction is not tested"


def test_keys_are_the_targets(store):
    compare_models(store, MODELS)
    by_id = {model.id: model for model in MODELS}
    for row in store.read("pairs").to_pylist() + store.read("ranks").to_pylist():
        keys = by_id[row["model_id"]].keys
        assert {name: row[name] for name in keys} == keys
        assert row["similarity"] == "lasso"


@pytest.mark.parametrize("similarity", ["lasso", "spearman", "lasso_cv"])
@pytest.mark.parametrize(("pool", "others"), [("cell", 1), ("method", None), ("data", 5)])
def test_ranks_are_medians_over_the_pool(pool, others, similarity, store):
    compare_models(store, MODELS, similarities=(similarity,))
    for column in ("udr", "udr_eq2"):
        udr_of = pairs(store, column)
        for model in MODELS:
            peers = peers_of(model, pool)
            row = ranks(store, pool)[model.id]
            assert row[column] == pytest.approx(median(udr_of[m.id, model.id] for m in peers))
            assert row["comparisons"] == len(peers)
            assert others is None or len(peers) == others
            assert (row["informative"], row["collapsed"], row["p"]) == (2, False, 0)


@pytest.mark.parametrize("similarity", ["centrality", "cka", "cca"])
@pytest.mark.parametrize("pool", ["cell", "method", "data"])
def test_centrality_is_the_mean_of_both_directions_over_the_pool(similarity, pool, store):
    compare_models(store, MODELS, similarities=(similarity,))
    scores = pairs(store)
    assert len(scores) == 6 * 5 and set(pairs(store, "udr_eq2").values()) == {None}
    for (i, j), score in scores.items():
        voter, factors = (next(m for m in MODELS if m.id == name) for name in (i, j))
        codes = [codes_of(model)[:, :2] for model in (voter, factors)]  # the informative latents
        expected = pairwise(np.stack(codes), None, similarity).udr[0, 1]
        assert score == pytest.approx(expected, abs=0 if similarity == "centrality" else 1e-6)
    for model in MODELS:
        both = [
            (scores[m.id, model.id] + scores[model.id, m.id]) / 2 for m in peers_of(model, pool)
        ]
        row = ranks(store, pool)[model.id]
        assert row["udr"] == pytest.approx(sum(both) / len(both))
        assert (row["udr_eq2"], row["comparisons"]) == (None, len(both))


def test_a_collapsed_model_has_no_centrality(store):
    put(store, MODELS[0], kl=(0.0, 0.01, 0.005))
    compare_models(store, MODELS, similarities=("centrality",))
    row = ranks(store, "data")[MODELS[0].id]
    assert (row["udr"], row["udr_eq2"], row["comparisons"], row["collapsed"]) == (0, None, 0, True)
    assert {r["comparisons"] for r in ranks(store, "data").values()} == {0, 4}


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_models_of_different_numbers_of_latents(similarity, tmp_path):
    """Latents that are not informative are as if a model did not have them."""
    store = Store(tmp_path / "store")
    wide = {model.id for model in MODELS[2:]}
    models, kls, rows = [], {}, {}
    for model in MODELS:
        latents = 5 if model.id in wide else 2
        draws = np.random.default_rng([int(model.strength), model.seed, len(model.method)])
        shared = np.random.default_rng(0).normal(size=(POINTS, 3))
        codes = shared @ draws.normal(size=(3, latents)) + draws.normal(size=(POINTS, latents))
        model = replace(model, latents=latents)
        models.append(model)
        kls[model.id] = np.where(np.arange(latents) == 3, 0.0, 1.0)
        rows[model.id] = codes.astype(np.float32)
        put(store, model, kls[model.id], codes=rows[model.id])
    compare_models(store, models, similarities=(similarity,))
    found = pairs(store)
    assert len(found) == 6 * 5
    for one, other in itertools.permutations(models, 2):
        i, j = (rows[model.id][:, kls[model.id] > 0.01] for model in (one, other))
        matrix = similarity_matrix(i, j, similarity)
        if similarity == "centrality":
            score = matrix.max(axis=1).sum() / matrix.sum()  # all factors have as many groups
        elif similarity in ("cka", "cca"):
            score = matrix.sum()
        else:
            by_row = [max(line) ** 2 / sum(line) if sum(line) else 0.0 for line in matrix]
            by_column = [max(line) ** 2 / sum(line) if sum(line) else 0.0 for line in matrix.T]
            score = (np.mean(by_row) + np.mean(by_column)) / 2
        assert found[one.id, other.id] == pytest.approx(score, abs=1e-6)
    informative = {row["model_id"]: row["informative"] for row in ranks(store, "data").values()}
    assert Counter(informative.values()) == {2: 2, 4: 4}


def test_similarities_together_are_the_same_as_alone(store, tmp_path):
    names = ("cca", "centrality", "spearman", "cka", "lasso", "lasso_cv")
    compare_models(store, MODELS, similarities=names)
    for name in names:
        alone = Store(tmp_path / name)
        for model in MODELS:
            put(alone, model)
        compare_models(alone, MODELS, similarities=(name,))
        for table in ("pairs", "ranks"):
            rows = store.read(table).to_pylist()
            assert [row for row in rows if row["similarity"] == name] == alone.read(
                table
            ).to_pylist()


def test_only_the_pools_asked_for(store):
    compare_models(store, MODELS, pools=("cell",))
    assert set(store.read("ranks")["pool"].to_pylist()) == {"cell"}
    by_id = {model.id: model.cell for model in MODELS}
    assert len(pairs(store)) == 3 * 2
    assert all(by_id[a] == by_id[b] for a, b in pairs(store))
    compare_models(store, MODELS, pools=("method",))
    assert set(store.read("ranks")["pool"].to_pylist()) == {"method"}
    assert len(pairs(store)) == 4 * 3 + 2


def test_the_threshold_decides_what_is_informative(store):
    compare_models(store, MODELS, kl_threshold=0.001)
    assert {row["informative"] for row in ranks(store, "cell").values()} == {3}


def test_fewer_comparisons_are_a_draw_without_replacement(store):
    compare_models(store, MODELS, p=3)
    udr_of = pairs(store)
    subsets = set()
    for model in MODELS:
        row = ranks(store, "data")[model.id]
        assert (row["p"], row["comparisons"]) == (3, 3)
        peers = peers_of(model, "data")
        fits = [
            names
            for names in itertools.combinations([peer.id for peer in peers], 3)
            if median(udr_of[name, model.id] for name in names) == row["udr"]
        ]
        assert fits
        subsets.add(row["udr"] == median(udr_of[peer.id, model.id] for peer in peers))
        assert ranks(store, "cell")[model.id]["comparisons"] == 1
    assert False in subsets, "some draw differs from all comparisons"
    before = store.read("ranks")
    compare_models(store, MODELS, p=3)
    assert store.read("ranks").equals(before)


@pytest.mark.parametrize("most", [2, 4, 400])
@pytest.mark.parametrize("p", [None, 2])
def test_neither_the_order_of_the_models_nor_the_tiles_matter(p, most, store, tmp_path):
    other = Store(tmp_path / "other")
    for model in reversed(MODELS):
        put(other, model)
    compare_models(store, MODELS, p=p)
    compare_models(other, [MODELS[i] for i in (2, 5, 0, 3, 1, 4)], most, p=p)
    for table in ("pairs", "ranks"):
        assert store.read(table).equals(other.read(table))


def test_the_first_seeds_of_each_cell(store):
    added = [replace(MODELS[place], seed=seed) for place, seed in ((0, 7), (2, 5))]
    for model in added:
        put(store, model)
    compare_models(store, [*added, *MODELS], seeds_per_cell=2)
    for pool in ("method", "data"):
        by_model = ranks(store, pool)
        assert by_model.keys() == {model.id for model in MODELS}
        assert {row["comparisons"] for row in by_model.values()} == (
            {5} if pool == "data" else {3, 1}
        )
    cell = ranks(store, "cell")
    assert cell.keys() == {model.id for model in (*MODELS, *added)}
    assert Counter(row["comparisons"] for row in cell.values()) == {2: 6, 1: 2}
    across = {(a, b) for a, b in pairs(store) if {a, b} & {model.id for model in added}}
    assert len(across) == 2 * 4, "added ones are compared in their cell only"


def test_without_the_pool_cell_only_the_first_seeds_are_compared(store):
    added = replace(FIRST, seed=7)
    put(store, added)
    compare_models(store, [*MODELS, added], seeds_per_cell=1, pools=("data",))
    firsts = {MODELS[0].id, MODELS[2].id, MODELS[4].id}
    assert pairs(store).keys() == set(itertools.permutations(firsts, 2))
    assert ranks(store, "data").keys() == firsts
    compare_models(store, [*MODELS, added], seeds_per_cell=1, pools=("data", "cell"))
    assert ranks(store, "cell")[added.id]["comparisons"] == 2


def test_what_is_unchanged_is_not_compared_again(store):
    assert len(compare_models(store, MODELS)) == 6
    before = times(store), store.read("ranks")
    assert compare_models(store, MODELS[::-1]) == []
    assert compare_models(store, MODELS, p=1) == []
    assert compare_models(store, MODELS, seeds_per_cell=1) == []
    assert not store.read("ranks").equals(before[1])
    assert len(compare_models(store, MODELS, similarities=("lasso", "spearman"))) == 6
    after = times(store)
    assert {name: after[name] for name in before[0]} == before[0]
    assert len(after) == 12
    assert len(compare_models(store, MODELS, kl_threshold=0.5)) == 6
    assert {row["informative"] for row in ranks(store, "cell").values()} == {1}


@pytest.fixture
def products(monkeypatch) -> list[tuple[int, int]]:
    """Models of the regressors and of the targets of each product."""
    seen: list[tuple[int, int]] = []

    def counted(real):
        def product(a, b, of_a, of_b):
            seen.append((len(of_a), len(of_b)))
            return real(a, b, of_a, of_b)

        return product

    for name in ("compare", "compare_both"):
        monkeypatch.setattr(compare, name, counted(getattr(compare, name)))
    return seen


def test_new_seeds_cost_their_own_pairs_only(store, tmp_path, products):
    settings = {"similarities": ("lasso", "centrality")}
    compare_models(store, MODELS, **settings)
    # one product per part: two cells, or one with itself
    assert products == [(2, 2)] * 12
    older, before = store.read("pairs"), times(store)
    added = {replace(FIRST, seed=7): (1.0, 0.0, 1.0), replace(FIRST, seed=8): (1.0, 1.0, 1.0)}
    for model, kl in added.items():
        put(store, model, kl)
    products.clear()
    names = compare_models(store, [*MODELS, *added], **settings)
    assert len(names) == 2 * 3 and all(
        "beta_vae-4~" in name or name.endswith("4") for name in names
    )
    within, across = [(2, 2), (2, 2)], [(2, 2), (2, 2)]  # new with themselves and with the others
    assert Counter(products) == Counter(2 * (within + across))
    assert {name for name, at in times(store).items() if before[name] == at} == {
        name for name in before if name.removesuffix(".parquet") not in names
    }
    key = lambda row: (row["similarity"], row["regressor_id"], row["model_id"])  # noqa: E731
    newer = {key(row): row for row in store.read("pairs").to_pylist()}
    assert len(newer) == 2 * 8 * 7
    assert all(newer[key(row)] == row for row in older.to_pylist())
    whole = Store(tmp_path / "whole")
    for model in (*MODELS, *added):
        put(whole, model, added.get(model, KL))
    compare_models(whole, [*MODELS, *added], **settings)
    assert (
        whole.read("pairs")
        .select(["model_id", "regressor_id", "similarity"])
        .equals(store.read("pairs").select(["model_id", "regressor_id", "similarity"]))
    )
    for row in whole.read("pairs").to_pylist():
        assert newer[key(row)]["udr"] == pytest.approx(row["udr"], abs=1e-5)
        if row["similarity"] == "lasso":
            assert newer[key(row)]["udr_eq2"] == pytest.approx(row["udr_eq2"], abs=1e-5)
    rows = [
        row
        for row in store.read("ranks").to_pylist()
        if row["model_id"] == min(added, key=lambda m: m.seed).id
    ]
    assert Counter(row["comparisons"] for row in rows) == {3: 2, 5: 2, 7: 2}


def test_new_cells_cost_their_own_pairs_only(store, products):
    compare_models(store, MODELS[:4])
    before = times(store)
    products.clear()
    names = compare_models(store, MODELS)
    assert sorted(names) == [
        "lasso~dsprites-beta_vae-16~dsprites-factor_vae-4",
        "lasso~dsprites-beta_vae-4~dsprites-factor_vae-4",
        "lasso~dsprites-factor_vae-4~dsprites-factor_vae-4",
    ]
    assert products == [(2, 2)] * 3
    assert {name: times(store)[name] for name in before} == before


def test_killed_while_comparing_it_goes_on(store, tmp_path, monkeypatch):
    undisturbed = Store(tmp_path / "undisturbed")
    for model in MODELS:
        put(undisturbed, model)
    compare_models(undisturbed, MODELS, 2)
    written: list[str] = []
    real = Store.write_part

    def dies(self, table, key, *rest):
        if table == "pairs" and len(written) == 4:
            raise KeyboardInterrupt
        real(self, table, key, *rest)
        written.append(key)

    monkeypatch.setattr(Store, "write_part", dies)
    with pytest.raises(KeyboardInterrupt):
        compare_models(store, MODELS, 2)
    assert store.parts("ranks") == [] and len(store.parts("pairs")) == 4
    monkeypatch.undo()
    before = times(store)
    assert len(compare_models(store, MODELS, 2)) == 2
    assert {name: times(store)[name] for name in before} == before
    for table in ("pairs", "ranks"):
        assert store.read(table).equals(undisturbed.read(table))


def test_each_representation_is_read_once_in_a_tile(store, monkeypatch):
    read: Counter[str] = Counter()
    real = compare.codes_of
    monkeypatch.setattr(
        compare, "codes_of", lambda s, model: (read.update([model.id]), real(s, model))[1]
    )
    compare_models(store, MODELS, similarities=("lasso", "spearman"))
    assert read == Counter(model.id for model in MODELS)


@pytest.mark.parametrize("damage", [None, b"", b"PAR1 but not really PAR1"])
def test_a_lost_or_damaged_part_is_made_again(damage, store):
    compare_models(store, MODELS)
    before = store.read("pairs"), store.read("ranks")
    lost = "lasso~dsprites-beta_vae-16~dsprites-beta_vae-4"
    if damage is None:
        store.remove_part("pairs", lost)
    else:
        store.write_bytes(damage, "tables", "pairs", f"{lost}.parquet")
    with pytest.raises(LookupError, match=f"4 pairs of {lost}"):
        rank_models(store, study(Udr()), GROUP, MODELS)
    assert compare_models(store, MODELS) == [lost]
    assert (store.read("pairs"), store.read("ranks")) == before


def test_models_that_did_not_train_are_left_out(store):
    wild, unknown = replace(FIRST, seed=8), replace(FIRST, seed=9)
    put(store, wild, status="diverged")
    compare_models(store, [*MODELS, wild, unknown])
    assert ranks(store, "cell").keys() == {model.id for model in MODELS}


def test_a_collapsed_model_scores_zero_and_lowers_no_other_score(store):
    compare_models(store, MODELS)
    before = {pool: ranks(store, pool) for pool in ALL["pools"]}
    collapsed = replace(FIRST, seed=5)
    put(store, collapsed, kl=(0.001, 0.0, 0.01))
    compare_models(store, [*MODELS, collapsed])
    for pool, rows in before.items():
        after = ranks(store, pool)
        row = after.pop(collapsed.id)
        assert (row["udr"], row["collapsed"], row["informative"]) == (0.0, True, 0)
        assert after == rows


def test_a_lone_model_has_no_rank(store):
    alone = replace(FIRST, strength=1.0)
    put(store, alone)
    compare_models(store, [*MODELS, alone])
    row = ranks(store, "cell")[alone.id]
    assert (row["udr"], row["udr_eq2"], row["comparisons"]) == (None, None, 0)
    assert ranks(store, "method")[alone.id]["comparisons"] == 4


def test_merged_cells_are_read_too(store):
    compare_models(store, MODELS)
    before = store.read("ranks")
    store.merge("models", MODELS[0].cell, [model.id for model in MODELS[:2]])
    assert not store.has_part("models", MODELS[0].id)
    compare_models(store, MODELS)
    assert store.read("ranks").equals(before)


def test_a_cell_that_is_merged_between_listing_and_reading_is_there(store, monkeypatch):
    listing = Store.parts

    def parts(of: Store, table: str) -> list[str]:
        listed = listing(of, table)
        monkeypatch.undo()
        for cell in {model.cell for model in MODELS}:
            of.merge(table, cell, [model.id for model in MODELS if model.cell == cell])
        return listed

    monkeypatch.setattr(Store, "parts", parts)
    assert kl_of_trained(store, MODELS).keys() == {model.id for model in MODELS}


@pytest.mark.parametrize("how", ["lost", "damaged", "not numbers"])
def test_an_unreadable_representation_is_named_and_other_models_are_compared(how, store):
    bad = MODELS[1]
    if how == "lost":
        store.remove_part("representations", bad.id)
    elif how == "damaged":
        store.write_bytes(b"neither", "tables", "representations", f"{bad.id}.parquet")
    else:
        put(store, bad, codes=np.where(codes_of(bad) == codes_of(bad)[5, 1], np.nan, codes_of(bad)))
    udr = Udr(**ALL)
    cells = tuple({part.cells for part in missing_parts(store, MODELS, udr)})
    assert compare_tile(store, study(udr), MODELS, cells) == [bad.id]
    others = [model for model in MODELS if model is not bad]
    assert missing_parts(store, others, udr) == []
    assert pairs(store).keys() == {(a.id, b.id) for a, b in itertools.permutations(others, 2)}
    rank_models(store, study(udr), GROUP, others)
    assert ranks(store, "data").keys() == {model.id for model in others}


def test_rankings_that_are_computed_here_are_not_stored(store, tmp_path):
    whole = Store(tmp_path / "whole")
    for model in MODELS:
        put(whole, model)
    compare_models(whole, MODELS)
    compare_models(store, MODELS[:3])
    before = times(store)
    store.remove_part("representations", MODELS[5].id)
    beside, lost = compare_here(store, MODELS, Udr(**ALL))
    assert lost == {MODELS[5].id}
    assert times(store) == before
    tables = rankings(store, MODELS[:5], Udr(**ALL), beside)
    compare_models(whole, MODELS[:5])
    for ours, stored in zip(tables[0].to_pylist(), whole.read("ranks").to_pylist(), strict=False):
        assert ours["model_id"] == stored["model_id"]
        assert ours["udr"] == pytest.approx(stored["udr"], abs=1e-5, nan_ok=True)
