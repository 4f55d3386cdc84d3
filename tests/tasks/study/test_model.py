import hashlib
import json
from dataclasses import fields, replace

import pytest
from pydantic import ValidationError

import metrics
from infra.tables import KEYS, PROTOCOL, schema
from models.recipe import Recipe
from tasks.study.groups import ranking_made_from
from tasks.study.model import Cell, Model, cell_of
from tasks.study.spec import Metrics, Training, Udr
from tests.tasks.made_models import changed

MODEL = changed(seed=3, latents=10, steps=300, batch_size=64, learning_rate=1e-4)


def test_defaults_are_those_of_the_paper():
    training = Training()  # Table 4a
    assert (training.steps, training.batch_size) == (300_000, 64)
    assert (training.learning_rate, training.epsilon) == (1e-4, 1e-8)
    assert (training.beta1, training.beta2) == (0.9, 0.999)
    scored = Metrics()  # appendix C
    assert (scored.points, scored.test_points, scored.group_size) == (10_000, 5_000, 64)
    assert scored.names == metrics.OF_ALL_DATA
    assert Udr().kl_threshold == 0.01
    assert Udr(similarities=tuple(metrics.SIMILARITIES), pools=("cell", "method", "data")).p is None


@pytest.mark.parametrize("pictures", [0, 1000])
@pytest.mark.parametrize("content", ["", "abc"])
def test_a_model_can_be_made_from_its_identity(content, pictures):
    model = replace(MODEL, content=content, pictures=pictures)
    assert ("content" in model.identity, "pictures" in model.identity) == (
        bool(content),
        bool(pictures),
    )
    assert Model.from_identity(json.loads(json.dumps(model.identity))) == model


def test_id_is_the_hash_of_all_fields():
    values = {
        "data": "dsprites",
        "source": "redrawn",
        "method": "beta_vae",
        "strength": 4.0,
        "seed": 3,
        "architecture": "paper",
        "latents": 10,
        "steps": 300,
        "batch_size": 64,
        "learning_rate": 1e-4,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-8,
        "precision": "float32",
        "protocol": PROTOCOL,
    }
    text = json.dumps(dict(sorted(values.items())), separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == MODEL.id


FIELDS = [field.name for field in fields(Model) if field.name not in ("recipe", "axes")]


@pytest.mark.parametrize("field", [*FIELDS, *Recipe.model_fields])
def test_whatever_changes_the_science_changes_the_id(field):
    value = getattr(MODEL if field in FIELDS else MODEL.recipe, field)
    other = changed(MODEL, **{field: value + "x" if isinstance(value, str) else value + 1})
    assert other.id != MODEL.id
    assert changed(other, **{field: value}).id == MODEL.id


def test_cells_and_groups():
    models = tuple(replace(MODEL, seed=seed) for seed in range(3))
    assert len({model.id for model in models}) == 3
    assert {model.cell for model in models} == {"dsprites-beta_vae-4"}
    assert Cell(models).name == "dsprites-beta_vae-4"
    assert Cell(models).group == "dsprites-beta_vae"
    assert replace(MODEL, strength=0.5).cell == "dsprites-beta_vae-0.5"


def test_axes_that_a_study_sweeps_are_in_names_and_in_no_id():
    model = replace(MODEL, axes=("architecture", "latents"))
    assert model.id == MODEL.id and model.keys == MODEL.keys
    assert model.cell == "dsprites-beta_vae-architecture_paper-latents_10-4"
    assert Cell((model,)).group == "dsprites-beta_vae", "compared over all values of the axes"
    assert cell_of(model.keys, model.axes) == model.cell
    assert cell_of({**model.keys, "method": model.sweep}) == model.cell, "as the report has rows"


def test_keys_are_the_columns_that_every_table_begins_with():
    assert list(MODEL.keys) == [field.name for field in KEYS] == schema("models").names[: len(KEYS)]
    assert (MODEL.keys["model_id"], MODEL.keys["seed"]) == (MODEL.id, 3)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Training, {"steps": 0}),
        (Training, {"steps": 10.5}),
        (Training, {"batch_size": 1}),
        (Training, {"learning_rate": 0}),
        (Training, {"learning_rate": float("nan")}),
        (Training, {"beta2": 1.0}),
        (Training, {"step": 10}),
        (Training, {"precision": "float16"}),
        (Metrics, {"names": ("migg",)}),
        (Metrics, {"names": ("mig", "mig")}),
        (Metrics, {"points": 1}),
        (Udr, {"pools": ("cells",)}),
        (Udr, {"pools": ("cell", "cell")}),
        (Udr, {"similarities": ("lasso", "lasso")}),
        (Udr, {"similarities": ("laso",)}),
        (Udr, {"seeds_per_cell": 0}),
        (Udr, {"kl_threshold": -0.1}),
        (Udr, {"p": 0}),
    ],
)
def test_wrong_settings_are_refused(kind, wrong):
    with pytest.raises(ValidationError):
        kind(**wrong)


def test_an_unknown_metric_is_refused_with_the_nearest_name():
    with pytest.raises(ValidationError, match=r"did you mean factor_vae\?"):
        Metrics(names=("factor_vea",))


def test_settings_are_frozen():
    with pytest.raises(ValidationError):
        Training().steps = 3


def test_a_ranking_depends_on_its_models_and_settings_and_not_on_their_order():
    made = ranking_made_from(["a", "b"], Udr())
    assert made == ranking_made_from(["b", "a"], Udr())
    others = [
        ranking_made_from(["a"], Udr()),
        ranking_made_from(["a", "b", "c"], Udr()),
        ranking_made_from(["a", "b"], Udr(p=3)),
        ranking_made_from(["a", "b"], Udr(pools=("cell",))),
        ranking_made_from(["a", "b"], Udr(kl_threshold=0.02)),
        ranking_made_from(["a", "b"], Udr(seeds_per_cell=3)),
    ]
    assert len({made, *others}) == 7
