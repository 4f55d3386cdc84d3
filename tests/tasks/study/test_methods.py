"""Methods of a spec: strengths, and what they cannot be combined with."""

from typing import Any

import pytest

from infra.errors import WrongInput
from models import METHODS, NO_STRENGTH, STUDY_2019
from models.recipe import Recipe
from tasks.study.model import Model
from tasks.study.reading import parse_study

SPEC = {"name": "s", "data": ["dsprites"], "methods": {"pca": [], "beta_vae": [1]}, "seeds": 2}


def study(**changes: Any):
    return parse_study({**SPEC, **changes})


def test_a_method_without_strength_has_one_cell():
    made = study(latents=[2, 3])
    assert made.methods == {"pca": (NO_STRENGTH,), "beta_vae": (1.0,)}
    names = [cell.name for cell in made.cells()]
    assert names == [
        *("dsprites-pca-latents_2-0", "dsprites-pca-latents_3-0"),
        *("dsprites-beta_vae-latents_2-1", "dsprites-beta_vae-latents_3-1"),
    ]
    assert parse_study(made.model_dump(mode="json")) == made, "the store's spec is read again"


@pytest.mark.parametrize(
    ("changes", "field", "accepted"),
    [
        ({"methods": {"pca": [1]}}, "methods.pca", "[], as it has no strength"),
        ({"methods": {"pca": [0, 1]}}, "methods.pca", "[], as it has no strength"),
        ({"methods": {"beta_vae": []}}, "methods.beta_vae", "at least one value"),
        ({"methods": {"infogan": [6]}}, "architecture", "resnet or resnet_small"),
        (
            {"methods": {"infogan": [6]}, "architecture": ["resnet", "library"]},
            "architecture",
            "resnet or resnet_small, as methods has infogan",
        ),
        (
            {
                "methods": {"infogan": [6]},
                "architecture": "resnet",
                "training": {"precision": "bfloat16"},
            },
            "training.precision",
            "float32, as methods has infogan",
        ),
        ({"traces": {}}, "traces", "methods that are VAEs"),
        (
            {"methods": {"beta_vae": [1]}, "architecture": "resnet", "traces": {}},
            "traces",
            "architecture paper or library",
        ),
    ],
)
def test_what_cannot_be_combined_is_one_line(changes, field, accepted):
    with pytest.raises(WrongInput) as caught:
        study(**changes)
    assert caught.value.field == field and accepted in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_recipe_is_no_part_of_a_model_without_steps():
    made = study()
    longer = study(training={"steps": 7, "batch_size": 8})
    ids = [[model.id for cell in s.cells() for model in cell.models] for s in (made, longer)]
    assert ids[0][:2] == ids[1][:2] and not set(ids[0][2:]) & set(ids[1][2:])
    pca = longer.cells()[0].models[0]
    assert pca.steps == 0 and longer.cells()[1].models[0].steps == 7
    again = Model.from_identity(pca.identity)
    assert again.id == pca.id and again.recipe == Recipe()


def test_the_six_of_2019_are_named_in_their_order():
    assert (
        *("beta_vae", "annealed_vae", "factor_vae", "dip_vae_i", "dip_vae_ii", "beta_tcvae"),
    ) == STUDY_2019
    assert all(METHODS[name].has_posterior and METHODS[name].symbol for name in STUDY_2019)
