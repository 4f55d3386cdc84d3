from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from torch import nn

import tasks.score
from data.base.protocol import Finite, Grid
from data.base.table import Table
from infra.errors import WrongInput
from infra.store import Store
from metrics import DEVIATION, METRICS, OF_ALL_DATA
from metrics.base.inputs import Score
from metrics.evaluate import evaluate
from models.network import Network, bernoulli_loss
from tasks.model_row import write_row
from tasks.score import (
    CodesOf,
    draw_inputs,
    prepare_inputs,
    score_model,
    streams_of,
    summarised,
)
from tasks.streams import stream
from tasks.study.data_choice import DataChoice
from tasks.study.model import Cell
from tasks.study.scores import outdated_metrics, read_scores
from tasks.study.spec import Metrics, Study, images_per_model
from tasks.study.survey import survey
from tests.tasks.made_models import changed

SETTINGS = Metrics(points=400, test_points=150, group_size=8)
DATA = DataChoice(name="made_up", images="made_up.npz")
MODEL = changed(data="made_up", source="user", latents=4)


@dataclass(frozen=True)
class FactorsAsImages(Grid):
    """A data set whose images hold the factors' values, and how many were asked for."""

    name: str = "made_up"
    source: str = "user"
    channels: int = 1
    factor_names: tuple[str, ...] = ("shape", "size", "hue")
    factor_sizes: tuple[int, ...] = (3, 4, 5)
    asked: list[int] = field(default_factory=list)

    def images(self, factors, stream):
        self.asked.append(len(factors))
        return factors.astype(np.float32)[:, None, None, :]


class ReadsFactors(Network):
    """A perfect encoder: a latent per factor and one that is dead.

    Log-variances are the codes over 7, and the decoder shows three latents as they are.
    """

    def __init__(self, shuffle=(0, 1, 2), mixing: float = 0.0) -> None:
        super().__init__(channels=1, latents=4)
        self.unused = nn.Parameter(torch.zeros(1))
        self.shuffle, self.mixing = list(shuffle), mixing

    def code(self, images):
        values = images[:, 0, 0, self.shuffle]
        values = values + self.mixing * values.roll(1, 1)
        mean = torch.cat([values, torch.zeros(len(values), 1)], 1)
        return mean, mean / 7

    def losses(self, images, codes):
        return torch.vmap(bernoulli_loss)(codes[:, None, None, None, :3], images[:, None])


@pytest.fixture
def images_of(monkeypatch) -> FactorsAsImages:
    images_of = FactorsAsImages()
    monkeypatch.setattr(tasks.score, "load", lambda choice: images_of)
    monkeypatch.setattr(tasks.score, "load_model", lambda model, store: ReadsFactors(mixing=0.4))
    return images_of


def in_store(folder, *names: str) -> tuple[Store, Study]:
    metrics = SETTINGS.model_copy(update={"names": names or OF_ALL_DATA})
    study = Study(name="test", data=(DATA,), methods={"beta_vae": (4.0,)}, metrics=metrics)
    return Store(folder), study


def numbers(folder, *names: str) -> dict[tuple[str, str, str | None], float]:
    rows = Store(folder).read("scores").to_pylist()
    values = {(row["metric"], row["part"], row["factor"]): row["value"] for row in rows}
    assert len(values) == len(rows), "a number stands twice"
    return {key: value for key, value in values.items() if not names or key[0] in names}


def test_every_metric_has_its_rows(images_of, tmp_path):
    assert score_model(*in_store(tmp_path), MODEL) == "scored"
    values = numbers(tmp_path)
    for name in OF_ALL_DATA:
        assert np.isfinite(values[name, "score", None]), name
    assert {key[2] for key in values if key[:2] == ("mig", "gap")} == {"shape", "size", "hue"}
    gaps = [value for key, value in values.items() if key[:2] == ("mig", "gap")]
    assert values["mig", "score", None] == pytest.approx(np.mean(gaps))
    for row in Store(tmp_path).read("scores").to_pylist():
        keys = MODEL.keys | {"protocol": METRICS[row["metric"]].protocol}
        assert {name: row[name] for name in MODEL.keys} == keys
        assert row["stream"] == f"{MODEL.id} {row['metric']}" and row["seconds"] >= 0


def test_a_second_call_changes_nothing(images_of, tmp_path):
    score_model(*in_store(tmp_path), MODEL)
    (part,) = (tmp_path / "tables" / "scores").iterdir()
    before = part.read_bytes(), part.stat().st_mtime_ns
    images_of.asked.clear()
    assert score_model(*in_store(tmp_path), MODEL) == "done"
    assert (part.read_bytes(), part.stat().st_mtime_ns) == before and images_of.asked == []
    assert score_model(*in_store(tmp_path, OF_ALL_DATA[0]), MODEL) == "done"


def test_scores_of_an_older_protocol_are_computed_anew_and_stay(images_of, tmp_path):
    store, study = in_store(tmp_path, "irs", "mig")
    score_model(store, study, MODEL)
    rows = store.read("scores").to_pylist()
    older = [row | {"protocol": 1, "value": 9.0} if row["metric"] == "irs" else row for row in rows]
    store.write_part("scores", MODEL.id, {name: [row[name] for row in older] for name in rows[0]})
    write_row(MODEL, store, "trained", kl_per_latent=[[1.0]])
    (state,) = survey(study, store, [Cell((MODEL,))])
    assert state.unscored == [MODEL]
    assert outdated_metrics(store) == ["irs"]

    assert score_model(store, study, MODEL) == "scored"
    assert {row["metric"] for row in read_scores(store, ["metric"]).to_pylist()} == {"irs", "mig"}
    newer = read_scores(store, list(rows[0])).to_pylist()
    values = {(row["metric"], row["part"], row["factor"]): row["value"] for row in newer}
    assert values == {(row["metric"], row["part"], row["factor"]): row["value"] for row in rows}
    every_row = store.read("scores").to_pylist()
    assert [row for row in every_row if row["value"] == 9.0] == [
        r for r in older if r["value"] == 9
    ]
    (state,) = survey(study, store, [Cell((MODEL,))])
    assert state.unscored == []
    assert score_model(store, study, MODEL) == "done"


@pytest.mark.parametrize(
    ("first", "merged"),  # each reads other inputs: groups, trees, interventions, posteriors
    [("factor_vae", False), ("dci", True), ("fairness", False), ("unsupervised", True)],
)
def test_adding_metrics_later_changes_no_number(first, merged, images_of, tmp_path):
    names = ("beta_vae", "factor_vae", "rf_vae", "irs", "dci", "mig", "fairness", "unsupervised")
    score_model(*in_store(tmp_path / "whole", *names), MODEL)
    score_model(*in_store(tmp_path / "grown", first), MODEL)
    assert numbers(tmp_path / "grown") == numbers(tmp_path / "whole", first)
    if merged:
        Store(tmp_path / "grown").merge("scores", MODEL.cell, [MODEL.id])
    assert score_model(*in_store(tmp_path / "grown", *reversed(names)), MODEL) == "scored"
    assert numbers(tmp_path / "grown") == numbers(tmp_path / "whole")


def test_repeats_give_means_and_deviations_of_independent_draws(images_of, tmp_path):
    names, repeats = ("mig", "factor_vae", "dci"), 3
    store, study = in_store(tmp_path / "three", *names)
    metrics = study.metrics.model_copy(update={"repeats": repeats})
    score_model(store, study.model_copy(update={"metrics": metrics}), MODEL)
    rows = numbers(tmp_path / "three")
    score_model(*in_store(tmp_path / "once", *names), MODEL)
    once = numbers(tmp_path / "once")
    codes_of = CodesOf(ReadsFactors(mixing=0.4), images_of, 0)
    wanted = SETTINGS.model_copy(update={"names": names})
    draws: dict[object, list[float]] = {}
    for repeat in range(repeats):
        streams = streams_of(MODEL, repeat)
        inputs = draw_inputs(codes_of, images_of, wanted, streams)
        for name in names:
            for score in evaluate(name, inputs, streams(name)):
                factor = None if score.factor is None else images_of.factor_names[score.factor]
                draws.setdefault((name, score.part, factor), []).append(score.value)
    assert {key: values[0] for key, values in draws.items()} == once, "one draw stays as it was"
    assert len(rows) == 2 * len(once)
    for (name, part, factor), values in draws.items():
        assert len(values) == repeats
        assert rows[name, part, factor] == pytest.approx(np.mean(values), abs=1e-12)
        deviation = rows[name, part + DEVIATION, factor]
        assert deviation == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    assert len(set(draws["mig", "score", None])) == repeats
    assert score_model(store, study.model_copy(update={"metrics": metrics}), MODEL) == "done"


def test_of_several_draws_one_without_a_value_leaves_none():
    draws = [[Score("score", 1.0)], [Score("score", float("nan"))]]
    (score,) = summarised(draws)
    assert score.part == "score" and np.isnan(score.value)
    assert summarised(draws[:1]) == draws[0]


def test_a_metric_that_reads_a_table_draws_no_groups(images_of, tmp_path):
    score_model(*in_store(tmp_path, "factor_vae"), MODEL)
    images_of.asked.clear()
    score_model(*in_store(tmp_path, "mig", "factor_vae"), MODEL)
    assert sum(images_of.asked) == SETTINGS.points
    images_of.asked.clear()
    score_model(*in_store(tmp_path / "posterior", "mig", "unsupervised"), MODEL)
    assert sum(images_of.asked) == SETTINGS.points, "the same pictures give codes and losses"


def test_posteriors_and_losses_stand_beside_the_codes(images_of):
    settings = SETTINGS.model_copy(update={"names": ("unsupervised",)})
    inputs = prepare_inputs(ReadsFactors(mixing=0.4), images_of, MODEL, settings)
    without = prepare_inputs(
        ReadsFactors(mixing=0.4),
        images_of,
        MODEL,
        SETTINGS.model_copy(update={"names": ("mig",)}),
    )
    assert without.logvar is None and without.reconstruction is None
    np.testing.assert_array_equal(inputs.codes, without.codes)
    np.testing.assert_array_equal(inputs.factors, without.factors)
    drawn = images_of.sample(400, stream(MODEL.id, "table"))
    np.testing.assert_array_equal(inputs.factors, drawn)
    assert inputs.train_groups is None and inputs.test_codes is None
    assert inputs.logvar is not None and inputs.reconstruction is not None
    np.testing.assert_allclose(inputs.logvar, inputs.codes / 7, rtol=1e-6)
    # One sample of each posterior, from a stream of its own, decoded: -x z + ln(1 + exp z)
    codes, spread = inputs.codes.astype(float), inputs.codes.astype(float) / 14
    noise = stream(MODEL.id, "posterior").standard_normal((400, 4))
    logits = (codes + noise * np.exp(spread))[:, :3]
    losses = (np.logaddexp(0, logits) - inputs.factors * logits).sum(axis=1)
    np.testing.assert_allclose(inputs.reconstruction, losses, rtol=1e-5, atol=1e-5)


def test_numbers_do_not_depend_on_how_many_images_are_drawn_at_once(
    images_of, tmp_path, monkeypatch
):
    score_model(*in_store(tmp_path / "at once"), MODEL)
    monkeypatch.setattr(tasks.score, "DRAWN_TOGETHER", 7)
    images_of.asked.clear()
    score_model(*in_store(tmp_path / "by sevens"), MODEL)
    assert max(images_of.asked) == 7
    assert numbers(tmp_path / "by sevens") == numbers(tmp_path / "at once")


def test_models_are_scored_on_draws_of_their_own(images_of, tmp_path):
    other = replace(MODEL, seed=1)
    one = prepare_inputs(ReadsFactors(), images_of, MODEL, SETTINGS)
    two = prepare_inputs(ReadsFactors(), images_of, other, SETTINGS)
    assert not np.array_equal(one.factors, two.factors)
    again = prepare_inputs(ReadsFactors(), images_of, MODEL, SETTINGS)
    assert np.array_equal(one.factors, again.factors)


def test_codes_that_are_the_factors_score_one(images_of, tmp_path, monkeypatch):
    perfect = ReadsFactors(shuffle=(2, 0, 1))
    monkeypatch.setattr(tasks.score, "load_model", lambda model, store: perfect)
    score_model(*in_store(tmp_path), MODEL)
    values = numbers(tmp_path)
    # A few hundred points know a little of independent factors by chance.
    assert values["mig", "score", None] > 0.95
    assert values["factor_vae", "score", None] == 1
    monkeypatch.setattr(tasks.score, "load_model", lambda *_: ReadsFactors(mixing=1.0))
    score_model(*in_store(tmp_path / "mixed"), MODEL)
    assert numbers(tmp_path / "mixed")["mig", "score", None] < 0.5


def test_codes_stand_beside_their_factors(images_of):
    inputs = prepare_inputs(ReadsFactors((2, 0, 1)), images_of, MODEL, SETTINGS)
    assert inputs.codes.shape == (400, 4) and inputs.factors.shape == (400, 3)
    np.testing.assert_array_equal(inputs.codes[:, :3], inputs.factors[:, [2, 0, 1]])
    assert inputs.factors.max(0).tolist() == [2, 3, 4] and inputs.factors.min() == 0
    assert inputs.test_table is not None


def test_only_what_is_needed_is_prepared(images_of):
    table = SETTINGS.model_copy(update={"names": ("mig",)})
    alone = prepare_inputs(ReadsFactors(), images_of, MODEL, table)
    assert alone.train_groups is None and alone.test_codes is None
    grown = prepare_inputs(ReadsFactors(), images_of, MODEL, SETTINGS)
    np.testing.assert_array_equal(alone.codes, grown.codes)
    train, test = grown.groups()
    assert train.codes.shape == (400, 8, 4) and test.codes.shape == (150, 8, 4)
    assert not np.array_equal(train.factor[:150], test.factor)


@dataclass(frozen=True)
class FewPictures(Finite, FactorsAsImages):
    """The same, with its 60 pictures numbered."""

    pictures: int = 60

    def places(self, factors, stream):
        return self.order(factors)

    def show(self, places):
        factors = np.stack(np.unravel_index(places, self.factor_sizes), axis=1)
        return FactorsAsImages.images(self, factors, None)


def test_each_picture_is_encoded_once_where_there_are_fewer_than_are_read(
    images_of, tmp_path, monkeypatch
):
    score_model(*in_store(tmp_path / "drawn"), MODEL)
    few = FewPictures()
    monkeypatch.setattr(tasks.score, "load", lambda choice: few)
    score_model(*in_store(tmp_path / "once"), MODEL)
    again = SETTINGS.points  # shown once more for their losses
    assert sum(few.asked) == 60 + again < sum(images_of.asked)
    assert numbers(tmp_path / "once") == numbers(tmp_path / "drawn")
    few.asked.clear()
    labelled = [name for name in OF_ALL_DATA if name != "unsupervised"]
    score_model(*in_store(tmp_path / "labelled", *labelled), MODEL)
    assert sum(few.asked) == 60
    assert numbers(tmp_path / "labelled") == numbers(tmp_path / "once", *labelled)


def test_known_codes_are_the_same_with_posteriors(images_of):
    """A network's last digits depend on how many images it sees at once."""

    class Uneven(ReadsFactors):
        def code(self, images):
            mean, logvar = super().code(images)
            return mean + 1e-3 * len(images), logvar

    for names in (("mig", "factor_vae"), ("mig", "factor_vae", "unsupervised")):
        settings = SETTINGS.model_copy(update={"names": names})
        inputs = prepare_inputs(Uneven(), FewPictures(), MODEL, settings)
        np.testing.assert_allclose(inputs.codes[:, :3], inputs.factors + 0.06, rtol=1e-6)


class WithoutPosterior(ReadsFactors):
    def code(self, images):
        return super().code(images)[0], None

    def losses(self, images, codes):
        return None


def test_without_a_posterior_scores_need_neither_variances_nor_losses(
    images_of, tmp_path, monkeypatch
):
    names = ("mig", "dci_lasso", "unsupervised")
    score_model(*in_store(tmp_path / "with", *names), MODEL)
    network = WithoutPosterior(mixing=0.4)
    monkeypatch.setattr(tasks.score, "load_model", lambda model, store: network)
    score_model(*in_store(tmp_path / "without", *names), MODEL)
    known, less = numbers(tmp_path / "with"), numbers(tmp_path / "without")
    assert less == {key: known[key] for key in less}
    of_posterior = {part for _, part, _ in known.keys() - less.keys()}
    assert {"kl", "elbo", "reconstruction", "mutual_information_sampled"} < of_posterior
    assert ("unsupervised", "score", None) in less


class ReadsPixel(ReadsFactors):
    """One latent: the first pixel."""

    def code(self, images):
        value = images[:, 0, 0, :1].repeat(1, 4)
        return value, value / 7


@pytest.mark.parametrize("points", [40, 400])  # fewer points than pictures, and more
@pytest.mark.parametrize("names", [("mig", "dci_lasso"), ("unsupervised", "dci_lasso")])
def test_targets_are_those_of_the_pictures_that_are_encoded(points, names):
    """A continuous factor is the pixel itself; ten pictures at a time share its bin."""
    pixels = np.random.default_rng(0).permutation(200).astype(np.uint8)
    shape = np.arange(200) % 2
    data_set = Table(
        name="mine",
        source="user",
        channels=1,
        factor_names=("shape", "light"),
        factor_sizes=(2, 10),
        pictures=200,
        pixels=np.broadcast_to(pixels[:, None, None, None], (200, 1, 1, 3)),
        factors=np.column_stack([shape, pixels // 20]).astype(np.int64),
        continuous=(1,),
        real=pixels[:, None] / 255,
    )
    settings = SETTINGS.model_copy(update={"names": names, "points": points, "test_points": 30})
    inputs = prepare_inputs(ReadsPixel(), data_set, MODEL, settings)
    assert inputs.continuous == (1,)
    codes, targets, test_codes, test_targets = inputs.real_tables()
    for z, t in ((codes, targets), (test_codes, test_targets)):
        np.testing.assert_allclose(t[:, 1], z[:, 0], atol=1e-6)
        assert len(np.unique(t[:, 1])) > 20
    np.testing.assert_array_equal(inputs.factors[:, 1], np.rint(targets[:, 1] * 255) // 20)
    np.testing.assert_array_equal(inputs.factors[:, 0], targets[:, 0])


@pytest.fixture
def unlabelled(images_of, monkeypatch):
    """A user's own pictures, 90 of them: values in three pixels of one row of each."""
    pictures = np.random.default_rng(0).integers(0, 255, size=(90, 1, 1, 3), dtype=np.uint8)
    names = ("made_up", "user", 1, (), ())
    data_set = Table(*names, pixels=pictures, factors=np.zeros((90, 0), np.int64), pictures=90)
    monkeypatch.setattr(tasks.score, "load", lambda choice: data_set)
    return data_set


def test_pictures_without_factors_are_scored_by_a_reason(unlabelled, tmp_path, monkeypatch):
    labelled = [name for name in OF_ALL_DATA if name != "unsupervised"]
    assert score_model(*in_store(tmp_path), MODEL) == "scored"
    rows = Store(tmp_path).read("scores").to_pylist()
    assert [
        (row["metric"], row["part"], row["value"]) for row in rows if row["metric"] in labelled
    ] == [(name, "score", None) for name in labelled]
    reasons = {row["metric"]: row["reason"] for row in rows}
    assert reasons.pop("unsupervised") == ""
    assert set(reasons.values()) == {"the pictures have no factors"}
    assert score_model(*in_store(tmp_path), MODEL) == "done"

    def loads(*_):
        raise AssertionError("nothing can be scored, and yet something is loaded")

    monkeypatch.setattr(tasks.score, "load_model", loads)
    assert score_model(*in_store(tmp_path / "labelled", *labelled), MODEL) == "scored"


def test_pictures_without_factors_have_unsupervised_scores(unlabelled, tmp_path, monkeypatch):
    score_model(*in_store(tmp_path, "unsupervised"), MODEL)
    settings = SETTINGS.model_copy(update={"names": ("unsupervised",)})
    inputs = prepare_inputs(ReadsFactors(mixing=0.4), unlabelled, MODEL, settings)
    assert inputs.codes.shape == (400, 4) and inputs.factors.shape == (400, 0)
    assert len(np.unique(inputs.codes, axis=0)) > 80, "all pictures are drawn"
    rows = evaluate("unsupervised", inputs, stream(MODEL.id, "unsupervised"))
    values = numbers(tmp_path)
    assert values == {("unsupervised", row.part, None): row.value for row in rows}
    assert np.isfinite(list(values.values())).all() and ("unsupervised", "elbo", None) in values
    monkeypatch.setattr(tasks.score, "DRAWN_TOGETHER", 7)
    score_model(*in_store(tmp_path / "by sevens", "unsupervised"), MODEL)
    assert numbers(tmp_path / "by sevens") == values
    wider = SETTINGS.model_copy(update={"points": 60, "names": ("unsupervised",)})
    drawn = prepare_inputs(ReadsFactors(), unlabelled, MODEL, wider)
    assert drawn.codes.shape == (60, 4), "fewer are read than there are"


def test_a_metric_that_cannot_be_computed_says_why_and_the_others_stand(
    images_of, tmp_path, monkeypatch
):
    def fails(name, inputs, rng):
        if name == "mig":
            raise ValueError("factors:\n one value")
        return evaluate(name, inputs, rng)

    monkeypatch.setattr(tasks.score, "evaluate", fails)
    assert score_model(*in_store(tmp_path), MODEL) == "scored"
    reasons = {row["metric"]: row["reason"] for row in Store(tmp_path).read("scores").to_pylist()}
    assert reasons.pop("mig") == "factors: one value"
    assert set(reasons.values()) == {""} and set(reasons) == set(OF_ALL_DATA) - {"mig"}


def test_a_value_that_is_no_number_is_null_with_a_reason(images_of, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks.score, "evaluate", lambda *_: [Score("score", float("nan"))])
    score_model(*in_store(tmp_path, "mig"), MODEL)
    (row,) = Store(tmp_path).read("scores").to_pylist()
    assert row["value"] is None and row["reason"]


def test_only_metrics_that_need_groups_fail_where_a_table_has_none(
    images_of, tmp_path, monkeypatch
):
    def cannot(self, count, size, stream):
        raise WrongInput("data.factors", "no two such rows", "a table with them")

    monkeypatch.setattr(FactorsAsImages, "sample_variations", cannot)
    assert score_model(*in_store(tmp_path), MODEL) == "scored"
    reasons = {row["metric"]: row["reason"] for row in Store(tmp_path).read("scores").to_pylist()}
    assert "no two such rows" in reasons.pop("rf_vae")
    assert set(reasons.values()) == {""} and len(reasons) == len(OF_ALL_DATA) - 1


def test_interventions_are_the_same_points_under_every_value(images_of, monkeypatch):
    settings = SETTINGS.model_copy(update={"names": ("fairness",)})
    inputs = prepare_inputs(ReadsFactors(), images_of, MODEL, settings)
    assert sum(images_of.asked) == images_per_model(settings, images_of.factor_sizes)
    assert sum(images_of.asked) == SETTINGS.points + 100 * (3 + 4 + 5)
    assert images_per_model(SETTINGS.model_copy(update={"names": ("mig",)}), (3, 4, 5)) == 400
    for factor, codes in enumerate(inputs.intervened()):
        size = images_of.factor_sizes[factor]
        assert codes.shape == (size, 100, 4)
        assert (codes[..., factor] == np.arange(size)[:, None]).all()
        rest = np.delete(codes, factor, axis=2)
        assert (rest == rest[:1]).all() and len(np.unique(rest[0], axis=0)) > 5
    few = FewPictures()
    once = prepare_inputs(ReadsFactors(), few, MODEL, settings)
    assert sum(few.asked) == 60
    for one, two in zip(once.intervened(), inputs.intervened(), strict=True):
        np.testing.assert_array_equal(one, two)
    other = prepare_inputs(ReadsFactors(), images_of, replace(MODEL, seed=1), settings)
    assert not np.array_equal(other.intervened()[0], inputs.intervened()[0])
    all_of_them = prepare_inputs(ReadsFactors(), images_of, MODEL, SETTINGS)
    for one, two in zip(all_of_them.intervened(), inputs.intervened(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_perfect_encoder_is_fair(images_of, tmp_path, monkeypatch):
    of_one = ReadsFactors(shuffle=(0, 0, 0))  # tells the others by what chance has left in the rows
    monkeypatch.setattr(tasks.score, "load_model", lambda *_: of_one)
    score_model(*in_store(tmp_path / "mixed", "fairness"), MODEL)
    assert numbers(tmp_path / "mixed")["fairness", "score", None] > 0
    monkeypatch.setattr(tasks.score, "load_model", lambda *_: ReadsFactors(shuffle=(2, 0, 1)))
    score_model(*in_store(tmp_path / "perfect", "fairness"), MODEL)
    values = numbers(tmp_path / "perfect")
    assert set(values.values()) == {0}
    assert ("fairness", "mean_variation target 0", "hue") in values


def test_only_the_metric_that_needs_interventions_fails_where_a_table_has_none(
    images_of, tmp_path, monkeypatch
):
    def cannot(self, count, stream):
        raise WrongInput("data.factors", "no such row", "a table with them")

    monkeypatch.setattr(FactorsAsImages, "sample_interventions", cannot)
    assert score_model(*in_store(tmp_path), MODEL) == "scored"
    reasons = {row["metric"]: row["reason"] for row in Store(tmp_path).read("scores").to_pylist()}
    assert "no such row" in reasons.pop("fairness")
    assert set(reasons.values()) == {""} and len(reasons) == len(OF_ALL_DATA) - 1


def test_trees_are_of_the_kind_that_is_set_and_seeded_by_the_model():
    images_of, vae = FactorsAsImages(), ReadsFactors(mixing=0.4)
    wanted = SETTINGS.model_copy(update={"names": ("dci",), "trees": "sklearn"})
    other = replace(MODEL, seed=1)
    inputs = [prepare_inputs(vae, images_of, model, wanted) for model in (MODEL, MODEL, other)]
    assert {prepared.trees for prepared in inputs} == {"sklearn"}
    assert inputs[0].tree_seed == inputs[1].tree_seed != inputs[2].tree_seed
    assert prepare_inputs(vae, images_of, MODEL, SETTINGS).trees == "presorted"
