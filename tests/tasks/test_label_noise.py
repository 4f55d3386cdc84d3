"""Scores under label noise: equal to the clean ones without noise, and planted answers with it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import tasks.score
from data.base.protocol import Finite, Grid
from data.base.table import Table
from infra.store import Store
from metrics import DEVIATION, OF_ALL_DATA
from metrics.evaluate import evaluate, reads_factors
from tasks.label_noise import without_groups
from tasks.model_row import write_row
from tasks.score import CodesOf, draw_inputs, noisy_inputs, score_model, streams_of
from tasks.study.label_noise import noise_of
from tasks.study.model import Cell
from tasks.study.spec import Study
from tasks.study.survey import survey
from tests.tasks.test_score import DATA, MODEL, SETTINGS, FactorsAsImages, ReadsFactors

FACTORS = ("shape", "size", "hue")
NONE = dict.fromkeys(FACTORS, 0.0)
MUCH = dict.fromkeys(FACTORS, 0.5)
LABELLED = [name for name in OF_ALL_DATA if reads_factors(name)]
OWN_PART = "score with label noise own"


@dataclass(frozen=True)
class SeveralPictures(Finite, Grid):
    """Two pictures of each point, of which one is drawn; the second is a little brighter."""

    def places(self, factors, stream):
        return 2 * self.order(factors) + stream.integers(2, size=len(factors))

    def show(self, places):
        factors = np.stack(np.unravel_index(places // 2, self.factor_sizes), axis=1)
        brighter = 0.1 * (places % 2)
        return (factors + brighter[:, None]).astype(np.float32)[:, None, None, :]


class ReadsBytes(ReadsFactors):
    """The same of pictures that are bytes."""

    def code(self, images):
        return super().code(images * 255)


def whole_table(continuous: bool) -> Table:
    """Every combination once, as the user's own; where asked for, one factor is a real number."""
    points = np.stack(np.unravel_index(np.arange(200), (5, 4, 10)), axis=1)
    return Table(
        "made_up",
        "user",
        1,
        FACTORS,
        (5, 4, 10),
        pictures=200,
        pixels=points.astype(np.uint8)[:, None, None, :],
        factors=points,
        real=points[:, 2:] / 9 if continuous else np.empty((200, 0)),
        continuous=(2,) if continuous else (),
        categorical=("shape",),
    )


DATA_SETS = {
    "new pictures": lambda: FactorsAsImages(categorical=("shape",), periodic=("hue",)),
    "several pictures": lambda: SeveralPictures(
        "made_up", "user", 1, FACTORS, (3, 4, 5), pictures=120
    ),
    "own pictures": lambda: whole_table(False),
    "a continuous factor": lambda: whole_table(True),
}


def scored(folder, monkeypatch, data_set, regimes, names=LABELLED, **settings):
    vae = ReadsBytes(mixing=0.4) if isinstance(data_set, Table) else ReadsFactors(mixing=0.4)
    monkeypatch.setattr(tasks.score, "load", lambda choice: data_set)
    monkeypatch.setattr(tasks.score, "load_model", lambda model, store: vae)
    update = {"names": tuple(names), "label_noise": regimes, **settings}
    metrics = SETTINGS.model_copy(update=update)
    study = Study(name="test", data=(DATA,), methods={"beta_vae": (4.0,)}, metrics=metrics)
    assert score_model(Store(folder), study, MODEL) == "scored"
    return Store(folder), study


def values(store: Store) -> dict[tuple[str, str, str | None], float]:
    rows = store.read("scores").to_pylist()
    assert len({(row["metric"], row["part"], row["factor"]) for row in rows}) == len(rows)
    return {(row["metric"], row["part"], row["factor"]): row["value"] for row in rows}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[pytest.mark.slow] * (kind == "own pictures"))  # as the next kind
        for kind in DATA_SETS
    ],
)
def test_without_noise_every_noisy_score_is_the_clean_one_to_the_bit(kind, tmp_path, monkeypatch):
    plain, _ = scored(tmp_path / "plain", monkeypatch, DATA_SETS[kind](), (), OF_ALL_DATA)
    noisy, _ = scored(tmp_path / "noisy", monkeypatch, DATA_SETS[kind](), (NONE,), OF_ALL_DATA)
    clean, both = values(plain), values(noisy)
    for name in LABELLED:
        assert clean[name, "score", None] is not None, name
        assert both[name, OWN_PART, None] == clean[name, "score", None], name
    added = {key for key in both if key not in clean}
    assert added == {(name, OWN_PART, None) for name in LABELLED}, "headlines, from labels only"
    assert {key: both[key] for key in clean} == clean


@pytest.mark.parametrize("kind", DATA_SETS)
def test_noise_changes_no_clean_score(kind, tmp_path, monkeypatch):
    names = ("mig", "beta_vae", "rf_vae", "fairness", "sap", "dci_lasso")
    plain, _ = scored(tmp_path / "plain", monkeypatch, DATA_SETS[kind](), (), names)
    noisy, _ = scored(tmp_path / "noisy", monkeypatch, DATA_SETS[kind](), (MUCH,), names)
    clean, both = values(plain), values(noisy)
    assert {key: both[key] for key in clean} == clean
    for name in names:
        assert both[name, OWN_PART, None] != both[name, "score", None], name


def inputs_of(data_set, p: dict[str, float], names):
    settings = SETTINGS.model_copy(update={"names": tuple(names)})
    vae = ReadsBytes() if isinstance(data_set, Table) else ReadsFactors()
    codes_of, streams = CodesOf(vae, data_set, 0), streams_of(MODEL)
    clean = draw_inputs(codes_of, data_set, settings, streams)
    tables = without_groups(clean)
    noise = noise_of(data_set, p)
    return clean, noisy_inputs(tables, noise, codes_of, data_set, settings, streams)


def changed(one, other, axis):
    return (np.asarray(one) != np.asarray(other))[..., axis]


def test_pictures_have_other_values_of_what_metrics_are_told_and_of_nothing_else():
    """The codes are the pictures' own factors."""
    data_set = DATA_SETS["new pictures"]()
    names = ("beta_vae", "factor_vae", "rf_vae", "fairness")
    clean, noisy = inputs_of(data_set, {"shape": 1.0}, names)
    for before, after in zip(clean.groups(), noisy.groups(), strict=True):
        np.testing.assert_array_equal(before.factor, after.factor)
        for factor in range(3):
            moved = changed(before.codes, after.codes, factor)
            told = before.factor == 0
            assert not moved[~told].any()
            assert moved[told].mean() == pytest.approx(2 / 3 if factor == 0 else 0, abs=0.05)
    for before, after in zip(clean.variations(), noisy.variations(), strict=True):
        moved = changed(before.codes, after.codes, 0)
        varies = before.factor == 0
        assert not moved[varies].any() and moved[~varies].mean() == pytest.approx(2 / 3, abs=0.05)
        np.testing.assert_array_equal(before.codes[..., 1:], after.codes[..., 1:])
    for before, after in zip(clean.pairs(), noisy.pairs(), strict=True):
        told = before.factor == 0
        first, second = (
            changed(getattr(before, side), getattr(after, side), 0) for side in ("first", "second")
        )
        assert first[told].mean() == pytest.approx(2 / 3, abs=0.05)
        assert not (first == second)[told].all(), "each picture has noise of its own"
        assert not first[~told].any() and not second[~told].any()
    shape, *others = zip(clean.intervened(), noisy.intervened(), strict=True)
    assert changed(*shape, 0).mean() == pytest.approx(2 / 3, abs=0.1)
    assert all(np.array_equal(before, after) for before, after in others)


def test_of_tables_the_labels_change_and_the_codes_stay():
    clean, noisy = inputs_of(DATA_SETS["new pictures"](), {"shape": 1.0}, ("mig", "dci"))
    np.testing.assert_array_equal(clean.codes, noisy.codes)
    np.testing.assert_array_equal(clean.test_codes, noisy.test_codes)
    for before, after in ((clean.factors, noisy.factors), (clean.test_factors, noisy.test_factors)):
        assert changed(before, after, 0).mean() == pytest.approx(2 / 3, abs=0.1)
        np.testing.assert_array_equal(before[:, 1:], after[:, 1:])
    clean_gap, noisy_gap = (
        {s.factor: s.value for s in evaluate("mig", i, streams_of(MODEL)("mig")) if s.part == "gap"}
        for i in (clean, noisy)
    )
    assert clean_gap[0] > 0.9 and abs(noisy_gap[0]) < 0.03
    assert noisy_gap[1] == clean_gap[1] and noisy_gap[2] == clean_gap[2]


def test_a_continuous_factor_moves_by_its_range_and_its_bins_with_it():
    clean, noisy = inputs_of(whole_table(True), {"hue": 0.1}, ("sap",))
    steps = noisy.targets[:, 2] - clean.targets[:, 2]
    inner = (clean.targets[:, 2] > 0.3) & (clean.targets[:, 2] < 0.7)
    assert steps[inner].std() == pytest.approx(0.1, rel=0.2)
    assert noisy.targets[:, 2].min() == 0 and noisy.targets[:, 2].max() == 1
    np.testing.assert_allclose(noisy.targets[:, 2] * 9, noisy.factors[:, 2], atol=0.5)
    np.testing.assert_array_equal(noisy.targets[:, :2], noisy.factors[:, :2])
    np.testing.assert_array_equal(noisy.test_targets[:, :2], noisy.test_factors[:, :2])
    assert changed(clean.test_targets, noisy.test_targets, 2).any()


def test_trees_are_learned_again():
    clean, noisy = inputs_of(DATA_SETS["new pictures"](), {"shape": 1.0}, ("dci",))
    assert clean.boosted is not noisy.boosted
    accuracy = [
        (i.boosted[0].predict(i.codes) == clean.factors[:, 0]).mean() for i in (clean, noisy)
    ]
    assert accuracy[0] == 1 and accuracy[1] < 0.9


def test_a_regime_of_the_same_p_gives_the_same_numbers_by_any_name(tmp_path, monkeypatch):
    data_set = replace(DATA_SETS["new pictures"](), factor_names=("shape", "scale", "position_x"))
    low = {"shape": 0.05, "scale": 0.1, "position": 0.05}
    store, _ = scored(tmp_path, monkeypatch, data_set, ("low", "high", low), ("mig", "factor_vae"))
    of = values(store)
    for name in ("mig", "factor_vae"):
        assert of[name, "score with label noise low", None] == of[name, OWN_PART, None]
        assert of[name, "score with label noise high", None] < of[name, "score", None]


def test_groups_without_noise_and_with_it_are_not_held_at_once(tmp_path, monkeypatch):
    seen = []

    def watched(clean, *others):
        seen.append((clean.train_groups, clean.train_pairs, clean.interventions))
        return noisy_inputs(clean, *others)

    monkeypatch.setattr(tasks.score, "noisy_inputs", watched)
    names = ("factor_vae", "beta_vae", "fairness")
    scored(tmp_path, monkeypatch, DATA_SETS["new pictures"](), (NONE,), names)
    assert seen == [(None, None, None)]


def test_repeats_have_means_and_deviations_of_noisy_scores_and_a_second_call_does_nothing(
    tmp_path, monkeypatch
):
    data_set = DATA_SETS["new pictures"]()
    store, study = scored(tmp_path, monkeypatch, data_set, (MUCH,), ("mig", "sap"), repeats=3)
    of = values(store)
    for name in ("mig", "sap"):
        assert of[name, OWN_PART + DEVIATION, None] > 0
        assert of[name, OWN_PART, None] < of[name, "score", None]
    write_row(MODEL, store, "trained", kl_per_latent=[[1.0]])
    (state,) = survey(study, store, [Cell((MODEL,))])
    assert state.unscored == []
    assert score_model(store, study, MODEL) == "done"
    grown = study.metrics.model_copy(update={"names": ("mig", "sap", "modularity")})
    assert score_model(store, study.model_copy(update={"metrics": grown}), MODEL) == "scored"
    later = values(store)
    assert {key: later[key] for key in of} == of
    assert ("modularity", OWN_PART, None) in later


def test_data_without_the_factors_have_no_noisy_scores(tmp_path, monkeypatch):
    store, _ = scored(tmp_path, monkeypatch, DATA_SETS["new pictures"](), ({"x": 0.5},), ("mig",))
    assert {part for _, part, _ in values(store)} == {"score", "gap"}


def test_a_table_that_lacks_combinations_says_why_groups_have_no_noisy_score(tmp_path, monkeypatch):
    whole = whole_table(False)
    rows = np.arange(200) != 17
    gaps = replace(whole, pictures=199, factors=whole.factors[rows], pixels=whole.pixels[rows])
    store, _ = scored(tmp_path, monkeypatch, gaps, (MUCH,), ("mig", "factor_vae"))
    rows = {(row["metric"], row["part"]): row for row in store.read("scores").to_pylist()}
    assert rows["mig", OWN_PART]["value"] is not None
    assert rows["factor_vae", "score"]["value"] is not None
    assert rows["factor_vae", OWN_PART]["value"] is None
    assert "factor combination" in rows["factor_vae", OWN_PART]["reason"]
