"""Teapots: factors and splits, the authors' file, and one file of pictures and factors."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import teapots
from data.base import pixels, with_factors
from data.base.protocol import HasSplits
from data.look_alikes import teapots as look_alike
from infra.errors import WrongInput
from tests.data.teapots_of import few_teapots

COUNT = 120


@pytest.fixture
def few(monkeypatch, tmp_path):
    """A cache, for a data set that has few pictures."""
    few_teapots(monkeypatch, COUNT)
    return tmp_path / "cache"


def file(path, images=None, gts=None, **others):
    """A file like the authors', of 32-bit integers and 64-bit reals, if nothing else is given."""
    draws = np.random.default_rng(5)
    if images is None:
        images = draws.integers(0, 256, (COUNT, 64, 64, 3), np.int32)
    if gts is None:
        gts = draws.random((COUNT, 5)) * teapots.LARGEST
    np.savez(path, **({"images": images, "gts": gts} | others))
    return path, images, gts


@pytest.mark.parametrize(
    ("image", "real"), [("int32", "float64"), ("uint8", "float32"), ("int64", "float64")]
)
def test_the_authors_file_is_read(few, tmp_path, image, real):
    path, images, gts = file(tmp_path / "teapots.npz")
    file(path, images.astype(image), gts.astype(real))
    published = teapots.PUBLISHED["official"]
    published.take(path, few)
    data_set = teapots.load(few)
    assert data_set.source == "official" and published.check(few)
    assert np.array_equal(data_set.pixels, images.transpose(0, 3, 1, 2))
    assert np.array_equal(data_set.real, gts.astype(real))
    assert np.array_equal(data_set.targets(np.arange(COUNT)), data_set.real)
    shown = data_set.show(np.array([7, 3]))
    np.testing.assert_array_equal(shown, np.float32(data_set.pixels[[7, 3]]) / np.float32(255))
    remark = published.remark(published.pixels(few, "teapots"))
    train = len(data_set.splits().train)
    assert f"have {train}," in remark and "no checksum" in remark


def test_another_file_is_another_data_set(few, tmp_path):
    path, images, gts = file(tmp_path / "teapots.npz")
    hashes = []
    for change in range(3):
        gts[0, 0] += 0.01 * (change == 1)
        images[9, 0, 0, 0] ^= change == 2
        file(path, images, gts)
        cache = few / str(change)
        teapots.PUBLISHED["official"].take(path, cache)
        hashes.append(teapots.content(cache, "official"))
        assert teapots.load(cache).content == hashes[-1]
    assert len(set(hashes)) == 3 and all(len(hash_) == 16 for hash_ in hashes)


WRONG = {
    "other names": ({"images": None}, "no gts"),
    "too few": ({"images": np.zeros((3, 64, 64, 3), np.int32)}, r"images int32 \(3, 64"),
    "real pictures": ({"images": np.zeros((COUNT, 64, 64, 3), np.float32)}, "float32"),
    "too bright": ({"images": np.full((COUNT, 64, 64, 3), 256, np.int32)}, "value 256"),
    "too dark": ({"images": np.full((COUNT, 64, 64, 3), -1, np.int32)}, "value -1"),
    "ones": ({"images": np.ones((COUNT, 64, 64, 3), np.int32)}, "at most 1"),
    "whole factors": ({"gts": np.zeros((COUNT, 5), np.int64)}, "gts int64"),
    "degrees": ({"gts": np.full((COUNT, 5), 90.0)}, "90.0 in column 0 of gts, row 0"),
    "no number": ({"gts": np.full((COUNT, 5), np.nan)}, "nan in column 0"),
    "other order": ({"gts": np.full((COUNT, 5), 1.2)}, "1.2 in column 2"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_file_is_refused_and_nothing_stays(few, tmp_path, what):
    arrays, message = WRONG[what]
    path = tmp_path / "teapots.npz"
    if what == "other names":
        np.savez(path, images=np.zeros((COUNT, 64, 64, 3), np.int32))
    else:
        file(path, **arrays)
    with pytest.raises(WrongInput, match=f"teapots.npz.*{message}"):
        teapots.PUBLISHED["official"].take(path, few)
    assert not (few / teapots.FILES["official"]).exists()


def test_the_file_cannot_be_downloaded_and_the_error_says_where_it_is(few):
    with pytest.raises(WrongInput, match=r"--from PATH: teapots\.npz, unpacked from https://"):
        teapots.PUBLISHED["official"].fetch(few)
    with pytest.raises(WrongInput, match=r"tolstoy data fetch teapots.*look-alike"):
        teapots.load(few)


def test_the_look_alike_is_drawn_once(few, monkeypatch):
    told = []
    data_set = teapots.load(few, "look-alike", told.append)
    assert told and told[-1] == 1 and data_set.content == ""
    assert np.array_equal(data_set.real, look_alike.factors(COUNT, teapots.LARGEST))
    assert np.array_equal(data_set.pixels, look_alike.views(data_set.real))
    monkeypatch.setattr(look_alike, "draw", lambda _: pytest.fail("drawn again"))
    assert np.array_equal(teapots.load(few, "look-alike").pixels, data_set.pixels)


def test_bins_are_those_of_the_values(few):
    data_set = teapots.load(few, "look-alike")
    assert data_set.factor_sizes == (10,) * 5 and data_set.factors.dtype == np.int64
    for column, bins in zip(data_set.real.T, data_set.factors.T, strict=True):
        width = (column.max() - column.min()) / 10
        inside = (column - column.min()) / width - bins
        assert inside.min() > -1e-9 and inside.max() < 1 + 1e-9
    draws = np.random.default_rng(0)
    points = data_set.sample(50, draws)
    places = data_set.places(points, draws)
    assert np.array_equal(data_set.factors[places], points)


def point(azimuth=0.0, elevation=1.0, red=0.9, green=0.1, blue=0.1):
    return azimuth, elevation, red, green, blue


@pytest.mark.parametrize(
    ("values", "is_in"),
    [
        (point(), True),
        (point(azimuth=6.0), True),
        (point(elevation=math.pi / 4), False),
        (point(elevation=math.pi / 4 + 1e-9), True),
        (point(green=0.76), False),
        (point(green=0.74), True),
        (point(blue=0.76), False),  # the printed rule would take it
        (point(red=0.24), False),
    ],
)
def test_the_gap_is_that_of_the_released_code(values, is_in):
    assert teapots.gap(np.array([values])).tolist() == [is_in]


def test_the_shares_of_both_rules():
    """P(r > g + a) = (1 - a)² / 2 and P(r > max(g, b) + a) = (1 - a)³ / 3; half are from above."""
    values = look_alike.factors(400_000, teapots.LARGEST)
    released = teapots.gap(values)
    printed = (values[:, 2] > values[:, 3] + 0.15) & (values[:, 1] > math.pi / 4)
    assert (
        pytest.approx(0.10235, abs=1e-5),
        pytest.approx(0.18063, abs=1e-5),
    ) == (0.85**3 / 6, 0.85**2 / 4)
    assert released.mean() == pytest.approx(0.85**3 / 6, abs=0.002)  # four deviations
    assert printed.mean() == pytest.approx(0.85**2 / 4, abs=0.0025)
    assert not (released & ~printed).any()


@settings(deadline=None)
@given(st.integers(0, 300), st.integers(0, 2**32 - 1))
def test_each_row_is_in_one_split_in_stored_order(count, seed):
    values = np.random.default_rng(seed).random((count, 5)) * teapots.LARGEST
    parts = teapots.splits(values)
    of = [parts.train, parts.validation, parts.test, parts.zero_shot]
    assert sorted(np.concatenate(of).tolist()) == list(range(count))
    assert all((np.diff(rows) > 0).all() for rows in of)
    assert teapots.gap(values[parts.zero_shot]).all()
    seen = np.concatenate(of[:3])
    assert not teapots.gap(values[seen]).any() and (np.diff(seen) > 0).all()
    for rows, (low, high) in zip(of, [(0, 0.8), (0.8, 0.9), (0.9, 1)], strict=False):
        assert (rows >= low * count - 0.51).all() and (rows < high * count + 0.51).all()


def test_the_paper_splits_by_160000_180000():
    parts = teapots.splits(np.zeros((200_000, 5)))
    assert [len(part) for part in (parts.train, parts.validation, parts.test)] == [
        160_000,
        20_000,
        20_000,
    ]
    assert parts.validation[0] == 160_000 and parts.test[0] == 180_000


def test_a_loaded_data_set_has_its_splits(few):
    data_set = teapots.load(few, "look-alike")
    assert isinstance(data_set, HasSplits)
    for field, rows in vars(teapots.splits(data_set.real)).items():
        assert np.array_equal(getattr(data_set.splits(), field), rows)
    assert np.array_equal(data_set.training_rows, data_set.splits().train)
    assert data_set.training_rows is data_set.training_rows, "computed again at each step"


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.sampled_from([1, 3]), st.integers(1, 7))
def test_pictures_and_values_share_a_file(count, channels, factors):
    draws = np.random.default_rng(count)
    pictures = draws.integers(0, 256, (count, channels, 64, 64), np.uint8)
    values = draws.normal(size=(count, factors))
    parts = np.array_split(pictures, min(3, count))
    stored = np.concatenate(list(with_factors.blocks(iter(parts), values)))
    assert stored.shape == with_factors.shape(count, channels, factors)
    same_pictures, same_values = with_factors.split(stored, count, factors)
    assert np.array_equal(same_pictures, pictures) and np.array_equal(same_values, values)


def test_the_checksum_of_a_file_is_at_its_end(tmp_path):
    stored = np.arange(5000, dtype=np.uint32).view(np.uint8).reshape(20, -1)
    sums = []
    for change in (0, 1):
        stored[7, 7] ^= change
        pixels.prepared(tmp_path / str(change), stored.shape, lambda: [stored])
        sums.append(pixels.checksum(tmp_path / str(change)))
    assert len(sums[0]) == 16 and sums[0] != sums[1]


def test_few_pictures_are_the_first_of_all(few):
    more = look_alike.factors(COUNT + 5, teapots.LARGEST)
    assert np.array_equal(more[:COUNT], look_alike.factors(COUNT, teapots.LARGEST))
