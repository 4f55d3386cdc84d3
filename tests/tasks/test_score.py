from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from torch import nn

import tasks.score
from data.protocol import Finite, Grid
from infra.errors import WrongInput
from infra.store import Store
from metrics import METRICS
from metrics.evaluate import evaluate
from metrics.inputs import Score
from tasks.score import prepare_inputs, score_model
from tasks.settings import DataChoice, Metrics, Model, ScoringOrder

SETTINGS = Metrics(points=400, test_points=150, group_size=8)
DATA = DataChoice(name="made_up")
MODEL = Model(
    *("made_up", "user", "beta_vae", 4.0, 0, "paper", 4, 50, 4),
    *(1e-3, 0.9, 0.999, 1e-8, "float32"),
)


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


class ReadsFactors(nn.Module):
    """A perfect encoder: a latent per factor and one that is dead."""

    def __init__(self, shuffle=(0, 1, 2), mixing: float = 0.0) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))
        self.shuffle, self.mixing = list(shuffle), mixing

    def encoder(self, images):
        values = images[:, 0, 0, self.shuffle]
        values = values + self.mixing * values.roll(1, 1)
        return torch.cat([values, torch.zeros(len(values), 1)], 1), torch.zeros(len(values), 4)


@pytest.fixture
def images_of(monkeypatch) -> FactorsAsImages:
    images_of = FactorsAsImages()
    monkeypatch.setattr(tasks.score, "load", lambda choice: images_of)
    monkeypatch.setattr(tasks.score, "load_model", lambda model, store: ReadsFactors(mixing=0.4))
    return images_of


def order(folder, *names: str) -> ScoringOrder:
    return ScoringOrder(str(folder), DATA, SETTINGS.model_copy(update={"names": names or METRICS}))


def numbers(folder, *names: str) -> dict[tuple[str, str, str | None], float]:
    rows = Store(folder).read("scores").to_pylist()
    found = {(row["metric"], row["part"], row["factor"]): row["value"] for row in rows}
    assert len(found) == len(rows), "a number stands twice"
    return {key: value for key, value in found.items() if not names or key[0] in names}


def test_every_metric_has_its_rows(images_of, tmp_path):
    assert score_model(MODEL, order(tmp_path)) == "scored"
    found = numbers(tmp_path)
    for name in METRICS:
        assert np.isfinite(found[name, "score", None]), name
    assert {key[2] for key in found if key[:2] == ("mig", "gap")} == {"shape", "size", "hue"}
    gaps = [value for key, value in found.items() if key[:2] == ("mig", "gap")]
    assert found["mig", "score", None] == pytest.approx(np.mean(gaps))
    for row in Store(tmp_path).read("scores").to_pylist():
        assert {name: row[name] for name in MODEL.keys} == MODEL.keys
        assert row["stream"] == f"{MODEL.id} {row['metric']}" and row["seconds"] >= 0


def test_a_second_call_changes_nothing(images_of, tmp_path):
    score_model(MODEL, order(tmp_path))
    (part,) = (tmp_path / "tables" / "scores").iterdir()
    before = part.read_bytes(), part.stat().st_mtime_ns
    images_of.asked.clear()
    assert score_model(MODEL, order(tmp_path)) == "done"
    assert (part.read_bytes(), part.stat().st_mtime_ns) == before and images_of.asked == []
    assert score_model(MODEL, order(tmp_path, METRICS[0])) == "done"


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("first", METRICS)
def test_adding_metrics_later_changes_no_number(first, merged, images_of, tmp_path):
    score_model(MODEL, order(tmp_path / "whole"))
    score_model(MODEL, order(tmp_path / "grown", first))
    assert numbers(tmp_path / "grown") == numbers(tmp_path / "whole", first)
    if merged:
        Store(tmp_path / "grown").merge("scores", MODEL.cell, [MODEL.id])
    assert score_model(MODEL, order(tmp_path / "grown", *reversed(METRICS))) == "scored"
    assert numbers(tmp_path / "grown") == numbers(tmp_path / "whole")


def test_a_metric_that_reads_a_table_draws_no_groups(images_of, tmp_path):
    score_model(MODEL, order(tmp_path, "factor_vae"))
    images_of.asked.clear()
    score_model(MODEL, order(tmp_path, "mig", "factor_vae"))
    assert sum(images_of.asked) == SETTINGS.points


def test_numbers_do_not_depend_on_how_many_images_are_drawn_at_once(
    images_of, tmp_path, monkeypatch
):
    score_model(MODEL, order(tmp_path / "at once"))
    monkeypatch.setattr(tasks.score, "IMAGES_AT_ONCE", 7)
    images_of.asked.clear()
    score_model(MODEL, order(tmp_path / "by sevens"))
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
    score_model(MODEL, order(tmp_path))
    found = numbers(tmp_path)
    # A few hundred points know a little of independent factors by chance.
    assert found["mig", "score", None] > 0.95
    assert found["factor_vae", "score", None] == 1
    monkeypatch.setattr(tasks.score, "load_model", lambda *_: ReadsFactors(mixing=1.0))
    score_model(MODEL, order(tmp_path / "mixed"))
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
    score_model(MODEL, order(tmp_path / "drawn"))
    few = FewPictures()
    monkeypatch.setattr(tasks.score, "load", lambda choice: few)
    score_model(MODEL, order(tmp_path / "once"))
    assert sum(few.asked) == 60 < sum(images_of.asked)
    assert numbers(tmp_path / "once") == numbers(tmp_path / "drawn")


def test_pictures_without_factors_are_scored_by_a_reason(images_of, tmp_path, monkeypatch):
    unlabelled = replace(images_of, factor_names=(), factor_sizes=())
    monkeypatch.setattr(tasks.score, "load", lambda choice: unlabelled)
    assert score_model(MODEL, order(tmp_path)) == "scored"
    rows = Store(tmp_path).read("scores").to_pylist()
    assert [(row["metric"], row["part"], row["value"]) for row in rows] == [
        (name, "score", None) for name in METRICS
    ]
    assert {row["reason"] for row in rows} == {"the pictures have no factors"}
    assert images_of.asked == [] and score_model(MODEL, order(tmp_path)) == "done"


def test_a_metric_that_cannot_be_computed_says_why_and_the_others_stand(
    images_of, tmp_path, monkeypatch
):
    def fails(name, inputs, rng):
        if name == "mig":
            raise ValueError("factors:\n one value")
        return evaluate(name, inputs, rng)

    monkeypatch.setattr(tasks.score, "evaluate", fails)
    assert score_model(MODEL, order(tmp_path)) == "scored"
    reasons = {row["metric"]: row["reason"] for row in Store(tmp_path).read("scores").to_pylist()}
    assert reasons.pop("mig") == "factors: one value"
    assert set(reasons.values()) == {""} and set(reasons) == set(METRICS) - {"mig"}


def test_a_value_that_is_no_number_is_null_with_a_reason(images_of, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks.score, "evaluate", lambda *_: [Score("score", float("nan"))])
    score_model(MODEL, order(tmp_path, "mig"))
    (row,) = Store(tmp_path).read("scores").to_pylist()
    assert row["value"] is None and row["reason"]


def test_groups_that_a_table_cannot_give_cost_their_metrics_only(images_of, tmp_path, monkeypatch):
    def cannot(self, count, size, stream):
        raise WrongInput("data.factors", "no two such rows", "a table with them")

    monkeypatch.setattr(FactorsAsImages, "sample_variations", cannot)
    assert score_model(MODEL, order(tmp_path)) == "scored"
    reasons = {row["metric"]: row["reason"] for row in Store(tmp_path).read("scores").to_pylist()}
    assert "no two such rows" in reasons.pop("rf_vae")
    assert set(reasons.values()) == {""} and len(reasons) == len(METRICS) - 1
