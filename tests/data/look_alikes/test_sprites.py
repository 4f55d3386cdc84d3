"""Sprites and their pictures: colours, places, areas, order, edges of the picture."""

import colorsys
import math

import numpy as np
import pytest
from PIL import Image, ImageDraw

from data.look_alikes.sprite_pictures import draw
from data.look_alikes.sprites import (
    CIRCLE,
    FACTORS,
    SCALE,
    SHAPES,
    SQUARE,
    TRIANGLE,
    Reals,
    Sprites,
    from_factors,
    inside,
    rgb,
)

SIDE = 64
WHITE = (0.0, 0.0, 1.0)
RED, BLUE = (0.0, 1.0, 1.0), (2 / 3, 1.0, 1.0)


def single(x: float, y: float, shape: int, colour: tuple[float, float, float] = WHITE) -> Reals:
    """The picture of one sprite, from 0 to 1: (3, 64, 64)."""
    return draw(from_factors(np.array([[x, y, shape, *colour]])))[0] / 255


def together(*factors: tuple[float, ...]) -> Sprites:
    """One scene of these sprites."""
    separate = from_factors(np.array(factors))
    return Sprites(**{name: array.swapaxes(0, 1) for name, array in vars(separate).items()})


def test_colours_as_in_the_standard_library() -> None:
    hsv = np.random.default_rng(0).random((500, 3))
    hsv[:8] = [(h, 1, 1) for h in (0, 1 / 6, 1 / 3, 0.5, 2 / 3, 5 / 6, 1, 0.25)]
    expected = [colorsys.hsv_to_rgb(*row) for row in hsv.tolist()]
    np.testing.assert_allclose(rgb(*hsv.T), expected, atol=1e-12)


@pytest.mark.parametrize("shape", range(3))
def test_a_sprite_has_its_colour_and_the_rest_is_black(shape: int) -> None:
    hue, saturation, value = 0.6, 0.5, 0.9
    picture = single(0.25, 0.75, shape, (hue, saturation, value))
    expected = colorsys.hsv_to_rgb(hue, saturation, value)
    np.testing.assert_allclose(picture[:, 16, 16], expected, atol=0.5 / 255)
    rows, columns = np.nonzero(picture.any(axis=0))
    assert rows.min() >= 8 and rows.max() <= 24 and columns.min() >= 8 and columns.max() <= 24


def test_x_goes_right_and_y_goes_up() -> None:
    """A sprite at (0.9, 0.1) is in the lower right corner; a triangle is narrow at its top."""
    picture = single(0.9, 0.1, SQUARE)[0]
    assert picture[32:, 32:].sum() == pytest.approx(picture.sum()) and picture[57, 57] == 1
    triangle = single(0.5, 0.5, TRIANGLE)[0]
    rows = np.flatnonzero(triangle.any(axis=1))
    widths = triangle[rows[1:-1]].sum(axis=1)
    assert (np.diff(widths) > 0).all()


@pytest.mark.parametrize("shape", range(3))
def test_covered_area(shape: int) -> None:
    """All shapes cover SCALE² of the picture; on average over places to a thousandth."""
    rng = np.random.default_rng(shape)
    factors = np.tile([0, 0, shape, *WHITE], (200, 1))
    factors[:, :2] = rng.uniform(0.2, 0.8, (200, 2))
    areas = draw(from_factors(factors))[:, 0].mean(axis=(1, 2)) / 255
    np.testing.assert_allclose(areas, SCALE**2, rtol=0.05)
    assert areas.mean() == pytest.approx(SCALE**2, rel=0.003)


def test_extents_by_hand() -> None:
    """The square has side 0.13; the triangle's side is 0.13 · 2 / 3^(1/4), its height √3/2 of
    that, a third of it below the centre; the circle's radius is 0.13 / √π."""
    triangle_side = 0.13 * 2 / 3**0.25
    height = triangle_side * math.sqrt(3) / 2
    radius = 0.13 / math.sqrt(math.pi)
    extents = {  # right, up, left, down
        SQUARE: (0.065, 0.065, 0.065, 0.065),
        TRIANGLE: (
            height / 3 / math.sqrt(3),
            2 * height / 3,
            height / 3 / math.sqrt(3),
            height / 3,
        ),
        CIRCLE: (radius,) * 4,
    }
    for shape, ends in extents.items():
        for (x, y), end in zip(((1, 0), (0, 1), (-1, 0), (0, -1)), ends, strict=True):
            # at the height of the centre a triangle is two thirds as wide as at its base
            width = triangle_side / 3 if shape == TRIANGLE and x else end
            kind = np.array(shape)
            assert inside(kind, np.array(0.999 * width * x), np.array(0.999 * width * y))
            assert not inside(kind, np.array(1.001 * width * x), np.array(1.001 * width * y))


def test_edges_are_smooth() -> None:
    """A square from 27.84 to 36.16 on each axis: an edge pixel is covered by about 0.16, as five
    points a pixel can say it: 0.2."""
    row = single(0.5, 0.5, SQUARE)[0, 32]
    expected = np.zeros(SIDE)
    expected[28:36], expected[[27, 36]] = 1, 0.2
    np.testing.assert_allclose(row, expected, atol=0.5 / 255)


@pytest.mark.parametrize("shape", range(3))
def test_pictures_are_near_those_of_another_program(shape: int) -> None:
    """Pillow fills the outline at twenty times the size; the picture is shrunk by averaging."""
    corners = {SQUARE: 4, TRIANGLE: 3, CIRCLE: 300}[shape]
    start = {SQUARE: math.pi / 4, TRIANGLE: math.pi / 2, CIRCLE: 0}[shape]
    angles = start + 2 * math.pi * np.arange(corners) / corners
    longest = SCALE / math.sqrt(corners * math.sin(2 * math.pi / corners) / 2)
    large = 20 * SIDE
    for x, y in ((0.31, 0.62), (0.5, 0.5), (0.03, 0.98)):
        outline = [
            (large * (x + longest * math.cos(a)), large * (1 - y - longest * math.sin(a)))
            for a in angles
        ]
        image = Image.new("L", (large, large))
        ImageDraw.Draw(image).polygon(outline, fill=255)
        expected = np.asarray(image).reshape(SIDE, 20, SIDE, 20).mean(axis=(1, 3)) / 255
        difference = abs(single(x, y, shape)[0] - expected)
        assert difference.max() < 0.2 and difference.mean() < 0.001


def test_later_sprites_are_on_top() -> None:
    below, above = (0.5, 0.5, SQUARE, *RED), (0.55, 0.5, SQUARE, *BLUE)
    for order, colour in (((below, above), 2), ((above, below), 0)):
        picture = draw(together(*order))[0]
        both = picture[:, 32, 34]  # x = 0.54
        assert both[colour] == 255 and both.sum() == 255
        assert picture[0, 32, 29] == 255 and picture[2, 32, 38] == 255, "each where it is alone"


def test_absent_sprites_are_not_drawn() -> None:
    sprites = together((0.3, 0.5, SQUARE, *RED), (0.7, 0.5, SQUARE, *BLUE))
    sprites.present[0, 0] = False
    picture = draw(sprites)[0]
    assert not picture[0].any() and picture[2, 32, 44] == 255


def test_sprites_reach_out_of_the_picture() -> None:
    """At the corners of the frame a quarter of the square is seen."""
    for x in (0.0, 1.0):
        for y in (0.0, 1.0):
            picture = single(x, y, SQUARE)[0]
            assert picture.mean() == pytest.approx(SCALE**2 / 4, rel=0.05)
            assert picture[-1 if y == 0 else 0, -1 if x == 1 else 0] == 1


def test_many_pictures_are_as_one_by_one() -> None:
    """Across blocks, and of scenes with different numbers of sprites."""
    rng = np.random.default_rng(0)
    shape = (230, 3)
    sprites = Sprites(
        rng.random((*shape, 2)),
        rng.integers(3, size=shape),
        *rng.random((3, *shape)),
        present=rng.random(shape) < 0.7,
    )
    pictures = draw(sprites)
    assert pictures.shape == (230, 3, SIDE, SIDE) and pictures.dtype == np.uint8
    for scene in (0, 99, 100, 229):
        one = Sprites(**{name: array[[scene]] for name, array in vars(sprites).items()})
        assert (draw(one)[0] == pictures[scene]).all()


def test_each_sprite_alone() -> None:
    """Scenes of their own, and back from their factors."""
    sprites = together((0.2, 0.3, SQUARE, 0.1, 0.5, 0.9), (0.6, 0.7, CIRCLE, 0.4, 1, 1))
    alone = sprites.alone()
    assert alone.shapes.tolist() == [[SQUARE], [CIRCLE]]
    assert (alone.factors()[:, 0] == sprites.factors()[0]).all()
    again = from_factors(alone.factors()[:, 0])
    assert (draw(again) == draw(alone)).all()
    assert dict(zip(FACTORS, sprites.factors()[0, 1].tolist(), strict=True)) == {
        "x": 0.6,
        "y": 0.7,
        "shape": SHAPES.index("circle"),
        "hue": 0.4,
        "saturation": 1,
        "value": 1,
    }
