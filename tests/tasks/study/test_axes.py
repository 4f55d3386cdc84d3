"""Names of what a study sweeps beside strength and seed, and the grid of such a study."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import WrongInput
from infra.tables import AXES, KEYS
from models import METHODS
from tasks.study.axes import method_of, sweep_name, sweep_of, value_text, values_of
from tasks.study.reading import parse_study
from tasks.words import method_name, symbol

SPEC = {
    "name": "axes",
    "data": ["dsprites"],
    "methods": {"beta_vae": [1, 4], "factor_vae": [10]},
    "seeds": 2,
}
SWEPT = {**SPEC, "latents": [2, 4]}


@given(
    st.sampled_from(sorted(METHODS)),
    st.fixed_dictionaries(
        {},
        optional={
            "architecture": st.sampled_from(["paper", "library"]),
            "latents": st.integers(1, 4096),
        },
    ),
)
def test_a_sweeps_name_has_its_method_and_values(method: str, values: dict[str, Any]) -> None:
    name = sweep_name(method, values)
    assert method_of(name) == method and symbol(name) == METHODS[method].symbol
    assert values_of(name) == {axis: str(value) for axis, value in values.items()}
    assert sweep_of({"method": method, **values}, values) == name
    title = method_name(name)
    assert title.startswith(METHODS[method].title)
    assert title.count(", ") == len(values)
    for axis, value in values.items():
        assert value_text(axis, value) in title


def test_names_by_hand() -> None:
    assert sweep_name("beta_vae", {}) == "beta_vae"
    assert sweep_name("beta_vae", {"latents": 4}) == "beta_vae-latents_4"
    assert method_name("beta_vae-latents_4") == "β-VAE, 4 latents"
    assert method_name("beta_vae-latents_1") == "β-VAE, 1 latent"
    assert method_name("beta_vae-architecture_library") == "β-VAE, architecture library"
    assert method_name("unknown-latents_4") == "unknown-latents_4"


def test_every_axis_is_a_key_and_a_field_of_study_and_model() -> None:
    study = parse_study(SPEC)
    model = study.cells()[0].models[0]
    assert set(AXES) <= {key.name for key in KEYS}
    for axis in AXES:
        assert study.values_of(axis) == (getattr(model, axis),) == (model.keys[axis],)
    assert study.axes == () and study.sweeps == study.methods


def test_a_list_sweeps_and_one_number_stays_one_number() -> None:
    one, listed, swept = (parse_study({**SPEC, "latents": latents}) for latents in (4, [4], [2, 4]))
    assert one.axes == () and one.latents == 4
    assert [cell.name for cell in one.cells()] == [
        *("dsprites-beta_vae-1", "dsprites-beta_vae-4", "dsprites-factor_vae-10")
    ]
    assert [cell.name for cell in listed.cells()] == [
        "dsprites-beta_vae-latents_4-1",
        "dsprites-beta_vae-latents_4-4",
        "dsprites-factor_vae-latents_4-10",
    ]
    assert [m.id for c in one.cells() for m in c.models] == [
        m.id for c in listed.cells() for m in c.models
    ], "a model is the same, whatever else its study has"
    cells = swept.cells()
    assert len({cell.name for cell in cells}) == 6
    assert len({model.id for cell in cells for model in cell.models}) == 12
    assert {(c.models[0].sweep, c.models[0].latents) for c in cells} == {
        (f"{method}-latents_{latents}", latents)
        for method in ("beta_vae", "factor_vae")
        for latents in (2, 4)
    }
    assert {cell.group for cell in cells} == {"dsprites-beta_vae", "dsprites-factor_vae"}
    assert swept.sweeps["beta_vae-latents_2"] == (1.0, 4.0) and len(swept.sweeps) == 4


def test_two_axes_are_swept_together() -> None:
    study = parse_study({**SWEPT, "architecture": ["paper", "library"]})
    assert study.axes == ("architecture", "latents")
    cells = study.cells()
    assert len(cells) == 12 and len({cell.name for cell in cells}) == 12
    assert cells[0].name == "dsprites-beta_vae-architecture_paper-latents_2-1"


@pytest.mark.parametrize("values", [[2, 4, 8], [8, 4, 2]])
def test_a_sweep_may_grow(values: list[int]) -> None:
    parse_study({**SWEPT, "latents": values}).must_extend(parse_study(SWEPT))


@pytest.mark.parametrize("values", [[2], [2, 8], 4, 2])
def test_values_that_were_trained_stay(values: object) -> None:
    with pytest.raises(WrongInput) as caught:
        parse_study({**SWEPT, "latents": values}).must_extend(parse_study(SWEPT))
    assert caught.value.field == "latents"


def test_one_number_does_not_become_a_sweep() -> None:
    """Its cells would get other names, and their parts in the store would not be found."""
    with pytest.raises(WrongInput, match="latents"):
        parse_study({**SPEC, "latents": [10, 4]}).must_extend(parse_study(SPEC))


@pytest.mark.parametrize("value", [0, [0, 4], [], [4, 4], "many", ["many"], 2.5, True, None, 5000])
def test_wrong_numbers_of_latents_are_one_line(value: object) -> None:
    with pytest.raises(WrongInput) as caught:
        parse_study({**SPEC, "latents": value})
    assert caught.value.field == "latents" and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["big", ["paper", "big"], 3, None])
def test_wrong_architectures_name_the_accepted(value: object) -> None:
    with pytest.raises(
        WrongInput, match="'paper', 'library', 'resnet' or 'resnet_small'"
    ) as caught:
        parse_study({**SPEC, "architecture": value})
    assert caught.value.field == "architecture"
