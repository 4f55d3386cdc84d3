"""Scene: its factors, bins and pictures, and one file of both."""

from dataclasses import replace

import numpy as np
import pytest

from data import scene
from data.look_alikes import sprite_pictures
from data.look_alikes.sprites import from_factors

COUNT = 150


@pytest.fixture
def few(monkeypatch, tmp_path):
    """A cache, for a data set that has few pictures."""
    monkeypatch.setattr(scene, "DESCRIPTION", replace(scene.DESCRIPTION, pictures=COUNT))
    return tmp_path / "cache"


def test_factors_are_uniform_and_independent():
    values = scene.factors(50_000)
    for column, (low, high) in zip(values.T, scene.RANGES, strict=True):
        assert low <= column.min() and column.max() <= high
    assert np.bincount(values[:, 2].astype(int)) / 50_000 == pytest.approx([1 / 3] * 3, abs=0.01)
    for column in scene.CONTINUOUS:
        low, high = scene.RANGES[column]
        shares = np.histogram(values[:, column], 8, (low, high))[0] / 50_000
        assert shares == pytest.approx([1 / 8] * 8, abs=0.01)
    correlations = np.corrcoef(values, rowvar=False) - np.eye(6)
    assert abs(correlations).max() < 0.02
    assert (scene.factors(100) == values[:100]).all()


def test_pictures_are_those_of_their_factors(few):
    done = []
    data_set = scene.load(few, progress=done.append)
    values = scene.factors(COUNT)
    assert done[-1] == 1 and data_set.pictures == COUNT
    assert (data_set.pixels == sprite_pictures.draw(from_factors(values))).all()
    places = np.array([COUNT - 1, 0, 70])
    assert (data_set.targets(places) == values[places]).all()
    assert (data_set.positions(places)[:, 2] == values[places, 2]).all()
    for real, bins in zip(data_set.real.T, data_set.factors[:, scene.CONTINUOUS].T, strict=True):
        width = (real.max() - real.min()) / 10
        within = (real - real.min()) / width - bins
        assert within.min() > -1e-9 and within.max() < 1 + 1e-9
    for place in places:
        x, y = values[place, :2]
        row, column = int(64 * (1 - y)), int(64 * x)
        assert data_set.pixels[place, :, row, column].max() >= 255 * 0.9 - 1, "its value"


def test_the_pictures_are_drawn_once(few, monkeypatch):
    pixels = scene.load(few).pixels
    monkeypatch.setattr(sprite_pictures, "draw", lambda _: pytest.fail("drawn again"))
    assert (scene.load(few).pixels == pixels).all()


def test_the_first_pictures_alone(few):
    some = scene.load(few, pictures=40)
    assert {path.name for path in few.iterdir()} == {"scene-look-alike-first-40-1.pixels"}
    all_ = scene.load(few)
    assert some.pictures == 40 and (some.pixels == all_.pixels[:40]).all()
    assert (some.real == all_.real[:40]).all()
    (few / "scene-look-alike-first-40-1.pixels").unlink()
    assert (scene.load(few, pictures=40).pixels == some.pixels).all(), "of the whole file"
    assert {path.name for path in few.iterdir()} == {"scene-look-alike-1.pixels"}
