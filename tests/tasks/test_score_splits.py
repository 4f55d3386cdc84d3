"""Scores of a data set with splits: which rows they are of, and their new parts."""

import numpy as np
import pytest
import torch
from torch import nn

import tasks.score
from data.base.protocol import HasSplits
from data.base.table import Table
from infra.store import Store
from metrics.evaluate import evaluate
from models.network import Network
from models.representation import encode
from tasks import data_sets
from tasks.score import CodesOf, draw_inputs, noisy_inputs, score_model, streams_of
from tasks.streams import stream
from tasks.study.label_noise import noise_of
from tasks.study.reading import parse_study
from tasks.study.sources import with_sources
from tasks.study.spec import Metrics, images_per_model
from tests.data.teapots_of import few_teapots
from tests.tasks.made_models import changed

PICTURES = 400
MODEL = changed(data="teapots", source="look-alike", latents=4)
SETTINGS = Metrics(names=("dci_lasso", "mig"), points=150, test_points=20, group_size=4)
SPLITS = {"train": "", "test": "test_", "validation": "validation_", "zero_shot": "zero_shot_"}


class ReadsMeans(Network):
    """The mean of each channel, and of the upper half."""

    def __init__(self) -> None:
        super().__init__(channels=3, latents=4)
        self.unused = nn.Parameter(torch.zeros(1))

    def code(self, images):
        upper = images[:, :, :32].mean((1, 2, 3))[:, None]
        mean = torch.cat([images.mean((2, 3)), upper], 1)
        return mean, torch.zeros_like(mean)


@pytest.fixture(scope="module")
def teapots(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        few_teapots(patch, PICTURES)
        patch.setenv("TOLSTOY_DATA", str(tmp_path_factory.mktemp("data")))
        for function in (data_sets.load, data_sets.probe_of):
            function.cache_clear()
        study = with_sources(
            parse_study(
                {
                    "name": "teapots",
                    "data": ["teapots"],
                    "sources": ["look-alike"],
                    "methods": {"beta_vae": [1]},
                    "metrics": {
                        "names": ["dci_lasso", "dci_forest"],
                        "points": 250,
                        "test_points": 20,
                    },
                }
            )
        )
        yield study, data_sets.load(study.data[0])
        for function in (data_sets.load, data_sets.probe_of):
            function.cache_clear()


def drawn(data_set, settings, model=MODEL, wanted=0):
    return draw_inputs(
        CodesOf(ReadsMeans(), data_set, wanted), data_set, settings, streams_of(model)
    )


def places_of(inputs, data_set):
    """The numbers of the pictures of each table; no two have the same real factors."""
    number = {tuple(row): place for place, row in enumerate(data_set.real.tolist())}
    assert len(number) == PICTURES
    targets = {name: getattr(inputs, f"{start}targets") for name, start in SPLITS.items()}
    return {name: [number[tuple(row)] for row in of.tolist()] for name, of in targets.items()}


def test_each_table_is_of_its_split_and_no_row_is_in_two(teapots):
    _, data_set = teapots
    assert isinstance(data_set, HasSplits)
    inputs = drawn(data_set, SETTINGS)
    places, splits = places_of(inputs, data_set), vars(data_set.splits())
    every = [place for of_split in places.values() for place in of_split]
    assert len(set(every)) == len(every) == 150 + 3 * 20
    for name, start in SPLITS.items():
        assert set(places[name]) <= set(splits[name].tolist()), name
        codes, _ = encode(ReadsMeans(), data_set.show(np.array(places[name])))
        np.testing.assert_allclose(getattr(inputs, f"{start}codes"), codes, atol=1e-6)
    for name, factors in (("train", inputs.factors), ("test", inputs.test_factors)):
        np.testing.assert_array_equal(factors, data_set.factors[places[name]])


def test_a_small_split_is_taken_whole(teapots):
    _, data_set = teapots
    settings = SETTINGS.model_copy(update={"points": 1000, "test_points": 500})
    places, splits = places_of(drawn(data_set, settings), data_set), vars(data_set.splits())
    for name in SPLITS:
        assert sorted(places[name]) == splits[name].tolist()
    assert places["train"] != splits["train"].tolist(), "in random order"


def test_rows_follow_the_stream_of_their_own_name(teapots):
    _, data_set = teapots
    inputs = drawn(data_set, SETTINGS)
    more = SETTINGS.model_copy(update={"names": ("dci_lasso", "mig", "factor_vae", "unsupervised")})
    again, other = drawn(data_set, more), drawn(data_set, SETTINGS, changed(MODEL, seed=7))
    for start in SPLITS.values():
        one, two, three = (getattr(of, f"{start}targets") for of in (inputs, again, other))
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, three)
        np.testing.assert_array_equal(
            getattr(inputs, f"{start}codes"), getattr(again, f"{start}codes")
        )
    assert again.logvar.shape == (150, 4)


def test_only_metrics_that_predict_factors_get_further_rows(teapots):
    _, data_set = teapots
    without = SETTINGS.model_copy(update={"names": ("mig", "dci")})
    inputs = drawn(data_set, without)
    assert inputs.validation() is None and inputs.zero_shot() is None
    np.testing.assert_array_equal(inputs.codes, drawn(data_set, SETTINGS).codes)
    sizes = data_set.factor_sizes
    assert images_per_model(without, sizes, has_splits=True) == 150 + 20
    assert images_per_model(SETTINGS, sizes, has_splits=True) == 150 + 3 * 20
    assert images_per_model(SETTINGS, sizes) == 150 + 20


def test_each_picture_is_encoded_once(teapots, monkeypatch):
    _, data_set = teapots
    shown, show = [], Table.show

    def spying(self, places):
        shown.extend(places.tolist())
        return show(self, places)

    monkeypatch.setattr(Table, "show", spying)
    some = drawn(data_set, SETTINGS)
    assert len(shown) == len(set(shown)) == 150 + 3 * 20
    shown.clear()
    known = drawn(data_set, SETTINGS, wanted=PICTURES)
    assert sorted(shown) == list(range(PICTURES)), "where more are read than exist, all at once"
    for start in SPLITS.values():
        one, two = (getattr(of, f"{start}codes") for of in (some, known))
        np.testing.assert_allclose(one, two, atol=1e-6)


def test_label_noise_reaches_all_tables(teapots):
    _, data_set = teapots
    streams, settings = streams_of(MODEL), SETTINGS
    codes_of = CodesOf(ReadsMeans(), data_set, 0)
    clean = draw_inputs(codes_of, data_set, settings, streams)
    for p in (0.0, 0.1):
        noise = noise_of(data_set, {"red": p})
        noisy = noisy_inputs(clean, noise, codes_of, data_set, settings, streams)
        for start in SPLITS.values():
            before, after = (getattr(of, f"{start}targets") for of in (clean, noisy))
            moved = before != after
            assert moved[:, 2].any() == (p > 0) and not np.delete(moved, 2, axis=1).any()
            assert np.abs(after - before).max() < 0.5 and after.min() >= 0
            np.testing.assert_array_equal(
                getattr(clean, f"{start}codes"), getattr(noisy, f"{start}codes")
            )


def test_the_scores_of_a_model_have_the_gap_and_the_importances(teapots, tmp_path, monkeypatch):
    study, data_set = teapots
    monkeypatch.setattr(tasks.score, "load_model", lambda model, store: ReadsMeans())
    store = Store(tmp_path)
    assert score_model(store, study, MODEL) == "scored"
    rows = store.read("scores").to_pylist()
    of = {(row["metric"], row["part"], row["factor"]): row["value"] for row in rows}
    inputs = drawn(data_set, study.metrics, wanted=PICTURES)
    for name in study.metrics.names:
        for score in evaluate(name, inputs, stream(MODEL.id, name)):
            factor = None if score.factor is None else data_set.factor_names[score.factor]
            assert of.pop((name, score.part, factor)) == score.value
        means = ("nrmse_test", "nrmse_zero_shot", "nrmse_zero_shot_own")
        assert {row["part"] for row in rows if row["metric"] == name} >= {
            *means,
            *(f"importance latent {latent}" for latent in range(4)),
        }
    assert not of
