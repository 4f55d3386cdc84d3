"""Methods without a posterior, and training on one part of a data set: a thousand teapots."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from data.base.table import Table
from flows.cli import main
from infra.store import Store
from models.representation import encode
from tasks import data_sets
from tasks.compare import compare_tile, kl_of_trained
from tasks.rank import rank_models
from tasks.study.reading import parse_study
from tasks.study.sources import with_sources
from tasks.study.spec import Study
from tasks.study.stored import STUDY_FILE
from tasks.train import train_model
from tasks.weights import load_model

PROBE = 60


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOLSTOY_DATA", str(tmp_path_factory.mktemp("data")))
        for function in (data_sets.load, data_sets.probe_of):
            function.cache_clear()
        yield
        for function in (data_sets.load, data_sets.probe_of):
            function.cache_clear()


@pytest.fixture(scope="module")
def study() -> Study:
    return with_sources(
        parse_study(
            {
                "name": "teapots",
                "data": [{"name": "teapots", "pictures": 1000}],
                "sources": ["look-alike"],
                "methods": {"pca": [], "infogan": [6], "beta_vae": [1]},
                "seeds": 2,
                "architecture": "resnet_small",
                "latents": 3,
                "probe": PROBE,
                "training": {"steps": 2, "batch_size": 2, "log_every": 1},
                "metrics": [],
                "udr": {"similarities": ["lasso"], "pools": ["method"]},
            }
        )
    )


@pytest.fixture(scope="module")
def read_places() -> set[int]:
    """Numbers of all pictures that the trainings read."""
    return set()


@pytest.fixture(scope="module")
def store(study, read_places, tmp_path_factory) -> Store:
    store = Store(tmp_path_factory.mktemp("store"))
    show = Table.show

    def spying(self, places):
        read_places.update(places.tolist())
        return show(self, places)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "show", spying)
        for cell in study.cells():
            for model in cell.models:
                assert train_model(store, study, model) == "trained"
    return store


def rows(store: Store, table: str, method: str) -> list[dict]:
    return [row for row in store.read(table).to_pylist() if row["method"] == method]


@pytest.mark.parametrize("method", ["pca", "infogan"])
def test_what_needs_a_posterior_is_null(method, store):
    for row in rows(store, "models", method):
        assert row["status"] == "trained" and row["kl_per_latent"] == []
        assert row["reconstruction"] is row["kl"] is row["elbo"] is None
        assert row["steps"] == row["training_steps"] == (0 if method == "pca" else 2)
        assert (row["loss"] is None) == (method == "pca")
    for row in rows(store, "representations", method):
        assert row["logvar"] is None and np.isfinite(row["mean"]).all()
    curve = rows(store, "curves", method)
    assert len(curve) == (0 if method == "pca" else 4)
    assert all(row["kl"] is None and row["loss"] is not None for row in curve)
    (picture, _) = [row for row in rows(store, "pictures", method) if row["kind"] == "traversal"]
    assert picture["order"] == [0, 1, 2] and picture["kl"] == []


def test_a_vae_has_all_of_it(store):
    for row in rows(store, "models", "beta_vae"):
        assert row["elbo"] == pytest.approx(-row["reconstruction"] - row["kl"])
    assert all(len(row["logvar"]) == 3 for row in rows(store, "representations", "beta_vae"))


def test_models_see_pictures_of_the_training_split_and_a_few_of_the_gap(study, store, read_places):
    splits = data_sets.load(study.data[0]).splits()
    of_gap = splits.zero_shot[:8].tolist()  # for the picture after the training
    assert read_places - set(of_gap) == set(splits.train.tolist()), "PCA reads them all"
    for method in study.methods:
        kinds = {row["kind"] for row in rows(store, "pictures", method)}
        assert kinds == {"traversal", "reconstruction", "samples", "zero_shot"}


def test_representations_have_the_real_factors_of_their_pictures(study, store):
    data_set = data_sets.load(study.data[0])
    for cell in study.cells():
        model = cell.models[0]
        table = store.read("representations", keys=[model.id]).to_pylist()
        factors = np.array([row["factors"] for row in table])
        assert factors.shape == (PROBE, 5)
        known = data_set.real[data_set.training_rows].astype(np.float32)
        places = [np.flatnonzero((known == row).all(1))[0] for row in factors.astype(np.float32)]
        images = data_set.show(data_set.training_rows[places])
        codes, _ = encode(load_model(model, store), images)
        np.testing.assert_allclose([row["mean"] for row in table], codes, atol=1e-4)


def test_every_latent_of_theirs_is_informative_to_udr(study, store):
    for cell in study.cells():
        if cell.models[0].method == "beta_vae":
            continue
        compare_tile(store, study, cell.models, [(cell.name, cell.name)])
        rank_models(store, study, cell.group, cell.models)
        for row in store.read("ranks", keys=[cell.group]).to_pylist():
            assert row["informative"] == 3 and not row["collapsed"]
            assert 0 < row["udr"] <= 1 + 1e-6
        for kl in kl_of_trained(store, cell.models).values():
            assert np.isposinf(kl).all()


@pytest.mark.parametrize("method", ["pca", "infogan", "beta_vae"])
def test_show_prints_what_there_is_and_moves_all_latents(method, study, store, tmp_path, capsys):
    store.write_json(study.model_dump(mode="json"), STUDY_FILE)
    model = rows(store, "models", method)[0]
    place = ["--store", str(store), "--out", str(tmp_path), "--gif"]
    assert main(["show", model["model_id"], *place]) == 0
    text = capsys.readouterr().out
    has_kl = method == "beta_vae"
    assert ("kl 0" in text) == ("elbo" in text) == has_kl and "None" not in text
    assert ("strength" in text) == ("2 of 2 steps" in text) == (method != "pca")
    assert ("at once" in text) == (method == "pca")
    assert ("\nloss" in text) == (method == "infogan")
    still = np.asarray(Image.open(tmp_path / "traversal.png")).astype(int)
    moving = Image.open(tmp_path / "traversal.gif")
    for frame, column in ((0, 0), (15, 8)):  # both ends are in both; the still one has 16 levels
        moving.seek(frame)
        tiles = np.asarray(moving.convert("RGB")).astype(int)
        for place_of in range(3):
            tile = still[66 * place_of : 66 * place_of + 64, 66 * column : 66 * column + 64]
            moved = tiles[:64, 66 * place_of : 66 * place_of + 64]
            assert np.abs(moved - tile).mean() < 12


def test_two_seeds_of_pca_are_the_same_model_up_to_rounding(study, store):
    (cell,) = [cell for cell in study.cells() if cell.models[0].method == "pca"]
    one, other = (load_model(model, store).components.numpy() for model in cell.models)
    np.testing.assert_allclose((one * other).sum(1), 1, atol=1e-4)
