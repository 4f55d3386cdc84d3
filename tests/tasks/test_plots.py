"""Which models a picture of a ranking shows, and how their latents are laid out."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from infra.errors import WrongInput
from tasks.plots import (
    ABOUT_SWEEPS,
    ALPHA,
    PlottedModel,
    agreement,
    draw_ranking,
    draw_sweeps,
    extremes,
    sweep_colours,
)

NAN = np.nan
SCORES = np.array(
    [
        [NAN, 0.2, 0.7, 0.1, 0.0],
        [0.9, NAN, 0.3, 0.2, 0.0],
        [0.4, 0.8, NAN, NAN, 0.0],
        [0.5, 0.1, 0.2, NAN, 0.0],
        [1.0, 1.0, 1.0, 1.0, NAN],
    ]
)
COLLAPSED = [False, False, False, False, True]


@pytest.mark.parametrize(
    ("udr", "expected"),
    [
        ([0.5, 0.6, 0.4, 0.3, 0.0], [("best", 1, 2), ("worst", 3, 1)]),
        ([0.5, 0.6, 0.4, None, 0.0], [("best", 1, 2), ("worst", 2, 0)]),
        ([0.5, 0.5, 0.5, 0.5, 0.0], [("best", 0, 1), ("worst", 3, 1)]),
        ([None, 0.5, None, None, 0.0], [("best", 1, 2)]),
        ([None, None, None, None, 0.0], []),
    ],
)
def test_the_nearest_partner_predicts_the_model_best_and_has_not_collapsed(udr, expected):
    assert extremes(SCORES, udr, COLLAPSED) == expected


def test_a_permuted_copy_is_a_diagonal_of_its_informative_latents():
    partner = np.random.default_rng(0).normal(size=(300, 4))
    model = np.stack([partner[:, 2], np.ones(300), -partner[:, 0], partner[:, 3]], axis=1)
    of_partner = np.array([True, False, True, True])
    of_model = np.array([True, False, True, True])
    drawn = agreement("best", ("a", partner, of_partner), ("b", model, of_model), "lasso")
    assert (drawn.partner, drawn.partner_latents) == ("a", [0, 2, 3])
    assert (drawn.model, drawn.latents) == ("b", [2, 0, 3])
    np.testing.assert_allclose(drawn.matrix, 0.9 * np.eye(3), atol=1e-3)


def colours(path) -> set[tuple[int, ...]]:
    pixels = np.asarray(Image.open(path).convert("RGB")).reshape(-1, 3)
    kinds, counts = np.unique(pixels // 32, axis=0, return_counts=True)
    return {tuple(kind) for kind, count in zip(kinds.tolist(), counts, strict=True) if count > 40}


def test_strengths_have_colours_of_their_own(tmp_path):
    two = [PlottedModel(str(i), 0.1 * i, "beta_vae", float(i % 2)) for i in range(8)]
    one = [PlottedModel(str(i), 0.1 * i, "beta_vae", 1.0) for i in range(8)]
    draw_ranking(two, [], "two", tmp_path / "two.png")
    draw_ranking(one, [], "one", tmp_path / "one.png")
    assert len(colours(tmp_path / "two.png") - colours(tmp_path / "one.png")) >= 1


@pytest.mark.parametrize("strengths", [1, 2, 6, 20])
def test_every_strength_is_easy_to_see_on_white(strengths):
    """A contrast of 3 or more, as WCAG asks of graphics."""
    for colour in sweep_colours(strengths):
        seen = ALPHA * np.array(colour[:3]) + 1 - ALPHA
        light = np.where(seen <= 0.04045, seen / 12.92, ((seen + 0.055) / 1.055) ** 2.4)
        assert 1.05 / (light @ [0.2126, 0.7152, 0.0722] + 0.05) >= 3


def test_the_best_strengths_are_marked_and_the_colour_is_explained():
    figure = Figure()
    panel = figure.subplots()
    models = [PlottedModel(str(i), 0.1 * i, "beta_vae", float(i % 2)) for i in range(8)]
    draw_sweeps(panel, models, [("beta_vae", 1.0)])
    assert [label.get_text() for label in panel.get_xticklabels()] == ["0", "★ 1"]
    assert "colour: from low to high strength" in ABOUT_SWEEPS


def test_models_without_a_score_are_left_out(tmp_path):
    for models in (
        [PlottedModel("a", None), PlottedModel("b", 0.5)],
        [PlottedModel("a", None, "beta_vae", 1.0)],
    ):
        target = tmp_path / f"{len(models)}.png"
        draw_ranking(models, [], "some", target)
        assert target.stat().st_size > 0


@pytest.mark.parametrize(
    ("name", "word"), [("x.doc", "doc"), ("no/where.png", "whose folder does not exist")]
)
def test_a_place_that_cannot_be_drawn_to_is_named(name, word, tmp_path):
    with pytest.raises(WrongInput, match=rf"--plot.*{word}"):
        draw_ranking([PlottedModel("a", 0.5)], [], "some", tmp_path / name)
