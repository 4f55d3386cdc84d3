"""Windows around sprites against the plain encoder, which stays the definition."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from models import blank
from models import fast as lowered
from models.architecture import SIDE, VAE, initialise
from models.blank import boxes_around, encode_all, outputs_of
from models.representation import encode

NEAR = 1e-6  # of the largest code, and of 1, which is the size of what is summed


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def windows_always(monkeypatch):
    """However few pictures there are, and however large their sprites."""
    monkeypatch.setattr(blank, "FEWEST", 1)
    monkeypatch.setattr(blank, "is_small", lambda boxes: np.ones(len(boxes), bool))


def network(channels: int = 1, architecture: str = "paper", fast: bool = True) -> VAE:
    """With biases, so that a blank picture's features differ between its middle and its border."""
    vae = VAE(channels, 5, architecture, fast=fast).eval()
    generator = torch.Generator().manual_seed(0)
    initialise(vae, generator)
    for parameter in vae.parameters():
        if parameter.dim() == 1:
            parameter.data.uniform_(-0.3, 0.3, generator=generator)
    return vae.to(memory_format=torch.channels_last)


def sprites(places: list[tuple[int, int, int, int]], channels: int = 1) -> np.ndarray:
    """One picture per box (rows from, to; columns from, to): noise there, nothing elsewhere."""
    draws = np.random.default_rng(1)
    images = np.zeros((len(places), channels, SIDE, SIDE), np.float32)
    for image, (top, bottom, left, right) in zip(images, places, strict=True):
        shape = (channels, bottom - top, right - left)
        image[:, top:bottom, left:right] = 1 - draws.random(shape, dtype=np.float32)
    return images


def assert_plain(vae: VAE, images: np.ndarray) -> None:
    plain = VAE(vae.channels, vae.latents, vae.architecture, fast=False).double().eval()
    plain.load_state_dict(vae.state_dict())
    with torch.no_grad():
        expected = plain.encoder(torch.from_numpy(images).double())[0].numpy()
    found = encode_all(vae, lambda places: images[places], len(images))
    assert found.dtype == np.float32 and found.shape == expected.shape
    assert np.abs(found - expected).max() <= NEAR * (1 + np.abs(expected).max())


def refuse(*_):
    raise AssertionError("not this way")


CORNERS = [(0, 9, 0, 9), (0, 9, 55, 64), (55, 64, 0, 9), (55, 64, 55, 64)]
EDGES = [(0, 4, 20, 31), (60, 64, 20, 31), (20, 31, 0, 3), (20, 31, 61, 64)]
PIXELS = [(0, 1, 0, 1), (63, 64, 63, 64), (31, 32, 40, 41)]
LINES = [(0, 64, 5, 6), (5, 6, 0, 64)]
FULL = [(0, 64, 0, 64), (1, 63, 1, 63)]
EMPTY = [(0, 0, 0, 0)]
INSIDE = [(17, 42, 22, 37), (18, 42, 23, 37), (3, 62, 2, 61)]
EVERYWHERE = CORNERS + EDGES + PIXELS + LINES + FULL + EMPTY + INSIDE


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("architecture", ["paper", "library"])
def test_sprites_anywhere_have_the_plain_encoders_codes(
    architecture, channels, fast, windows_always, monkeypatch
):
    monkeypatch.setattr(blank, "encode_whole", refuse)
    if not fast:
        monkeypatch.setattr(lowered, "stages_of", refuse)
    assert_plain(network(channels, architecture, fast), sprites(EVERYWHERE, channels))


spans = st.tuples(st.integers(0, SIDE - 1), st.integers(1, SIDE)).map(
    lambda ends: (ends[0], min(SIDE, ends[0] + ends[1]))
)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(spans, spans), min_size=1, max_size=8),
    st.sampled_from(["paper", "library"]),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_any_sprites_have_the_plain_encoders_codes(found, architecture, shared, early):
    """Whichever layer it is whose windows pictures share, and however many are early."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blank, "FEWEST", 1)
        patch.setattr(blank, "GROUPING_LAYER", shared)
        patch.setattr(blank, "EARLY", early)
        patch.setattr(blank, "FEW", 2)
        patch.setattr(blank, "MANY", blank.BATCH)
        patch.setattr(blank, "is_small", lambda boxes: np.ones(len(boxes), bool))
        images = sprites([(*rows, *columns) for rows, columns in found])
        assert_plain(network(1, architecture), images)


@pytest.mark.parametrize("count", [63, 64, 65, 127, 128, 129, 300])
def test_batches_that_are_not_full(count, windows_always, monkeypatch):
    """What a batch leaves behind must not show in the next: these differ in size and place."""
    monkeypatch.setattr(blank, "encode_whole", refuse)
    monkeypatch.setattr(blank, "MANY", 2 * blank.BATCH)
    near = [(20 + i % 3, 36 + i % 4, 20 + i % 2, 34 + i % 5) for i in range(count)]
    assert_plain(network(), sprites(near))


ODD = len(EVERYWHERE)


def many(count: int = 700) -> np.ndarray:
    """Two boxes in turn, and among them some that stand alone."""
    usual = [((20, 33, 40, 52), (28, 45, 8, 26))[i % 2] for i in range(count)]
    for i, box in enumerate(EVERYWHERE):
        usual[37 * i % count] = box
    return sprites(usual)


def test_windows_are_for_many_small_sprites_alike_and_codes_come_back_in_their_order(monkeypatch):
    encoded = {"in windows": 0, "whole": 0}
    means, encode_whole = blank.Last.means, blank.encode_whole

    def counted_means(self, values):
        encoded["in windows"] += len(values)
        return means(self, values)

    def counted_whole(vae, show, places):
        encoded["whole"] += len(places)
        return encode_whole(vae, show, places)

    monkeypatch.setattr(blank.Last, "means", counted_means)
    monkeypatch.setattr(blank, "encode_whole", counted_whole)
    large = sprites([(8, 58, 3, 61)] * blank.FEWEST)
    images = np.concatenate([many(), large])
    assert_plain(network(), images)
    assert encoded == {"in windows": 700 - ODD, "whole": ODD + len(large)}


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("architecture", ["paper", "library"])
def test_a_window_is_hardly_larger_than_each_pictures_own(architecture, depth):
    layers = blank.convolutions(network(1, architecture))
    draws = np.random.default_rng(3)
    first = draws.integers(0, 45, size=(5000, 2))
    ends = first + draws.integers(5, 19, size=(5000, 2))
    around = np.stack([first[:, 0], ends[:, 0], first[:, 1], ends[:, 1]], axis=1)
    groups = blank.grouped(around, layers[:depth])
    assert sorted(np.concatenate(groups).tolist()) == list(range(5000))

    def changed(some: np.ndarray) -> np.ndarray:
        for layer, side in zip(layers[:depth], (32, 16, 8), strict=False):
            some = outputs_of(some, layer.layer, side)
        return some

    windows = [np.unique(changed(around[group]), axis=0) for group in groups]
    assert all(len(of_group) == 1 for of_group in windows)
    assert len(np.unique(np.concatenate(windows), axis=0)) == len(groups)


def test_same_bits_every_time_and_nearly_the_same_in_any_company():
    images, vae = many(), network()
    codes = encode_all(vae, lambda places: images[places], len(images))
    again = encode_all(vae, lambda places: images[places], len(images))
    assert codes.tobytes() == again.tobytes()
    order = np.random.default_rng(2).permutation(len(images))
    turned = encode_all(vae, lambda places: images[order[places]], len(images))
    fewer = encode_all(vae, lambda places: images[places], 600)
    scale = 1 + np.abs(codes).max()
    assert np.abs(turned - codes[order]).max() <= NEAR * scale
    assert np.abs(fewer - codes[:600]).max() <= NEAR * scale


def test_boxes_that_are_known_are_not_looked_for(monkeypatch):
    images, vae = many(), network()
    expected = encode_all(vae, lambda places: images[places], len(images))
    around = boxes_around(images)
    unknown = encode_all(vae, lambda places: images[places], len(images), lambda places: None)
    monkeypatch.setattr(blank, "boxes_around", refuse)
    known = encode_all(
        vae, lambda places: images[places], len(images), lambda places: around[places]
    )
    np.testing.assert_array_equal(unknown, expected)
    np.testing.assert_array_equal(known, expected)


@pytest.mark.parametrize("few", [True, False], ids=["few", "not blank"])
def test_where_windows_do_not_pay_codes_are_those_of_encode_to_the_bit(few, monkeypatch):
    monkeypatch.setattr(blank, "Window", refuse)
    images = many(blank.FEWEST - 1) if few else many(1500)
    if not few:
        images = np.maximum(images, np.float32(0.1))
    shown = []

    def show(places):
        shown.append(len(places))
        return images[places]

    vae = network()
    found = encode_all(vae, show, len(images))
    np.testing.assert_array_equal(found, encode(vae, images)[0])
    looked_at = sum(shown) - len(images)
    assert looked_at == 0 if few else looked_at < 2 * blank.FEWEST


def test_a_picture_is_blank_outside_of_its_box_and_no_smaller_box_would_do():
    places = [box for box in EVERYWHERE if box[1] > box[0]]
    images = sprites(places, channels=3)
    images[:, 1:] = 0  # what is in one channel only counts as well
    np.testing.assert_array_equal(boxes_around(images), places)
    images[:, 1], images[:, 0] = images[:, 0].copy(), 0
    np.testing.assert_array_equal(boxes_around(images), places)
    np.testing.assert_array_equal(boxes_around(sprites([(0, 0, 0, 0)])), [(0, 64, 0, 64)])
    dots = np.zeros((1, 1, 64, 64), np.float32)
    dots[0, 0, [50, 12], [7, 33]] = 0.01, 1.0
    np.testing.assert_array_equal(boxes_around(dots), [(12, 51, 7, 34)])


@pytest.mark.parametrize("kernel", [2, 4])
@pytest.mark.parametrize("side", [8, 16])
def test_outputs_that_read_a_box_by_trying_each(kernel, side):
    padding = kernel // 2 - 1
    layer = nn.Conv2d(1, 1, kernel, stride=2, padding=padding)
    layer.weight.data.fill_(1.0)
    layer.bias.data.zero_()
    spans = [(first, end) for first in range(side) for end in range(first + 1, side + 1)]
    for first, end in spans:
        image = torch.zeros(1, 1, side, side)
        image[..., first:end, :] = 1
        with torch.no_grad():
            rows = layer(image)[0, 0, :, side // 4] != 0
        (changed,) = np.nonzero(rows.numpy())
        other = (side // 2, side // 2 + 1)
        (found,) = outputs_of(np.array([[first, end, *other]]), layer, side // 2)
        assert found[:2].tolist() == [changed[0], changed[-1] + 1]
        (turned,) = outputs_of(np.array([[*other, first, end]]), layer, side // 2)
        assert turned.tolist() == [*found[2:], *found[:2]]
